"""Which addresses belong to the open internet. Everything else is refused unless it was listed itself."""

from __future__ import annotations

import ipaddress
from typing import TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def is_open(text: str) -> bool:
    """Tell whether an address is one of the open internet, by whatever other address hides in it too."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return all(a.is_global and not a.is_multicast and not a.is_reserved for a in _meanings(address))


def _meanings(address: Address) -> list[Address]:
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    inner: list[Address] = [a for a in (address.ipv4_mapped, address.sixtofour) if a is not None]
    inner += list(address.teredo or ())
    if address in _NAT64:
        inner.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return inner if address.ipv4_mapped is not None or address in _NAT64 else [address, *inner]
