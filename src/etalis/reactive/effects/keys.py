"""Keys of effects: digests of what an effect is made of, the same in every run, process and version of Python.

The canonical form writes each value with its kind and its length, a float as the shortest text that reads back. So 1,
1.0 and '1' differ, and no two values have one form. Law: changing the form, or what goes into a key, changes the keys
of effects that receivers have seen; tests have literal ones.
"""

from __future__ import annotations

from hashlib import blake2b

from etalis.data.values import Struct, Value, decimal_text

_BYTES = 16


def digest(*parts: Value) -> str:
    """Return the digest of values, as 32 hexadecimal digits.

    >>> digest("charge", 1), digest("charge", 1.0)
    ('6386bacb31c06cfefaf3a8aaae19252c', 'b10fe4173198d2947784d0330b9fbba0')
    """
    return blake2b(canonical(parts), digest_size=_BYTES).hexdigest()


def canonical(value: Value) -> bytes:
    """Return the one form of a value.

    >>> canonical(("it", (1, 2.5, Struct("f", ["é"]))))
    b'l2:s2:itl3:i1;f2.5;c1:s1:fs2:\\xc3\\xa9'
    """
    chunks: list[bytes] = []
    todo = [value]
    while todo:
        x = todo.pop()
        match x:
            case str():
                text = x.encode("utf-8", "surrogatepass")
                chunks += (b"s%d:" % len(text), text)
            case float():
                chunks.append(b"f%s;" % float.__repr__(x).encode())
            case int():
                chunks.append(b"i%s;" % decimal_text(x).encode())
            case Struct():
                chunks.append(b"c%d:" % len(x.args))
                todo += (*reversed(x.args), x.name)
            case _:
                assert isinstance(x, tuple), f"{x!r} is no value"
                chunks.append(b"l%d:" % len(x))
                todo += reversed(x)
    return b"".join(chunks)
