"""The settings of OAuth: its providers, and where a login may end."""

from __future__ import annotations

import re
import typing as t
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from urllib.parse import quote, unquote, urlencode, urljoin, urlsplit

from ..errors import BadRequest
from ..http.origins import origin_of, ORIGINS, parse_origins
from ..settings import Check, FLAG, MAPPING, read_settings, TEXT, TEXTS
from .providers import Provider, PROVIDERS

NAME = re.compile(r"[A-Za-z][\w-]{0,49}")

PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")
"""A path on the same origin."""

BEGINNING = re.compile(r"/(?![/\\%])")
"""The beginning of a decoded path that does not become an address of another site, not
even where it is decoded again.
"""

URLS: t.Final = (
    *("discovery_url", "authorize_url", "access_url", "profile_url", "emails_url"),
)

SECRET_METHODS: t.Final = ("client_secret_basic", "client_secret_post")


def _is_text(value: t.Any) -> bool:
    # The environment turns digits into numbers.
    return isinstance(value, (str, int)) and not isinstance(value, bool) and value != ""


def _is_url(value: t.Any) -> bool:
    return isinstance(value, str) and origin_of(value) is not None


def _is_redirect(value: t.Any) -> bool:
    return isinstance(value, str) and bool(PATH.fullmatch(value) or _is_url(value))


CHECKS: t.Final[Mapping[str, Check]] = {
    "redirect": Check(_is_redirect, "a path, or an address that begins with https://"),
    "origins": ORIGINS,
}
"""The checks of the settings. All others are names of providers."""

PROVIDER_CHECKS: t.Final[Mapping[str, Check]] = {
    option: check.or_none()
    for option, check in {
        **dict.fromkeys(("key", "secret"), Check(_is_text, "text").secret()),
        "scope": Check(
            lambda value: TEXT.is_valid(value) or TEXTS.is_valid(value),
            "text, or a list of names",
        ),
        "params": MAPPING,
        "pkce": FLAG,
        "token_endpoint_auth_method": Check(
            lambda value: value in SECRET_METHODS, f"one of {SECRET_METHODS}"
        ),
        **dict.fromkeys(URLS, Check(_is_url, "an address that begins with https://")),
    }.items()
}
"""The checks of the settings of a provider. ``None`` stands for a default."""


@dataclass(frozen=True)
class OAuthSettings:
    """The settings of OAuth. See section 2.5 of the specification."""

    providers: Mapping[str, Provider] = field(default_factory=dict)
    """The providers by name."""

    redirect: str | None = None
    """The address that users return to: a URL, or a path of the application."""

    origins: tuple[str, ...] = ()
    """More origins that users may return to, such as ``https://app.example``."""

    @classmethod
    def parse(
        cls, value: Mapping[str, t.Any], place: str, origins: tuple[str, ...] = ()
    ) -> OAuthSettings:
        """Return the settings in a mapping.

        :param origins: The default of its ``origins``. Only ``http(s)`` origins of
            these and of the application itself count.
        :raises RuntimeError: A part of it is missing or wrong. The message names it.
        """
        options = {name: value[name] for name in CHECKS if value.get(name) is not None}
        read_settings(place, options, CHECKS, example={"redirect": "/"})

        if "origins" in options:
            origins = parse_origins(options["origins"], f"{place}['origins']")

        providers = {
            name: _provider(name, value[name], f"{place}[{name!r}]")
            for name in value
            if name not in CHECKS
        }
        return cls(
            providers, options.get("redirect"), tuple(filter(origin_of, origins))
        )

    def target(self, redirect: str) -> str | None:
        """Return the address after a login, or ``None`` if no address is configured.

        :param redirect: The value of ``?redirect=``: a path below the configured
            address, a URL of an origin that is allowed, or nothing.
        """
        base = self.redirect

        if base is None and redirect:
            raise BadRequest("There is no redirect to append to.")

        if base is None or not redirect:
            return base

        origin, decoded = origin_of(redirect), unquote(redirect)

        # A page would read a token from it before the one that is issued.
        if "#" in redirect or (origin is None and "#" in base and "=" in decoded):
            raise BadRequest("The redirect can't set anything after the '#'.")

        if origin is not None:
            is_allowed, target = origin in (*self.origins, origin_of(base)), redirect
        else:
            beginning = BEGINNING.match(unicodedata.normalize("NFKC", decoded))
            is_allowed = beginning is not None and bool(PATH.fullmatch(redirect))
            target = base.rstrip("/") + redirect

        if not is_allowed:
            raise BadRequest("The redirect leads to another site.")

        return target

    def redirect_to(self, url: str, root: str = "") -> str | None:
        """Return the ``redirect`` that leads to a page of the application below a path,
        or ``None`` if no login may end there.
        """
        page = urlsplit(url).path

        for redirect in (page, page.removeprefix(root), url):
            with suppress(BadRequest):
                target = self.target(redirect)

                if target is not None and urljoin(url, target) == url:
                    return redirect

        return None


def _provider(name: str, value: t.Any, place: str) -> Provider:
    if not NAME.fullmatch(name):
        raise RuntimeError(f"{place} is not a name for a provider.")

    example = {"key": "...", "secret": "..."}
    settings = read_settings(place, value, PROVIDER_CHECKS, example=example)
    options = {option: each for option, each in settings.items() if each is not None}

    for option in ("key", "secret"):
        if option not in options:
            raise RuntimeError(f"{place}[{option!r}] is missing.")

        options[option] = str(options[option])

    if not isinstance(scope := options.get("scope", ""), str):
        options["scope"] = " ".join(scope)

    # A token of one host must not be sent to another.
    if not options.keys().isdisjoint(URLS):
        options = {**dict.fromkeys(URLS), **options}

    provider = replace(PROVIDERS.get(name, Provider(name)), **options)
    urls = provider.authorize_url, provider.access_url, provider.profile_url

    if provider.discovery_url is None and not all(urls):
        raise RuntimeError(
            f"{place} needs 'discovery_url', or 'authorize_url', 'access_url' and"
            " 'profile_url'."
        )

    # The scope is what asks for OpenID Connect.
    if provider.discovery_url and "openid" not in provider.scope.split():
        return replace(provider, scope=f"openid {provider.scope}".strip())

    return provider


def with_answer(target: str, **answer: str) -> str:
    """Return an address with an answer after the ``#``, which no server receives."""
    separator = "" if target.endswith("#") else "#"
    return f"{target}{separator}{urlencode(answer, quote_via=quote)}"
