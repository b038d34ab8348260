"""IRIs of a text: their escapes, and relative ones against a base (RFC 3986, section 5.2)."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_PARTS = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_FORBIDDEN = re.compile(r"[\x00-\x20<>\"{}|^`\\\ud800-\udfff]")


def unescape_iri(text: str) -> str | None:
    """Replace the escapes of an IRI; None where one stands for a character that an IRI cannot have.

    >>> unescape_iri(r"http://x/\\u0061"), unescape_iri(r"http://x/\\u0020")
    ('http://x/a', None)
    """
    if "\\" not in text:
        return text
    codes = [int(found[1] or found[2], 16) for found in _ESCAPE.finditer(text)]
    if any(code > 0x10FFFF or _FORBIDDEN.match(chr(code)) for code in codes):
        return None
    return _ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), text)


def is_absolute(iri: str) -> bool:
    """Tell whether an IRI names its scheme."""
    found = _PARTS.fullmatch(iri)
    return found is not None and found[1] is not None


def resolve_iri(base: str, iri: str) -> str:
    """Return what a reference means where a base is given.

    >>> resolve_iri("http://x/a/b?q", "../c"), resolve_iri("http://x/a/b?q", "#d"), resolve_iri("http://x", "c")
    ('http://x/c', 'http://x/a/b?q#d', 'http://x/c')
    """
    above, found = _PARTS.fullmatch(base), _PARTS.fullmatch(iri)
    assert above is not None  # every text has these parts
    assert found is not None
    scheme, host, path, query, fragment = found.groups()
    if scheme is not None:
        return iri
    if host is None:
        host = above[2]
        if not path:
            path, query = above[3], above[4] if query is None else query
        elif not path.startswith("/"):
            folder = "/" if above[2] is not None and not above[3] else above[3][: above[3].rfind("/") + 1]
            path = _without_dots(folder + path)
        else:
            path = _without_dots(path)
    else:
        path = _without_dots(path)
    return "".join(
        (
            f"{above[1]}:" if above[1] is not None else "",
            f"//{host}" if host is not None else "",
            path,
            f"?{query}" if query is not None else "",
            f"#{fragment}" if fragment is not None else "",
        )
    )


def _without_dots(path: str) -> str:
    """Leave out `.` and `..` of a path."""
    steps: list[str] = []
    parts = path.split("/")
    for place, part in enumerate(parts):
        last = place == len(parts) - 1
        if part == "..":
            if len(steps) > 1 or (steps and steps[0]):
                steps.pop()
            steps += [""] if last else []
        elif part == ".":
            steps += [""] if last else []
        else:
            steps.append(part)
    return "/".join(steps)
