"""Bytes -> text: UTF-8, what a byte order mark says (UTF-16 and UTF-32 too), or what the caller says.

Law: nothing is guessed. What is not of its encoding is refused with the place of the first such byte.
"""

from __future__ import annotations

import codecs

from etalis.errors import InputError, Problem, Source, Span

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
ENCODING_HINT = "say what it is, --encoding latin-1 (encoding='latin-1' in Python), or convert the file to UTF-8"


def find_encoding(beginning: bytes) -> str:
    """Return the encoding that the first bytes of a text tell.

    >>> find_encoding("a".encode("utf-16")), find_encoding(b"a")
    ('utf-16', 'utf-8-sig')
    """
    return next((encoding for mark, encoding in _MARKS if beginning.startswith(mark)), "utf-8-sig")


def check_encoding(name: str | None) -> None:
    """Refuse the name of an encoding that does not exist."""
    try:
        "".encode(name or "utf-8")
    except LookupError:
        hint = "one that Python knows: utf-8, latin-1, cp1252, utf-16"
        raise InputError(Problem("E407", f"unknown encoding {name!r}", hint=hint)) from None


def decode(data: bytes, name: str, encoding: str | None = None, code: str = "E402") -> str:
    """Return the text of a file's bytes, or refuse them with the place of the first that is none.

    >>> decode(b"caf\\xe9", "menu", "latin-1")
    'café'
    """
    check_encoding(encoding)
    chosen = encoding or find_encoding(data)
    try:
        return data.decode(chosen)
    except UnicodeDecodeError as error:
        before = len(data[: error.start].decode(chosen, "replace"))
        source = Source(name, data.decode(chosen, "replace"))
        shown = "UTF-8" if chosen == "utf-8-sig" else chosen
        message = f"{name} is not {shown} text: byte 0x{data[error.start]:02x} ({error.reason})"
        raise InputError(Problem(code, message, Span(source, before, before + 1), ENCODING_HINT)) from None
