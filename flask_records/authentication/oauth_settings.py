"""The settings of OAuth providers."""

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

if t.TYPE_CHECKING:
    from collections.abc import Callable

NAME = re.compile(r"[A-Za-z][\w-]{0,49}")

OWN_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")

URLS: t.Final = ("discovery_url", "authorize_url", "access_url", "profile_url")

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

    max_conversations: int = 8
    """The number of threads of a process that may wait for one provider."""

    @classmethod
    def parse(cls, value: Mapping[str, t.Any], place: str) -> OAuthSettings:
        """Return the settings in a mapping.

        :raises RuntimeError: A part of it is missing or wrong. The message names it.
        """
        rest = dict(value)

        def take(option: str, check: Check, default: t.Any) -> t.Any:
            value = rest.pop(option, None)
            return default if value is None else check(value, f"{place}[{option!r}]")

        return cls(
            redirects=Redirects(
                take("redirect", _url_or_path, None), take("origins", _origins, ())
            ),
            base_url=take("base_url", _base_url, None),
            max_conversations=take("max_conversations", _count, cls.max_conversations),
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

    return _complete(replace(KNOWN.get(name, Provider(name)), **values), place)


def _complete(provider: Provider, place: str) -> Provider:
    urls = provider.authorize_url, provider.access_url, provider.profile_url

    if provider.discovery_url is None and not all(urls):
        raise RuntimeError(
            f"{place} is not known by name. It needs 'discovery_url', or"
            " 'authorize_url', 'access_url' and 'profile_url'."
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
        methods = ", ".join(SECRET_METHODS)
        raise RuntimeError(f"{place} is {value!r}. It can be: {methods}.")

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


def _count(value: t.Any, place: str) -> int:
    if type(value) is not int or value < 1:
        raise RuntimeError(f"{place} must be a positive integer.")

    return value


def _origins(value: t.Any, place: str) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise RuntimeError(f"{place} is not a list of addresses.")

    return tuple(_origin(url, f"{place}[{index}]") for index, url in enumerate(value))


def _origin(value: t.Any, place: str) -> str:
    origin = origin_of(value) if isinstance(value, str) else None

    if origin is None or "*" in origin:
        raise RuntimeError(f"{place} is not an address that begins with https://.")

    return origin


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
