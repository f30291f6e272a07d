"""Which addresses belong to the open internet. Everything else is refused unless it was listed itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

_NAT64 = "64:ff9b::/96"


def is_open(text: str) -> bool:
    """Tell whether an address is one of the open internet, by whatever other address hides in it too."""
    import ipaddress  # noqa: PLC0415 - slow to load, and most commands reach nothing

    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return all(a.is_global and not a.is_multicast and not a.is_reserved for a in _meanings(address))


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
