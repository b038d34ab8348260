"""What may stand where somebody types: words with what they are, by what is in front of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from etalis.shell.console import Vocabulary

_WORD = re.compile(r"\w*\Z")
_OPEN = re.compile(r"(\w+)\s*\(\s*'?(?:(\w+)\s*,\s*)?\w*\Z")
_FILE = re.compile(r"(\w+)\s*\(\s*'([^'\n]*)\Z|\[\s*'([^'\n]*)\Z")
_QUOTED = re.compile(r"(?:[^'\"]|'[^'\n]*'|\"[^\"\n]*\")*\Z")


def find_words(vocabulary: Vocabulary, text: str) -> Iterator[tuple[str, str, int]]:
    """Yield what the end of a text may become: a word, what it is, and how many characters of the text it replaces.

    >>> known = Vocabulary({"withdrawal": "event", "why": "explains"}, {"set_flag": {"logging": "a log"}})
    >>> list(find_words(known, "event(wi")), list(find_words(known, "set_flag(lo"))
    ([('withdrawal', 'event', 2)], [('logging', 'a log', 2)])
    """
    file = _FILE.search(text)
    if file is not None and (file[1] is None or file[1] in vocabulary.files):
        yield from _files(file[2] if file[3] is None else file[3])
        return
    if not _QUOTED.match(text):
        return  # within quotes
    found = _WORD.search(text)
    typed = found[0] if found is not None else ""
    choices = _choices(vocabulary, text)
    if typed or choices is not vocabulary.words:
        yield from ((word, choices[word], len(typed)) for word in sorted(choices) if word.startswith(typed))


def _choices(vocabulary: Vocabulary, text: str) -> dict[str, str]:
    """Return the words of the place at the end of a text."""
    inside = _OPEN.search(text)
    found = None
    if inside is not None:
        found = vocabulary.inside.get(inside[1] if inside[2] is None else f"{inside[2]},")
    return vocabulary.words if found is None else found  # type: ignore[return-value]  # nobody changes them


def _files(begun: str) -> Iterator[tuple[str, str, int]]:
    """Yield the files and folders whose paths begin so."""
    folder, start = os.path.split(os.path.expanduser(begun))
    try:
        entries = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(start) and not (entry.name.startswith(".") and not start):
            is_folder = entry.is_dir()
            yield entry.name + "/" * is_folder, "folder" if is_folder else "file", len(start)
