"""Which network addresses are public: the one rule for pages, webhooks and commands with network access.

Standard library only, because the proxy of such commands loads this file alone. The networks are from the IANA
special purpose registries (RFC 6890, as of 2026): what `ipaddress` calls global differs between patch releases of
Python (3.11.7, 3.12.4, 3.13).
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

NOT_PUBLIC_IPV4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # shared by a provider's customers
            "127.0.0.0/8",  # this machine
            "169.254.0.0/16",  # this link, and what clouds tell their machines
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocols
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # relays of 6to4
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and to all
        ),
    )
)
UNICAST = IPv6Network("2000::/3")  # the one part of IPv6 from which public addresses are given out
NOT_PUBLIC_IPV6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocols, also those few that everybody may reach: no page is there
            "2001:db8::/32",  # documentation
            "3fff::/20",  # documentation
        ),
    )
)
COMPATIBLE, NAT64 = IPv6Network("::/96"), IPv6Network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Whether an address, as resolvers write it, is public.

    Any other notation is not public, because programs read it differently. An IPv4 address within an IPv6 address
    decides.
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, IPv4Address):
        return _is_public_ipv4(found)
    if inner := _inner_ipv4(found):
        return all(map(_is_public_ipv4, inner))
    return found in UNICAST and not any(found in network for network in NOT_PUBLIC_IPV6)


def _is_public_ipv4(address: IPv4Address) -> bool:
    return not any(address in network for network in NOT_PUBLIC_IPV4)


def _inner_ipv4(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """Return the IPv4 addresses embedded in this one: mapped, compatible, NAT64, 6to4 and Teredo."""
    if address.ipv4_mapped:
        return (address.ipv4_mapped,)
    if address.teredo:
        return address.teredo
    if address.sixtofour:
        return (address.sixtofour,)
    return (IPv4Address(int(address) & 0xFFFFFFFF),) if address in COMPATIBLE or address in NAT64 else ()
