"""The settings of an authentication service in one application."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

from .oauth_settings import OAuthSettings
from .passwords import Passwords
from .tokens import DAY
from .tokens import Tokens

if t.TYPE_CHECKING:
    from collections.abc import Collection

    from flask import Flask

SECRET_LENGTHS: t.Final = {"HS256": 32, "HS384": 48, "HS512": 64}
"""The algorithms that sign with a secret, and how many bytes it has at least."""

KEY_ALGORITHMS: t.Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "ES256K", "EdDSA"),
)
"""The algorithms that sign with a private key."""

LIFETIME = re.compile(r"(\d{1,9}) ?(s|m|h|d|w)?")

UNITS: t.Final = {"s": 1, "m": 60, "h": 60 * 60, "d": DAY, "w": 7 * DAY}
"""How many seconds a unit of a lifetime has."""

MOST: t.Final = {"memory": 2**31, "passes": 2**31, "threads": 2**16}
"""The highest costs of a password check that Argon2 takes."""

HOW_TO_MAKE_ONE = """\
Make one with: python -c 'import secrets; print(secrets.token_hex(32))', and keep it \
out of the source code.\
"""


@dataclass(frozen=True)
class Settings:
    """What one application says of an authentication service."""

    name: str
    """The name of the setting in the application's configuration."""

    tokens: Tokens
    """Makes and verifies tokens."""

    passwords: Passwords
    """Hashes and verifies passwords."""

    strategies: tuple[str, ...] = ("jwt", "local")
    """The strategies that a token can be got with."""

    parse_strategies: tuple[str, ...] | None = None
    """The strategies that are read from a request, or ``None`` for all that can be."""

    oauth: OAuthSettings = field(default_factory=OAuthSettings)
    """The OAuth providers."""

    @classmethod
    def of(cls, app: Flask, name: str) -> Settings:
        """Return the settings of an application.

        :param app: The application.
        :param name: The name of the setting.
        :raises RuntimeError: A setting is missing or wrong. The message tells which,
            and the cure.
        """
        return _Reader(app, name).settings()

    def check_strategies(self, names: Collection[str]) -> None:
        """Check that the strategies of the settings exist.

        :param names: The names of the strategies that there are.
        :raises RuntimeError: One does not.
        """
        for option in ("strategies", "parse_strategies"):
            for name in getattr(self, option) or ():
                if name not in names:
                    raise RuntimeError(
                        f"{self.name}['{option}'] names '{name}', which is not a"
                        f" strategy. There is: {', '.join(names)}."
                    )


