"""Redirects of users after a login at a provider."""

from __future__ import annotations

import re
import typing as t
import unicodedata
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlencode, urlsplit, urlunsplit

from ..errors import BadRequest
from ..http.origins import INVISIBLE, origin_of

PATH = re.compile(r"/(?![/\\])[^\\\x00-\x1f\x7f]*|")
"""A path on the same origin, or nothing."""

MAX_LAYERS: t.Final = 5
"""The number of times that an address is decoded to find what it hides."""

UNQUOTED: t.Final = "/?&=;:@!$'()*+,~%.-_"
"""The characters that are not quoted."""


@dataclass(frozen=True)
class Redirects:
    """The address that users return to, and other origins that they may return to."""

    base: str | None = None
    """The configured address: a URL, or a path of the application."""

    origins: tuple[str, ...] = ()
    """More origins, such as ``https://app.example``."""

    def target(self, extra: str, page: str = "") -> str | None:
        """Return the address after a login, or ``None`` if no address is configured.

        :param extra: The value of ``?redirect=``: a path below the configured address,
            a URL of an origin that is allowed, or nothing.
        :param page: The address, or the origin, of the page that begins the login. One
            of :attr:`origins` takes the place of the configured address.
        :raises BadRequest: It leads to another site, or sets something after the ``#``.
        """
        base = self._base_for(page)

        if base is None:
            if extra:
                raise BadRequest("There is no redirect to append to.")

            return None

        if INVISIBLE.search(extra):
            raise BadRequest("The redirect has a space in it.")

        allowed = {*self.origins, origin_of(self.base or "")} - {None}
        is_url = origin_of(extra) is not None
        ends_in_fragment = "#" in base and not is_url

        for form in _forms(extra):
            if not PATH.fullmatch(form) and origin_of(form) not in allowed:
                raise BadRequest("The redirect leads to another site.")

            # A page would read a token from it before the one that is issued.
            if "#" in form or (ends_in_fragment and "=" in form):
                raise BadRequest("The redirect can't set anything after the '#'.")

        if is_url:
            return _encoded(extra)

        return base.rstrip("/") + _encoded(extra) if extra else base

    def _base_for(self, page: str) -> str | None:
        """Return the address that a page returns to, unless it names another."""
        origin = origin_of(page)
        is_elsewhere = origin != origin_of(self.base or "")
        return origin if origin in self.origins and is_elsewhere else self.base


def with_answer(target: str, **answer: str) -> str:
    """Return an address with an answer after the ``#``, which no server receives."""
    separator = "" if target.endswith("#") else "#"
    return f"{target}{separator}{urlencode(answer, quote_via=quote)}"


def _forms(text: str) -> list[str]:
    """Return a text, and all that it becomes when it is decoded."""
    forms = [text]

    for _ in range(MAX_LAYERS):
        decoded = unicodedata.normalize("NFKC", unquote(forms[-1]))
        # Browsers ignore spaces where an address begins.
        decoded = decoded.replace(" ", "")

        if decoded == forms[-1]:
            return forms

        forms.append(decoded)

    raise BadRequest("The redirect is encoded too often.")


def _encoded(text: str) -> str:
    parts = urlsplit(text)

    # The brackets of an IPv6 address must not be quoted.
    if parts.scheme:
        path = urlunsplit(("", "", parts.path, parts.query, ""))
        return f"{origin_of(text)}{quote(path, safe=UNQUOTED)}"

    return quote(text, safe=UNQUOTED)
