"""What an application says of its OAuth providers."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace

from .providers import KNOWN
from .providers import Provider
from .redirects import origin_of
from .redirects import Redirects

NAME = re.compile(r"[A-Za-z][\w-]{0,49}")

OWN_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")

URLS: t.Final = ("discovery_url", "authorize_url", "access_url", "profile_url")

SECRET_METHODS: t.Final = ("client_secret_basic", "client_secret_post")

MAX_CONVERSATIONS: t.Final = 8
"""The number of threads of a process that may wait for one provider, by default."""

NO_ENDPOINTS = """\
{place} is not known by name. It needs 'discovery_url', or 'authorize_url', \
'access_url' and 'profile_url'.\
"""


@dataclass(frozen=True)
class OAuthSettings:
    """The providers, and where users come back to. See section 2.5 of the
    specification.
    """

    providers: Mapping[str, Provider] = field(default_factory=dict)
    """The providers by name."""

    redirects: Redirects = field(default_factory=Redirects)
    """Where users may be sent."""

    base_url: str | None = None
    """The address of the application, if it is not to be taken from the request."""

    max_conversations: int = MAX_CONVERSATIONS
    """The number of threads of a process that may wait for one provider."""

    @classmethod
    def parse(cls, value: Mapping[str, t.Any], place: str) -> OAuthSettings:
        """Return what a setting says.

        :param value: The setting.
        :param place: Its name, for messages.
        :raises RuntimeError: A part of it is missing or wrong. The message names it.
        """
        rest = dict(value)
        redirect = _url_or_path(rest.pop("redirect", None), f"{place}['redirect']")
        origins = _origins(rest.pop("origins", None), f"{place}['origins']")
        base_url = _base_url(rest.pop("base_url", None), f"{place}['base_url']")
        most = _count(
            rest.pop("max_conversations", None), f"{place}['max_conversations']"
        )
        providers = {
            name: _provider(name, said, f"{place}[{name!r}]")
            for name, said in rest.items()
        }
        return cls(providers, Redirects(redirect, origins), base_url, most)


def _provider(name: str, said: t.Any, place: str) -> Provider:
    if not NAME.fullmatch(name):
        raise RuntimeError(f"{place} is not a name for a provider.")

    if not isinstance(said, Mapping):
        raise RuntimeError(f"{place} is not a mapping with 'key' and 'secret'.")

    options = dict(said)
    texts: dict[str, t.Any] = {}

    for option in ("key", "secret"):
        texts[option] = _text(options.pop(option, None), f"{place}[{option!r}]")

    if "scope" in options:
        texts["scope"] = _scope(options.pop("scope"), f"{place}['scope']")

    for option in URLS:
        if option in options:
            texts[option] = _url(options.pop(option), f"{place}[{option!r}]")

    if "params" in options:
        texts["params"] = _params(options.pop("params"), f"{place}['params']")

    if "token_endpoint_auth_method" in options:
        method = options.pop("token_endpoint_auth_method")
        texts["token_endpoint_auth_method"] = _method(method, place)

    for option in options:
        raise RuntimeError(f"{place}[{option!r}] is not a setting.")

    return _complete(replace(KNOWN.get(name, Provider(name)), **texts), place)


def _complete(provider: Provider, place: str) -> Provider:
    urls = provider.authorize_url, provider.access_url, provider.profile_url

    if provider.discovery_url is None and not all(urls):
        raise RuntimeError(NO_ENDPOINTS.format(place=place))

    # OpenID Connect is what the scope asks for.
    if provider.discovery_url and "openid" not in provider.scope.split():
        return replace(provider, scope=f"openid {provider.scope}".strip())

    return provider


def _text(value: t.Any, place: str) -> str:
    # The environment makes numbers of digits.
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


def _method(value: t.Any, place: str) -> str:
    if value not in SECRET_METHODS:
        raise RuntimeError(
            f"{place}['token_endpoint_auth_method'] is {value!r}. It can be:"
            f" {', '.join(SECRET_METHODS)}."
        )

    return t.cast("str", value)


def _url(value: t.Any, place: str) -> str | None:
    if value is None:
        return None

    if not isinstance(value, str) or origin_of(value) is None:
        raise RuntimeError(f"{place} is not an address that begins with https://.")

    return value


def _base_url(value: t.Any, place: str) -> str | None:
    url = _url(value, place)

    if url is not None and ("?" in url or "#" in url):
        raise RuntimeError(f"{place} has more than an origin and a path.")

    return url


def _url_or_path(value: t.Any, place: str) -> str | None:
    if isinstance(value, str) and OWN_PATH.fullmatch(value):
        return value

    return _url(value, place)


def _count(value: t.Any, place: str) -> int:
    if value is None:
        return MAX_CONVERSATIONS

    if type(value) is not int or value < 1:
        raise RuntimeError(f"{place} must be a positive integer.")

    return value


def _origins(value: t.Any, place: str) -> tuple[str, ...]:
    if value is None:
        return ()

    if not isinstance(value, (list, tuple)):
        raise RuntimeError(f"{place} is not a list of addresses.")

    return tuple(_origin(one, f"{place}[{index}]") for index, one in enumerate(value))


def _origin(value: t.Any, place: str) -> str:
    origin = origin_of(value) if isinstance(value, str) else None

    if origin is None or "*" in origin:
        raise RuntimeError(f"{place} is not an address that begins with https://.")

    return origin
