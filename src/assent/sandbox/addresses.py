"""Which addresses belong to the open internet, and which to a network of one's own.

Everything else, this very machine above all, is refused unless it was listed itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

_NAT64 = "64:ff9b::/96"
_NEAR = (
    *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"),
    *("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"),
)
"""Of private use, or of nobody's."""


def is_open(text: str) -> bool:
    """Tell whether an address is one of the open internet, by whatever other address hides in it too."""
    import ipaddress  # noqa: PLC0415 - slow to load, and most commands reach nothing

    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return all(a.is_global and not a.is_multicast and not a.is_reserved for a in _meanings(address))


def is_near(text: str) -> bool:
    """Tell whether an address is one that a company's own servers have; neither this machine nor its link."""
    import ipaddress  # noqa: PLC0415 - as above

    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return any(address in ipaddress.ip_network(network) for network in _NEAR)


def _meanings(address: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    from ipaddress import IPv4Address, ip_network  # noqa: PLC0415 - as above

    if isinstance(address, IPv4Address):
        return [address]
    inner: list[IPv4Address | IPv6Address] = [a for a in (address.ipv4_mapped, address.sixtofour) if a is not None]
    inner += list(address.teredo or ())
    translated = address in ip_network(_NAT64)
    if translated:
        inner.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return inner if address.ipv4_mapped is not None or translated else [address, *inner]
