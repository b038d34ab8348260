"""Who a client is, and what it may do: tokens from a file, or, without one, whoever asks from this machine.

Law: without tokens nothing is answered but on loopback, to loopback names, for pages of our own; so no page that a user
visits elsewhere can drive the engines. TokenFile are compared in constant time, all of them.
"""

from __future__ import annotations

import hmac
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit

from etalis.errors import InputError, Problem
from etalis.service.problems import ForbiddenError, TooManyError, UnauthorizedError

SCOPES = ("read", "signal", "write", "admin")
_LOG = logging.getLogger(__name__)
_LOOK = 1.0  # seconds between two looks at the file of tokens
_SHAPE = "a line is: name token scopes [secret], such as  shop s3cr3t signal,read"


@dataclass(frozen=True, slots=True)
class Client:
    """Who asks: a name, what it may do, and the secret by which what is sent to it is signed."""

    name: str
    scopes: frozenset[str]
    secret: str | None = field(default=None, repr=False)

    def may(self, scope: str) -> bool:
        """Tell whether it has a scope; who administrates may do all."""
        return scope in self.scopes or "admin" in self.scopes


OPERATOR = Client("operator", frozenset(SCOPES))  # who started the service
LOCAL = Client("local", frozenset(SCOPES))  # whoever is on this machine, where there are no tokens


class TokenFile:
    """The clients of a file, by the digests of their tokens; the file is read again when it changes."""

    def __init__(self, path: str | Path, *, clock: Callable[[], float] = monotonic) -> None:
        self.path = Path(path)
        self._clock = clock
        self._looked = clock()
        self._version = self._stat()
        self._clients = dict(read_tokens(self._text(), str(path)))

    def find(self, token: str) -> Client | None:
        """Return the client of a token."""
        self._refresh()
        wanted, found = _digest(token), None
        for digest, client in self._clients.items():
            if hmac.compare_digest(digest, wanted):
                found = client
        return found

    def named(self, name: str) -> Client | None:
        """Return the client of a name, if it still has a token."""
        self._refresh()
        return next((client for client in self._clients.values() if client.name == name), None)

    def _refresh(self) -> None:
        """Read the file again if it has changed; one that cannot be read leaves all as it was."""
        if self._clock() - self._looked < _LOOK:
            return
        self._looked = self._clock()
        try:
            version = self._stat()
            if version != self._version:
                self._clients = dict(read_tokens(self._text(), str(self.path)))
                self._version = version
        except InputError as error:
            _LOG.warning("the tokens stay as they were: %s", error.problems[0].message)

    def _stat(self) -> tuple[int, int, int]:
        try:
            found = os.stat(self.path)
        except OSError as error:
            raise _unreadable(self.path, error) from None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _text(self) -> str:
        try:
            return self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise _unreadable(self.path, error) from None


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(Problem("E401", f"cannot read the tokens of {path}: {error}", hint="check its name and rights"))


