"""Predicates of other Prologs that goals cannot have here, with the reason.

What would reach files, processes, the keyboard or chance is refused by name, so that a goal brought from elsewhere says
what is missing. A program may define predicates of these names.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_REFUSED: Mapping[str, tuple[tuple[str, int], ...]] = MappingProxyType(
    {
        "files and streams are out of a goal's reach": (
            *(("open", n) for n in (3, 4)), *(("close", n) for n in (1, 2)), ("see", 1), ("seen", 0), ("tell", 1),
            ("told", 0), ("consult", 1), ("load_files", 2), ("use_module", 1), ("use_module", 2), ("exists_file", 1),
            ("set_input", 1), ("set_output", 1), ("current_input", 1), ("current_output", 1), ("flush_output", 1),
            ("stream_property", 2), ("set_stream_position", 2), ("at_end_of_stream", 0), ("at_end_of_stream", 1),
        ),
        "there is no input to read from; `term_to_atom/2` reads a text": (
            ("read", 1), ("read", 2), ("read_term", 2), ("read_term", 3),
            *((name, n) for name in ("get_char", "peek_char", "get_code", "peek_code", "get_byte") for n in (1, 2)),
        ),
        "processes are out of a goal's reach": (
            ("halt", 0), ("halt", 1), ("shell", 1), ("shell", 2), ("getenv", 2), ("setenv", 2), ("sleep", 1),
            ("thread_create", 3), ("thread_send_message", 2), ("statistics", 2),
        ),
        "the same program must give the same answers; register a function instead": (
            ("random", 1), ("random_between", 3), ("random", 3), ("random_member", 2), ("random_permutation", 2),
            ("set_random", 1),
        ),
        "a term cannot be changed in place; make a new one": (("setarg", 3), ("nb_setarg", 3)),
        "operators are declared in the program: `:- op(700, xfx, name).`": (("op", 3),),
        "characters are read as they are": (("char_conversion", 2), ("current_char_conversion", 2)),
    }
)  # fmt: skip
REFUSALS: Mapping[tuple[str, int], str] = MappingProxyType(
    {key: reason for reason, keys in _REFUSED.items() for key in keys}
)
