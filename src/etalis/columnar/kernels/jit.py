"""How kernels are compiled, and where their machine code is kept for later processes.

Numba's own cache looks only at the file of the function that Python calls: were another one changed that is compiled
into it, old machine code would run. Here the name of a file of machine code has a digest of all it was made of. Law:
files of one name hold the same, so none is ever out of date, and processes may compile and write at once.

This needs parts of Numba that are not public. No other module uses any, and this one only with versions that they were
tested with; with others kernels are plain `njit` functions, which every process compiles anew (docs/kernels.md).
"""

from __future__ import annotations

import gc
import hashlib
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property
from inspect import getclosurevars
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Literal, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])
logger = logging.getLogger("etalis.columns")

TESTED = (0, 61), (0, 69)  # versions of Numba from the one to below the other, as in pyproject.toml
ROOM = 70_000  # words of Python's stack; the piece that holds them has as many again, more than the compiler takes


_INSTEAD: ContextVar[str | None] = ContextVar("what is done instead of compiling", default=None)


class NotCompiledError(Exception):
    """A kernel was called that has no machine code, where none is to be made."""


@contextmanager
def uncompiled(instead: Literal["raise", "plain"] = "raise") -> Iterator[None]:
    """Load the machine code of kernels and compile none: raise `NotCompiledError` instead, or run plain Python."""
    before = _INSTEAD.set(instead)
    try:
        if instead == "raise" and not (is_tested() or numba.config.DISABLE_JIT):
            raise NotCompiledError("kernels")
        yield
    finally:
        _INSTEAD.reset(before)


@cache
def is_tested() -> bool:
    """Tell whether the private parts of this Numba are known; says so if not."""
    found = TESTED[0] <= tuple(map(int, numba.__version__.split(".")[:2])) < TESTED[1]
    if not found:
        logger.warning(
            "numba %s is not one of those that were tested (%d.%d to below %d.%d): every process compiles its kernels",
            numba.__version__, *TESTED[0], *TESTED[1],
        )  # fmt: skip
    return found


def kernel(function: F) -> F:
    """Compile what Python calls, on first use, and keep its code. It owns no array, so none is counted."""
    compiled = _compile(function)
    if is_tested() and not numba.config.DISABLE_JIT:
        compiled._cache = KernelCache(compiled)
        compiled._compile_for_args = or_plain(compiled, at_ease(compiled._compile_for_args))
    return compiled  # type: ignore[no-any-return]


def part(function: F) -> F:
    """Compile what only compiled functions call."""
    return _compile(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)  # type: ignore[no-any-return]


def inner(function: F) -> F:
    """Compile what the innermost loop calls into its place: handing over its arrays would cost more than its work."""
    return _compile(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True)  # type: ignore[no-any-return]


def _compile(function: Callable[..., Any], **options: bool) -> Any:
    private = {"_nrt": False, **options} if is_tested() else {}
    return numba.njit(nogil=True, **private)(function)


def at_ease(compile_: Callable[..., Any]) -> Callable[..., Any]:
    """Let the compiler run without the cyclic collector and with room on the stack.

    Python's stack comes in pieces of 16 KB. Where the compiler's busiest calls happen to cross from one piece to the
    next, each of them asks the system for memory (CPython's issue 142183); that has taken a quarter of all its time.
    A frame that is larger than a piece brings one of its own, with room for all that is called from it.
    """

    def call(*args: Any, **kws: Any) -> Any:
        collects = gc.isenabled()
        gc.disable()
        try:
            return compile_(*args, **kws)
        finally:
            if collects:
                gc.enable()

    call.__code__ = call.__code__.replace(co_stacksize=ROOM)
    return call


def or_plain(compiled: Any, compile_: Callable[..., Any]) -> Callable[..., Any]:
    """Let a kernel be called as plain Python where that is asked for instead of machine code that is missing."""

    def call(*args: Any, **kws: Any) -> Any:
        try:
            return compile_(*args, **kws)
        except NotCompiledError:
            if _INSTEAD.get() != "plain":
                raise
            return plain(compiled)  # which Numba calls, and does not keep

    return call


@cache
def plain(compiled: Any) -> Callable[..., Any]:
    """Return a kernel as plain Python, all that it calls included."""
    function = compiled.py_func
    called = {name: value for name, value in getclosurevars(function).globals.items() if hasattr(value, "py_func")}
    known = function.__globals__ | {name: plain(value) for name, value in called.items()}
    return FunctionType(function.__code__, known, function.__name__, function.__defaults__, function.__closure__)


def content(compiled: Any) -> Iterator[str]:
    """Yield all that machine code is made of: the code, options and constants of a function and of those it calls."""
    code = compiled.py_func.__code__
    yield f"{compiled.targetoptions} {code.co_code.hex()} {code.co_consts} {code.co_names}"
    for name, value in sorted(getclosurevars(compiled.py_func).globals.items()):
        if hasattr(value, "py_func"):
            yield from content(value)
        elif isinstance(value, ModuleType):  # of constants
            known = {each: getattr(value, each, None) for each in code.co_names}
            yield f"{name}: {[each for each in known.items() if isinstance(each[1], int | float)]}"
        else:
            assert isinstance(value, int | float), f"{name} in {code.co_name} is no constant"
            yield f"{name} = {value!r}"


@cache
def folder() -> str | None:
    """Return where machine code is kept: in NUMBA_CACHE_DIR, beside this module, or in the user's cache directory."""
    from numba.core.caching import CompileResultCacheImpl

    try:
        locator = CompileResultCacheImpl(kernel).locator
        locator.ensure_cache_path()
    except (RuntimeError, OSError):
        logger.warning("every process compiles its kernels: no directory can be written, set NUMBA_CACHE_DIR")
        return None
    return str(locator.get_cache_path())


def records(types: Iterable[Any]) -> Iterator[str]:
    """Yield the fields of the records among types: Numba does not name them, and machine code counts them."""
    for each in types:
        if hasattr(each, "instance_class"):
            yield f"{each.instance_class.__qualname__}{each.fields}"
            yield from records(each.types)


class KernelCache:
    """The machine code of a kernel on disk, with a file for each signature, processor and version of Numba."""

    cache_path = None  # Numba asks for it, and tells it nobody

    def __init__(self, compiled: Any) -> None:
        self.compiled = compiled
        self.name = f"{compiled.py_func.__module__}.{compiled.py_func.__name__}.{sys.implementation.cache_tag}"

    @cached_property
    def stem(self) -> str:
        return f"{self.name}-{_digest(*content(self.compiled))}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        from numba.core.compiler import CompileResult

        target_context.refresh()
        file = self._file(sig)
        reduced = file and file.load(sig)
        if not reduced and _INSTEAD.get() is not None:
            raise NotCompiledError(self.name)
        return reduced and CompileResult._rebuild(target_context, *reduced)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code; what was made of something else is of no use any more."""
        file = self._file(sig)
        if file is None:
            return
        try:
            file.save(sig, data._reduce())
            for old in Path(file._cache_path).glob(f"{self.name}-*"):
                if not old.name.startswith(self.stem):
                    old.unlink(missing_ok=True)
        except OSError as error:
            logger.warning("the machine code of %s is not kept: %s", self.name, error)

    def _file(self, sig: Any) -> Any:
        from numba.core.caching import IndexDataCacheFile

        where = folder()
        target = f"{sig} {list(records(sig))} {self.compiled.targetctx.codegen().magic_tuple()} {numba.__version__}"
        return where and IndexDataCacheFile(where, f"{self.stem}-{_digest(target)}", None)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