def read_tokens(text: str, name: str) -> Iterator[tuple[bytes, Client]]:
    """Yield the digests of tokens and whose they are.

    >>> [(client.name, sorted(client.scopes)) for _, client in read_tokens("# who\\nshop s3cr3t signal,read", "tokens")]
    [('shop', ['read', 'signal'])]
    """
    seen: dict[bytes, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        parts = line.split()
        if not parts or parts[0].startswith("#"):
            continue
        if len(parts) not in (3, 4):
            raise InputError(Problem("E833", f"{name}, line {number}: found {len(parts)} words", hint=_SHAPE))
        scopes = frozenset(parts[2].split(","))
        unknown = sorted(scopes - set(SCOPES))
        if unknown:
            hint = f"scopes are {', '.join(SCOPES)}"
            raise InputError(Problem("E833", f"{name}, line {number}: there is no scope {unknown[0]}", hint=hint))
        digest = _digest(parts[1])
        if digest in seen:
            hint = "give each client a token of its own"
            raise InputError(Problem("E833", f"{name}, line {number}: {seen[digest]} has this token", hint=hint))
        seen[digest] = parts[0]
        yield digest, Client(parts[0], scopes, parts[3] if len(parts) == 4 else None)


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()


class Bucket:
    """A bucket of tokens that fills again with time: how many requests may come at once, and per second."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float]) -> None:
        self.rate = rate
        self.burst = burst
        self.level = burst
        self._clock = clock
        self._filled = clock()

    def take(self) -> float:
        """Take a token; return 0, or the seconds until there is one."""
        now = self._clock()
        self.level = min(self.burst, self.level + (now - self._filled) * self.rate)
        self._filled = now
        if self.level < 1:
            return (1 - self.level) / self.rate
        self.level -= 1
        return 0.0


class Doorkeeper:
    """Decides who a request is from, and whether it is answered at all."""

    def __init__(
        self, tokens: TokenFile | None, *, public_url: str, rate: float, burst: float,
        clock: Callable[[], float] = monotonic,
    ) -> None:  # fmt: skip
        self.tokens = tokens
        self.origin = _origin(public_url)
        self.rate = rate
        self.burst = burst
        self._clock = clock
        self._buckets: dict[str, Bucket] = {}

    def admit(self, headers: Mapping[str, str], scope: str | None) -> Client:
        """Return the client of a request that may be answered; refuse others."""
        client = self.identify(headers, required=scope is not None)
        if scope is not None and not client.may(scope):
            hint = f"it needs the scope {scope}; the file of tokens gives scopes"
            raise ForbiddenError("E831", f"{client.name} may not do this", hint)
        if scope is not None:
            self.spend(client)
        return client

    def identify(self, headers: Mapping[str, str], *, required: bool = True) -> Client:
        """Return who a request is from, by its token, or because it comes from this machine."""
        if self.tokens is None:
            self._refuse_foreign(headers)
            return LOCAL
        kind, _, token = headers.get("authorization", "").partition(" ")
        found = self.tokens.find(token.strip()) if kind.lower() == "bearer" else None
        if found is None:
            if not required and not token:
                return ANYBODY
            what = "no token that is known" if token else "no token"
            challenge = {"WWW-Authenticate": 'Bearer realm="etalis"'}
            raise UnauthorizedError("E830", f"the request has {what}", "send Authorization: Bearer TOKEN", challenge)
        return found

    def identify_token(self, token: str) -> Client | None:
        """Return the client of a token that came otherwise than in a header."""
        return LOCAL if self.tokens is None else self.tokens.find(token)

    def spend(self, client: Client) -> None:
        """Count a request; refuse it if there were too many."""
        bucket = self._buckets.get(client.name)
        if bucket is None:
            bucket = self._buckets[client.name] = Bucket(self.rate, self.burst, self._clock)
        wait = bucket.take()
        if wait:
            message = f"{client.name} sends more than {self.rate:g} requests per second"
            after = {"Retry-After": str(max(1, round(wait)))}
            hint = "wait as long as Retry-After says, and send several events at once"
            raise TooManyError("E827", message, hint, after)

    def _refuse_foreign(self, headers: Mapping[str, str]) -> None:
        """Refuse what a page from elsewhere may have sent, or what came by another name than that of this machine."""
        host = headers.get("host", "")
        here = _origin(f"http://{host}")
        if here is None or not is_loopback(_name_of(host)):
            hint = "without tokens the service answers to localhost alone: ask there, or start it with --tokens"
            raise ForbiddenError("E832", f"the host is {host!r}, which is no name of this machine", hint)
        origin = headers.get("origin")
        if origin is not None and (_origin(origin) or origin) not in (self.origin, here):
            hint = "without tokens only pages of the service itself may ask: start it with --tokens"
            raise ForbiddenError("E832", f"the request comes from a page of {origin}", hint)


ANYBODY = Client("anybody", frozenset())


def _origin(url: str) -> tuple[str, str] | None:
    """Return host and port of an address, for comparison; None if it is no address of a page.

    >>> _origin("http://LocalHost:80"), _origin("http://[::1"), _origin("http://a:1@b"), _origin("null")
    (('localhost:80', 'http'), None, None, None)
    """
    try:
        parts = urlsplit(url)
        known = parts.hostname and (parts.port or True)
    except ValueError:
        return None
    if not known or "@" in parts.netloc or parts.scheme not in ("http", "https"):
        return None
    return parts.netloc.lower(), parts.scheme


def _name_of(host: str) -> str:
    """Return the name in a Host header, without the port.

    >>> _name_of("localhost:80"), _name_of("[::1]:80"), _name_of("::1")
    ('localhost', '::1', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host if host.count(":") > 1 else host.partition(":")[0]


@lru_cache(maxsize=100)
def is_loopback(name: str) -> bool:
    """Tell whether a name or address means this machine alone.

    >>> [is_loopback(name) for name in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "localhost.evil.example")]
    [True, True, True, False, False]
    """
    if name.lower().rstrip(".") == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
