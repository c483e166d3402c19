"""Origins of pages: scheme, host and port."""

from __future__ import annotations

import ipaddress
import re
import typing as t
import unicodedata
from urllib.parse import urlsplit

from ..settings import Check

PORTS: t.Final = {"http": 80, "https": 443}

INVISIBLE = re.compile(r"[\x00-\x20\x7f\ud800-\udfff]")
"""Characters that browsers remove from addresses, and JSON's lone surrogates."""

APP_ORIGIN = re.compile(
    r"(?!https?:|file:|data:|javascript:)[a-z][a-z0-9+.-]*://[\w.-]+(:\d+)?"
)
"""The origin of the pages of an application for phones or desktops."""

SECURE = re.compile(
    r"https://|http://(localhost|[\w-]+\.localhost|127(\.\d+){3}|\[::1\])(:\d+)?\Z"
)
"""The origins that nobody on the way can read or change."""

ALL: t.Final = "*"
"""Stands for all origins."""

ORIGINS: t.Final = Check(
    lambda value: isinstance(value, (str, list, tuple)),
    "a list such as ['https://app.example']",
).or_none()


def is_secure(url: t.Any) -> bool:
    """Return whether something is an address of ``https``, or of this machine."""
    origin = origin_of(url) if isinstance(url, str) else None
    return origin is not None and bool(SECURE.match(origin))


def origin_of(url: str) -> str | None:
    """Return scheme, host and port of a plain web address, or ``None``."""
    if INVISIBLE.search(url) or "\\" in url:
        return None

    try:
        parts = urlsplit(url)
        port = parts.port
        host = _host(parts.hostname or "")
    except ValueError:
        return None

    if parts.scheme not in PORTS or not host or "@" in parts.netloc:
        return None

    shown = "" if port in (None, PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{host}{shown}"


def _host(name: str) -> str:
    """Return a host as browsers send it.

    :raises ValueError: It is not a valid host.
    """
    if unicodedata.normalize("NFKC", name) != name or "\u3002" in name:
        raise ValueError("The host has another form.")

    if ":" in name:
        return f"[{ipaddress.IPv6Address(name)}]"

    return name if name.isascii() else name.encode("idna").decode()


def parse_origins(value: t.Any, place: str) -> tuple[str, ...]:
    """Return the origins of a setting as browsers send them, ``("*",)`` for all.

    :param value: A list of origins, one origin, ``"*"``, or ``None`` for none, as
        :data:`ORIGINS` checks it.
    :param place: The name of the setting.
    :raises RuntimeError: A part is not an origin. The message names it.
    """
    if value in (None, "", ALL):
        return (ALL,) if value else ()

    if isinstance(value, str):
        return (_parsed(value, place),)

    return tuple(_parsed(item, f"{place}[{index}]") for index, item in enumerate(value))


def _parsed(value: t.Any, place: str) -> str:
    if value == ALL:
        raise RuntimeError(f"{place} is '*', which stands alone: 'origins': '*'.")

    if isinstance(value, str) and APP_ORIGIN.fullmatch(value):
        return value

    origin = origin_of(value) if isinstance(value, str) else None

    if origin is None or ALL in origin or urlsplit(value)[2:] not in PATHLESS:
        raise RuntimeError(
            f"{place} is {value!r}, which is not an origin: a scheme, a host and a"
            " port, such as 'https://app.example'."
        )

    return origin


PATHLESS: t.Final = (("", "", ""), ("/", "", ""))
"""Path, query and fragment of an address that is an origin. A slash is not a path."""
