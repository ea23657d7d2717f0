"""Addresses that only this machine reaches."""

from __future__ import annotations

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address; a name other than localhost never is."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
