"""Tell addresses on the open internet, on private networks and of this machine apart.

The proxy refuses all but the first, unless the address itself is listed.
"""

from __future__ import annotations

import functools
import socket
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

    _Address: TypeAlias = IPv4Address | IPv6Address
    _Network: TypeAlias = IPv4Network | IPv6Network

_UNICAST = "2000::/3"
"""The part of IPv6 that is assigned to the open internet."""
_NAT64 = "64:ff9b::/96"
_METADATA = (
    "168.63.129.16/32",  # Azure, at a public address
    "192.0.0.192/32",  # Oracle
    "100.100.100.200/32",  # Alibaba
    "fd00:ec2::/32",  # Amazon
    "fd20:ce::/32",  # Google
    "fd00:42::/32",  # Scaleway
)
"""Addresses where clouds hand out credentials, outside the link-local range."""
_SPECIAL = (
    *("192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15"),  # protocols, relays, benchmarks
    *("192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24"),  # anycast
    *("2001::/23", "2002::/16", "3fff::/20"),  # protocols and Teredo, 6to4, documentation
    "2620:4f:8000::/48",  # anycast
)
"""Special ranges that Python counts as global, but that may not be servers on the open internet."""
_NEAR = (
    *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"),
    *("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"),
)
"""Private networks, and ranges for documentation."""
_ISATAP = (0x00005EFE, 0x02005EFE)


def is_open(text: str) -> bool:
    """Tell whether an address is on the open internet, and so is an IPv4 address embedded in it."""
    address = _read(text)
    return address is not None and all(map(_is_global, _meanings(address)))


def is_near(text: str) -> bool:
    """Tell whether an address is on a private network; neither loopback nor link-local."""
    address = _read(text)
    return address is not None and _is_in(address, _NEAR) and not _is_in(address, _METADATA)


def is_own(text: str) -> bool:
    """Tell whether an address is this machine's own: the kernel would use it as source too. Sends nothing."""
    address = _read(text)
    if address is None:
        return False
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as line:
        try:
            line.connect((text, 9))
        except OSError:
            return False  # there is no route
        return _read(line.getsockname()[0]) == address


def _read(text: str) -> _Address | None:
    """Parse an address; None for one with a zone, which is link-local."""
    import ipaddress  # noqa: PLC0415 - slow to load, and most commands reach nothing

    try:
        return None if "%" in text else ipaddress.ip_address(text)
    except ValueError:
        return None


def _is_global(address: _Address) -> bool:
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    return (address.version == 4 or _is_in(address, (_UNICAST,))) and not _is_in(address, (*_SPECIAL, *_METADATA))


def _is_in(address: _Address, networks: tuple[str, ...]) -> bool:
    return any(address in network for network in map(_network, networks))


@functools.cache
def _network(text: str) -> _Network:
    from ipaddress import ip_network  # noqa: PLC0415 - as above

    return ip_network(text)


def _meanings(address: _Address) -> list[_Address]:
    """Return the addresses behind an address: the embedded IPv4 address, or itself and the one it tunnels to."""
    from ipaddress import IPv4Address  # noqa: PLC0415 - as above

    if isinstance(address, IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    inner = IPv4Address(int(address) & 0xFFFFFFFF)
    if _is_in(address, (_NAT64,)):
        return [inner]
    return [address, inner] if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP else [address]
