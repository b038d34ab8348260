"""Names of blank nodes: apart per document, and per solution of a CONSTRUCT; the same whenever these come again."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b, sha256

from etalis.data.values import Value

_LENGTH = 16


def name_blank(query: int, label: str, solution: Iterable[tuple[str, Value]], interval: tuple[int, int]) -> str:
    """Return the node that a label of a query's template stands for in a solution, on an interval in microseconds.

    >>> name_blank(1, "b", [("x", 1)], (0, 5)) == name_blank(1, "b", [("x", 1)], (0, 5))
    True
    """
    said = repr((query, sorted(solution), interval))
    return f"_:{sha256(said.encode()).hexdigest()[:_LENGTH]}-{label}"


class BlankNodes:
    """The blank nodes of one document, numbered as they appear behind a digest of what tells the document apart."""

    __slots__ = ("_digest", "_numbers")

    def __init__(self, *document: object) -> None:
        self._digest = blake2b("\0".join(map(str, document)).encode(errors="surrogatepass"), digest_size=8).hexdigest()
        self._numbers: dict[str, str] = {}

    def name(self, label: str) -> str:
        """Return the node of a label, `_:` before both.

        >>> nodes = BlankNodes("stream.nq")
        >>> [nodes.name(label)[-2:] for label in ("_:x", "_:y", "_:x")]
        ['n1', 'n2', 'n1']
        """
        found = self._numbers.get(label)
        if found is None:
            found = self._numbers[label] = f"_:d{self._digest}n{len(self._numbers) + 1}"
        return found
