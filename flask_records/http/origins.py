"""Origins of pages: scheme, host and port."""

from __future__ import annotations

import re
import typing as t
from urllib.parse import urlsplit

from ..settings import Check

PORTS: t.Final = {"http": 80, "https": 443}

WEB_ORIGIN = re.compile(r"[a-z]+://[^/?#]+/?", re.IGNORECASE)
"""A web address without a path. A slash is not a path."""

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
    """Return scheme, host and port of a plain web address as browsers send them, or
    ``None``. A host of other letters is in its ASCII form.
    """
    # Browsers remove such characters, and take a backslash for a slash.
    if not url.isprintable() or " " in url or "\\" in url:
        return None

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None

    scheme, host = parts.scheme, parts.hostname or ""

    if scheme not in PORTS or not host or "@" in parts.netloc or not host.isascii():
        return None

    end = "" if port in (None, PORTS[scheme]) else f":{port}"
    return f"{scheme}://[{host}]{end}" if ":" in host else f"{scheme}://{host}{end}"


def parse_origins(value: t.Any, place: str) -> tuple[str, ...]:
    """Return the origins of a setting as browsers send them, ``("*",)`` for all.

    :param value: A list, one origin, ``"*"``, or ``None`` for none.
    :param place: The name of the setting, for errors.
    """
    if value in (None, "", ALL):
        return (ALL,) if value else ()

    if isinstance(value, str):
        return (_parse(value, place),)

    return tuple(_parse(item, f"{place}[{index}]") for index, item in enumerate(value))


def _parse(value: t.Any, place: str) -> str:
    text = value if isinstance(value, str) else ""
    origin = origin_of(text) if WEB_ORIGIN.fullmatch(text) else None

    if APP_ORIGIN.fullmatch(text):
        return text

    if origin is None or ALL in origin:
        raise RuntimeError(
            f"{place} is {value!r}, which is not an origin: a scheme, a host and a"
            " port, such as 'https://app.example'. '*' stands alone, for all origins."
        )

    return origin
