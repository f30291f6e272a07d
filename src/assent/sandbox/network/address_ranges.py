"""Which addresses belong to the open internet, and which to a network of one's own.

Everything else, this very machine above all, is refused unless it was listed itself.
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
"""All of IPv6 that is given out for the open internet."""
_NAT64 = "64:ff9b::/96"
_METADATA = (
    "168.63.129.16/32",  # Azure, at a public address
    "192.0.0.192/32",  # Oracle
    "100.100.100.200/32",  # Alibaba
    "fd00:ec2::/32",  # Amazon
    "fd20:ce::/32",  # Google
    "fd00:42::/32",  # Scaleway
)
"""Where clouds tell a machine its credentials, outside of the link's own range."""
_SPECIAL = (
    *("192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15"),  # protocols, relays, benchmarks
    *("192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24"),  # answered by whoever is nearest
    *("2001::/23", "2002::/16", "3fff::/20"),  # protocols and Teredo, 6to4, documentation
    "2620:4f:8000::/48",  # answered by whoever is nearest
)
"""Of the registries of special addresses, what is not surely a server on the open internet, whatever Python says."""
_NEAR = (
    *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"),
    *("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"),
)
"""Of private use, or of nobody's."""
_ISATAP = (0x00005EFE, 0x02005EFE)


def is_open(text: str) -> bool:
    """Tell whether an address is one of the open internet, by whatever other address hides in it too."""
    address = _read(text)
    return address is not None and all(map(_is_global, _meanings(address)))


def is_near(text: str) -> bool:
    """Tell whether an address is one that a company's own servers have; neither this machine nor its link."""
    address = _read(text)
    return address is not None and _is_in(address, _NEAR) and not _is_in(address, _METADATA)


def is_own(text: str) -> bool:
    """Tell whether an address is one of this machine: the kernel reaches it from that very address. Nothing is sent."""
    address = _read(text)
    if address is None:
        return False
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as line:
        try:
            line.connect((text, 9))
        except OSError:
            return False  # there is no way there at all
        return _read(line.getsockname()[0]) == address


def _read(text: str) -> _Address | None:
    """Read an address; one with a zone is of a link, and of nothing else."""
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
    """Return what an address leads to: the IPv4 one it is translated to, or itself and one that it is a tunnel to."""
    from ipaddress import IPv4Address  # noqa: PLC0415 - as above

    if isinstance(address, IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    inner = IPv4Address(int(address) & 0xFFFFFFFF)
    if _is_in(address, (_NAT64,)):
        return [inner]
    return [address, inner] if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP else [address]
