"""Which files a program may import: none, or those below one folder.

A program is data from someone else. A text imports nothing unless its host names a folder, a file what lies below its
own. Law: a refusal says the same whether the file exists or not, and no line of a refused file is read.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from etalis.data.encodings import decode
from etalis.errors import InputError, Problem

Reader: TypeAlias = Callable[[str], str | None]

_TEXT_HINT = "name the folder that it may import from: etalis.compile(text, imports=FOLDER), or use compile_file(PATH)"


def read_file(path: str, encoding: str | None = None) -> str | None:
    """Return the text of a file on disk, None if there is none."""
    try:
        return decode(Path(path).read_bytes(), path, encoding, "E220").replace("\r\n", "\n").replace("\r", "\n")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None
    except (ValueError, OSError) as error:
        raise _unreadable(path, error) from error


def read_nothing(_path: str) -> str | None:
    """Refuse to read: a program that comes as text has no folder of its own."""
    raise InputError(Problem("E240", "a program compiled from a string imports no files", hint=_TEXT_HINT))


def read_below(folder: str | Path, encoding: str | None = None) -> Reader:
    """Return a reader of the files below a folder, wherever symbolic links would lead."""

    def read(path: str) -> str | None:
        try:
            # What was judged is what is opened, so a link that changes in between leads nowhere else.
            found, within = Path(path).resolve(), Path(folder).resolve()
            if found.is_relative_to(within):
                return read_file(str(found), encoding) if found.is_file() else None
        except (ValueError, OSError, RuntimeError) as error:  # a null character in the name, a circle of links
            raise _unreadable(path, error) from error
        message = f"{path} lies outside {folder}, the folder that this program may import from"
        hint = "move the file below it, or name a folder that holds both: imports=FOLDER in etalis.compile_file"
        raise InputError(Problem("E240", message, hint=hint))

    return read


def _unreadable(path: str, error: Exception) -> InputError:
    return InputError(Problem("E220", f"{path} cannot be read: {error}", hint="check the file's name"))