class _Reader:
    """Reads settings, and refuses those that are not understood."""

    def __init__(self, app: Flask, name: str) -> None:
        value = app.config.get(name)
        self._app = app
        self._name = name
        self._rest: dict[str, t.Any] = {}

        if isinstance(value, Mapping):
            self._rest = dict(value)
        elif value is not None:
            raise RuntimeError(f"{name} is not a mapping, such as {{'secret': ...}}.")

    def settings(self) -> Settings:
        passwords = self._take("passwords", Mapping, {})
        settings = Settings(
            name=self._name,
            tokens=self._tokens(),
            passwords=self._passwords(passwords),
            strategies=self._names("strategies", ("jwt", "local")),
            parse_strategies=self._names("parse_strategies", None),
            oauth=OAuthSettings.parse(
                self._take("oauth", Mapping, {}), f"{self._name}['oauth']"
            ),
        )

        for name in self._rest:
            raise RuntimeError(f"{self._name} has '{name}', which is not a setting.")

        return settings

    def _take(self, name: str, kind: type[t.Any], default: t.Any = None) -> t.Any:
        value = self._rest.pop(name, None)

        if value is None:
            return default

        if not isinstance(value, kind):
            raise RuntimeError(
                f"{self._name}[{name!r}] is a {type(value).__name__}, not a"
                f" {kind.__name__}."
            )

        return value

    def _names(self, name: str, default: t.Any) -> t.Any:
        value = self._rest.pop(name, None)
        return default if value is None else _texts(value, f"{self._name}[{name!r}]")

    def _passwords(self, options: Mapping[str, t.Any]) -> Passwords:
        known = ("memory", "passes", "threads")

        for name, value in options.items():
            place = f"{self._name}['passwords'][{name!r}]"

            if name not in known:
                raise RuntimeError(f"{place} is not a setting: {', '.join(known)} are.")

            if type(value) is not int or value < 1:
                raise RuntimeError(f"{place} is not a whole number from 1.")

        if options.get("memory", 19 * 1024) < 8 * options.get("threads", 1):
            raise RuntimeError(
                f"{self._name}['passwords'] needs 8 KiB of memory a thread."
            )

        for name, most in MOST.items():
            if options.get(name, 1) > most:
                raise RuntimeError(
                    f"{self._name}['passwords'][{name!r}] is {most} at most."
                )

        return Passwords(**options)

    def _tokens(self) -> Tokens:
        algorithm = self._take("algorithm", str, "HS256")
        names = ("audience", "issuer")
        options = {name: self._take(name, str) for name in names}

        for name, value in options.items():
            if value == "":
                raise RuntimeError(f"{self._name}[{name!r}] is empty.")

        given = {name: value for name, value in options.items() if value is not None}
        signing_key, *others = self._keys(algorithm)
        tokens = Tokens(
            signing_key=signing_key,
            verifying_keys=tuple(others),
            algorithm=algorithm,
            lifetime=self._lifetime(),
            **given,
        )

        try:
            tokens.verify_token(tokens.create_token("nobody", token_id="none")[0])
        except Exception as error:
            # A library is asked what it makes of the keys, and says so in many ways.
            raise RuntimeError(
                f"{self._name} can't verify what it signs: 'private_key' and"
                " 'public_key' are not a pair."
            ) from error

        return tokens

    def _keys(self, algorithm: str) -> list[t.Any]:
        """Return the key that signs, then those that verify."""
        if algorithm in SECRET_LENGTHS:
            secrets = self._secrets(SECRET_LENGTHS[algorithm])
            return [secrets[0], *secrets]

        if algorithm not in KEY_ALGORITHMS:
            known = ", ".join((*SECRET_LENGTHS, *KEY_ALGORITHMS))
            raise RuntimeError(
                f"{self._name}['algorithm'] is {algorithm!r}. It can be: {known}."
            )

        return [self._key("private_key", algorithm), self._key("public_key", algorithm)]

    def _secrets(self, length: int) -> list[str]:
        secret = self._take("secret", str)
        older = _texts(self._rest.pop("secrets", ()), f"{self._name}['secrets']")
        is_short_allowed = self._take("allow_short_secret", bool, False)

        if not secret:
            secret = self._app.config.get("SECRET_KEY")
            fallbacks = self._app.config.get("SECRET_KEY_FALLBACKS") or ()
            older = (*older, *_texts(fallbacks, "SECRET_KEY_FALLBACKS"))

        if not secret:
            raise RuntimeError(
                f"There is no secret to sign tokens with. Set {self._name}['secret'],"
                f" or SECRET_KEY. {HOW_TO_MAKE_ONE}"
            )

        for one in (secret, *older):
            if not isinstance(one, (str, bytes)):
                raise RuntimeError(f"A secret of {self._name} is not text.")

            if len(_bytes(one)) < length and not is_short_allowed:
                raise RuntimeError(
                    f"A secret of {self._name} is shorter than {length} bytes."
                    f" {HOW_TO_MAKE_ONE}"
                )

            _check_secret(one, self._name)

        return [secret, *older]

    def _key(self, name: str, algorithm: str) -> t.Any:
        from jwt import get_algorithm_by_name
        from jwt import InvalidKeyError

        value = self._take(name, str)
        place = f"{self._name}[{name!r}]"

        if not value:
            raise RuntimeError(f"{algorithm} needs {place}: the path of a PEM file.")

        try:
            text = value if "-----BEGIN" in value else self._file(value)
            return get_algorithm_by_name(algorithm).prepare_key(text)
        except NotImplementedError as error:
            raise RuntimeError(
                f"{algorithm} needs 'flask-record-services[keys]'."
            ) from error
        except (OSError, ValueError, TypeError, InvalidKeyError) as error:
            raise RuntimeError(
                f"{place} is not a PEM key of {algorithm}, nor the path of one."
            ) from error

    def _file(self, path: str) -> str:
        return (Path(self._app.instance_path) / path).read_text(encoding="ascii")

    def _lifetime(self) -> int:
        value = self._rest.pop("lifetime", None)

        if value is None:
            return DAY

        found = LIFETIME.fullmatch(str(value))
        seconds = int(found[1]) * UNITS[found[2] or "s"] if found else 0

        if not seconds:
            raise RuntimeError(
                f"{self._name}['lifetime'] is {value!r}. It is a number of seconds, or"
                " like '15m', '12h', '1d'."
            )

        return seconds


def _bytes(secret: str | bytes) -> bytes:
    return secret if isinstance(secret, bytes) else secret.encode()


def _texts(value: t.Any, place: str) -> tuple[t.Any, ...]:
    if not isinstance(value, (list, tuple)) or not all(
        isinstance(one, (str, bytes)) for one in value
    ):
        raise RuntimeError(f"{place} is not a list of texts.")

    return tuple(value)


def _check_secret(secret: str | bytes, name: str) -> None:
    from jwt import get_algorithm_by_name
    from jwt import InvalidKeyError

    refusal = RuntimeError(
        f"A secret of {name} is a key of another kind. {HOW_TO_MAKE_ONE}"
    )

    if b"-----BEGIN" in _bytes(secret):
        raise refusal

    try:
        get_algorithm_by_name("HS256").prepare_key(secret)
    except InvalidKeyError as error:
        raise refusal from error
