"""Which addresses a service may call: https to allowed hosts whose every address is public.

Law: a host is judged by what it resolves to now, all of it, addresses of IPv4 within IPv6 included; who connects uses
an address that was judged, and does not ask again.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NoReturn
from urllib.parse import SplitResult, urlsplit

from etalis.errors import InputError, Problem

Resolver = Callable[[str, int], Awaitable[list[str]]]
_NAT64 = IPv6Network("64:ff9b::/96")
_PORTS = {"https": 443, "http": 80}


class AddressRefused(InputError):  # noqa: N818
    """An address that the service does not call."""


@dataclass(frozen=True, slots=True)
class CheckedAddress:
    """Where a request goes: the URL as it was given, and an address of its host that was checked."""

    url: str
    host: str
    port: int
    is_secure: bool
    address: str

    @property
    def connect_url(self) -> str:
        """Return the URL with the address in the place of the host."""
        parts = urlsplit(self.url)
        address = f"[{self.address}]" if ":" in self.address else self.address
        return parts._replace(netloc=f"{address}:{self.port}").geturl()

    @property
    def host_header(self) -> str:
        """Return what the request names as its host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS["https" if self.is_secure else "http"] else f"{host}:{self.port}"


async def resolve(host: str, port: int) -> list[str]:
    """Return every address that a host has."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


class AddressRules:
    """The hosts that may be called, `plain` ones without TLS, and networks that are as good as public."""

    def __init__(
        self, hosts: Iterable[str] = (), plain: Iterable[str] = (), networks: Iterable[str] = (),
        *, resolver: Resolver = resolve,
    ) -> None:  # fmt: skip
        self._plain = {host.lower() for host in plain}
        self._hosts = {host.lower() for host in hosts} | self._plain
        self._networks = [_network(text) for text in networks]
        self._resolver = resolver

    def check(self, url: str) -> SplitResult:
        """Refuse a URL by what it says; return its parts."""
        try:
            parts = urlsplit(url)
            host, port = (parts.hostname or "").lower(), parts.port
        except ValueError as error:
            _refuse(url, f"it is no URL: {error}")
        if parts.scheme not in _PORTS or not host or port == 0:
            _refuse(url, "it is no https:// URL")
        if parts.username is not None or parts.password is not None:
            _refuse(url, "it has a name or password in it")
        if any(ord(c) <= 0x20 or ord(c) == 0x7F for c in url) or not url.isascii():
            _refuse(url, "it has blanks or letters that URLs escape")
        if not self._allows(host, self._hosts):
            _refuse(url, f"the host {host} is not on the list of allowed hosts")
        if parts.scheme == "http" and not self._allows(host, self._plain):
            _refuse(url, f"the host {host} is not listed for http")
        return parts

    async def resolve(self, url: str) -> CheckedAddress:
        """Return where to connect for a URL; refuse it if any address of its host is not public."""
        parts = self.check(url)
        host, secure = (parts.hostname or "").lower(), parts.scheme == "https"
        port = parts.port or _PORTS[parts.scheme]
        try:
            found = await self._resolver(host, port)
        except (OSError, UnicodeError) as error:
            raise ConnectionError(f"{host} does not resolve: {error}") from error
        if not found:
            raise ConnectionError(f"{host} does not resolve")
        for text in found:
            if not self._is_public(text):
                _refuse(url, f"{host} is at {text}, which is not a public address")
        return CheckedAddress(url, host, port, secure, found[0])

    @staticmethod
    def _allows(host: str, hosts: set[str]) -> bool:
        """Tell whether a host is listed by its name, or by a star for all names below another."""
        above = host.partition(".")[2]
        return host in hosts or (bool(above) and f"*.{above}" in hosts)

    def _is_public(self, text: str) -> bool:
        try:
            address = ip_address(text.partition("%")[0])
        except ValueError:
            return False
        inner = embedded(address)
        return all(is_public(one) or any(one in net for net in self._networks) for one in (inner or (address,)))


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Tell whether an address belongs to the open internet, and to one machine there.

    >>> is_public(ip_address("93.184.216.34")), is_public(ip_address("10.0.0.1")), is_public(ip_address("::1"))
    (True, False, False)
    """
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def embedded(address: IPv4Address | IPv6Address) -> tuple[IPv4Address, ...]:
    """Return the addresses of IPv4 that an address of IPv6 stands for.

    >>> embedded(ip_address("::ffff:10.0.0.1")), embedded(ip_address("2606:2800:220:1::1"))
    ((IPv4Address('10.0.0.1'),), ())
    """
    if isinstance(address, IPv4Address):
        return ()
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    return (IPv4Address(int(address) & 0xFFFFFFFF),) if address in _NAT64 else ()


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError as error:
        hint = "as in 10.0.0.0/8"
        raise InputError(Problem("E814", f"{text} is no network: {error}", hint=hint)) from None


def _refuse(url: str, why: str) -> NoReturn:
    hint = "https to a host that the service allows (--allow-host), at a public address"
    raise AddressRefused(Problem("E814", f"the address {url} is refused: {why}", hint=hint))
