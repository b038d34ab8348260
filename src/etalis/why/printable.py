"""How explanations are printed: a `Printable` asks for a form by name, modules that can print it enter themselves.

So the data know no printer, and pictures, which stand above them, can be among the printers. The package's own forms
are entered when it is imported; those that stand above it are announced, and loaded when one of them is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

from etalis.lazy import import_announced
from etalis.temporal.html import escape
from etalis.temporal.json_values import to_text

F = TypeVar("F", bound=Callable[..., Any])
_FORMS: dict[tuple[str, str], Callable[..., Any]] = {}  # by the name of a class and that of the form


def form(of: str, name: str) -> Callable[[F], F]:
    """Enter a function as what prints the explanations of a class in one form."""

    def enter(function: F) -> F:
        _FORMS[of, name] = function
        return function

    return enter


def read_back(of: str, text: str) -> Any:
    """Return an explanation of a class from its JSON text."""
    import_announced()
    return _FORMS[of, "read"](text)


class Printable:
    """What a person may look at: a justification, or why an event did not occur."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._form('brief')(self)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it as its JSON text: as objects, derivations may be nested too deep."""
        return read_back, (type(self).__name__, self.to_json())

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # nothing in it changes

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data: a list of nodes that refer to each other by number, times in seconds."""
        found: dict[str, Any] = self._form("dict")(self)
        return found

    def to_json(self) -> str:
        """Return `to_dict` as a JSON text."""
        return to_text(self.to_dict())

    def to_text(self, *, style: str = "tree", dates: bool | None = None, all: bool = False) -> str:  # noqa: A002
        """Return it as lines of text; the styles are tree and manual.

        Times are seconds, or `dates` of ISO 8601 where the events came with dates. With `all`, nothing is left out to
        fit a screen.
        """
        found: str = self._form(style)(self, getattr(self, "dates", False) if dates is None else dates, all)
        return found

    def to_term(self) -> str:
        """Return it as the text of a term, that of the manual's `justify_event/3`."""
        found: str = self._form("term")(self)
        return found

    def to_udraw(self) -> str:
        """Return it as the manual's viewer reads graphs."""
        found: str = self._form("udraw")(self)
        return found

    def to_svg(self, **options: Any) -> str:
        """Return a picture as SVG; of a justification with `direction="right"` from left to right."""
        found: str = self._form("svg")(self, **options)
        return found

    def to_html(self, **options: Any) -> str:
        """Return a picture as a page of its own, with what can be hovered and clicked."""
        found: str = self._form("html")(self, **options)
        return found

    def to_dot(self) -> str:
        """Return the graph of it as Graphviz text."""
        found: str = self._form("dot")(self)
        return found

    def _repr_html_(self) -> str:
        """Return a picture for notebooks, or the text of what has none."""
        return self.to_svg() if self._find("svg") is not None else f"<pre>{escape(self.to_text())}</pre>"

    def _find(self, name: str) -> Callable[..., Any] | None:
        wanted = (type(self).__name__, name)
        if wanted not in _FORMS:
            import_announced()
        return _FORMS.get(wanted)

    def _form(self, name: str) -> Callable[..., Any]:
        found = self._find(name)
        if found is None:
            known = sorted(form for kind, form in _FORMS if kind == type(self).__name__)
            raise ValueError(f"{type(self).__name__} has no form {name}; it has {', '.join(known)}")
        return found
