"""The settings of OAuth providers."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from ..http.origins import origin_of
from .providers import KNOWN, Provider
from .redirects import Redirects

if t.TYPE_CHECKING:
    from collections.abc import Callable

NAME = re.compile(r"[A-Za-z][\w-]{0,49}")

OWN_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")

MOVABLE_URLS: t.Final = ("discovery_url", "authorize_url", "access_url", "profile_url")
"""The addresses that a provider has on hosts of its own."""

URLS: t.Final = (*MOVABLE_URLS, "emails_url")

SECRET_METHODS: t.Final = ("client_secret_basic", "client_secret_post")


@dataclass(frozen=True)
class OAuthSettings:
    """The settings of OAuth. See section 2.5 of the specification."""

    providers: Mapping[str, Provider] = field(default_factory=dict)
    """The providers by name."""

    redirects: Redirects = field(default_factory=Redirects)
    """The addresses that users may be sent to."""

    base_url: str | None = None
    """The address of the application, if it is not taken from the request."""

    @classmethod
    def parse(
        cls, value: Mapping[str, t.Any], place: str, origins: tuple[str, ...] = ()
    ) -> OAuthSettings:
        """Return the settings in a mapping.

        :param origins: The default of its ``origins``.
        :raises RuntimeError: A part of it is missing or wrong. The message names it.
        """
        rest = dict(value)

        def take(option: str, check: Check, default: t.Any) -> t.Any:
            value = rest.pop(option, None)
            return default if value is None else check(value, f"{place}[{option!r}]")

        return cls(
            redirects=Redirects(
                take("redirect", _url_or_path, None), take("origins", _origins, origins)
            ),
            base_url=take("base_url", _base_url, None),
            # All others are names of providers.
            providers={
                name: _provider(name, options, f"{place}[{name!r}]")
                for name, options in rest.items()
            },
        )


def _provider(name: str, options: t.Any, place: str) -> Provider:
    if not NAME.fullmatch(name):
        raise RuntimeError(f"{place} is not a name for a provider.")

    if not isinstance(options, Mapping):
        raise RuntimeError(f"{place} is not a mapping with 'key' and 'secret'.")

    values: dict[str, t.Any] = {}

    for option, value in {"key": None, "secret": None, **options}.items():
        if option not in OPTIONS:
            raise RuntimeError(f"{place}[{option!r}] is not a setting.")

        values[option] = OPTIONS[option](value, f"{place}[{option!r}]")

    known = _without_other_hosts(KNOWN.get(name, Provider(name)), values)
    return _complete(replace(known, **{**_emails_url(known, values), **values}), place)


def _without_other_hosts(known: Provider, values: Mapping[str, t.Any]) -> Provider:
    """Return a known provider without its addresses, if the settings have one on
    another host: a token of the one must not be sent to the other.
    """
    own = {_host_of(getattr(known, name)) for name in MOVABLE_URLS}
    hosts = {_host_of(values.get(name)) for name in MOVABLE_URLS}
    return known if hosts <= own | {None} else replace(known, **NO_URLS)


def _host_of(url: str | None) -> str | None:
    return None if url is None else urlsplit(url).hostname


def _emails_url(known: Provider, values: Mapping[str, t.Any]) -> dict[str, str]:
    """Return the address of emails beside a profile that is elsewhere."""
    url = values.get("profile_url")

    if url is None or known.emails_path is None:
        return {}

    parts = urlsplit(url)
    path = parts.path.rstrip("/") + known.emails_path
    return {"emails_url": parts._replace(path=path).geturl()}


def _complete(provider: Provider, place: str) -> Provider:
    urls = provider.authorize_url, provider.access_url, provider.profile_url

    if provider.discovery_url is None and not all(urls):
        is_known = provider.name in KNOWN
        reason = (
            "has an address on another host" if is_known else "is not known by name"
        )
        raise RuntimeError(
            f"{place} {reason}. It needs 'discovery_url', or 'authorize_url',"
            " 'access_url' and 'profile_url'."
        )

    # The scope is what asks for OpenID Connect.
    if provider.discovery_url and "openid" not in provider.scope.split():
        return replace(provider, scope=f"openid {provider.scope}".strip())

    return provider


def _text(value: t.Any, place: str) -> str:
    # The environment turns digits into numbers.
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)

    if not isinstance(value, str) or not value:
        raise RuntimeError(f"{place} is missing, or not text.")

    return value


def _scope(value: t.Any, place: str) -> str:
    names = value.split() if isinstance(value, str) else value

    if not isinstance(names, (list, tuple)) or not all(
        isinstance(name, str) for name in names
    ):
        raise RuntimeError(f"{place} is neither text nor a list of names.")

    return " ".join(names)


def _params(value: t.Any, place: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise RuntimeError(f"{place} is not a mapping, such as {{'prompt': 'login'}}.")

    return {str(name): str(text) for name, text in value.items()}


def _method(value: t.Any, place: str) -> t.Any:
    if value not in SECRET_METHODS:
        choices = ", ".join(SECRET_METHODS)
        raise RuntimeError(f"{place} is {value!r}. It can be: {choices}.")

    return value


def _optional_url(value: t.Any, place: str) -> str | None:
    return None if value is None else _url(value, place)


def _url(value: t.Any, place: str) -> str:
    if not isinstance(value, str) or origin_of(value) is None:
        raise RuntimeError(f"{place} is not an address that begins with https://.")

    return value


def _base_url(value: t.Any, place: str) -> str:
    url = _url(value, place)

    if "?" in url or "#" in url:
        raise RuntimeError(f"{place} has more than an origin and a path.")

    return url


def _url_or_path(value: t.Any, place: str) -> str:
    is_path = isinstance(value, str) and OWN_PATH.fullmatch(value)
    return t.cast("str", value) if is_path else _url(value, place)


def _origins(value: t.Any, place: str) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise RuntimeError(f"{place} is not a list of addresses.")

    return tuple(_origin(url, f"{place}[{index}]") for index, url in enumerate(value))


def _origin(value: t.Any, place: str) -> str:
    origin = origin_of(value) if isinstance(value, str) else None

    if origin is None or "*" in origin:
        raise RuntimeError(f"{place} is not an address that begins with https://.")

    return origin


NO_URLS: t.Final[Mapping[str, t.Any]] = dict.fromkeys(URLS)
"""A provider whose addresses are all in the settings."""

Check: t.TypeAlias = "Callable[[t.Any, str], t.Any]"
"""Returns the value of an option, by its place, or raises :class:`RuntimeError`."""

OPTIONS: t.Final[Mapping[str, Check]] = {
    "key": _text,
    "secret": _text,
    "scope": _scope,
    "params": _params,
    "token_endpoint_auth_method": _method,
    **dict.fromkeys(URLS, _optional_url),
}
"""The options of a provider."""
