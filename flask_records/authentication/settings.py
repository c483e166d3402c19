"""The settings of an authentication service in one application."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

from ..http.cors import CorsSettings
from .oauth_settings import OAuthSettings
from .passwords import Passwords
from .tokens import DAY
from .tokens import Tokens

if t.TYPE_CHECKING:
    from collections.abc import Collection

    from flask import Flask

    from .hashers import Hasher

SECRET_LENGTHS: t.Final = {"HS256": 32, "HS384": 48, "HS512": 64}
"""The algorithms that sign with a secret, and its least number of bytes."""

KEY_ALGORITHMS: t.Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "ES256K", "EdDSA"),
)
"""The algorithms that sign with a private key."""

RANDOM_TEXT = re.compile(rb"(?!ssh-|ecdsa-)[\w+/=-]+")
"""Secrets of hexadecimal digits or Base64, which are no keys of another kind."""

LIFETIME = re.compile(r"(\d{1,9}) ?(s|m|h|d|w)?")

UNITS: t.Final = {"s": 1, "m": 60, "h": 60 * 60, "d": DAY, "w": 7 * DAY}
"""The seconds of each unit of a lifetime."""

MAX_COSTS: t.Final = {"memory": 2**31, "passes": 2**31, "threads": 2**16}
"""The highest costs of a password check that Argon2 accepts."""

MAKE_A_SECRET: t.Final = """\
Make one with: python -c 'import secrets; print(secrets.token_hex(32))', and keep it \
out of the source code.\
"""


@dataclass(frozen=True)
class Settings:
    """The settings of one application."""

    name: str
    """The name of the setting in ``app.config``."""

    tokens: Tokens
    """Makes and verifies tokens."""

    passwords: Passwords
    """Hashes and verifies passwords."""

    strategies: tuple[str, ...] = ("jwt", "local")
    """The strategies that clients can get a token with."""

    parse_strategies: tuple[str, ...] | None = None
    """The strategies that are read from requests, or ``None`` for all that can be."""

    oauth: OAuthSettings = field(default_factory=OAuthSettings)
    """The OAuth providers."""

    @classmethod
    def of(cls, app: Flask, name: str, hasher: str | Hasher = "argon2") -> Settings:
        """Return the settings of an application.

        :param hasher: Makes the hashes of passwords.
        :raises RuntimeError: A setting is missing or wrong. The message has the cure.
        """
        return _Reader(app, name, hasher).settings()

    def check_strategies(self, names: Collection[str]) -> None:
        """Check that the strategies of the settings exist.

        :raises RuntimeError: One does not.
        """
        for option in ("strategies", "parse_strategies"):
            for name in getattr(self, option) or ():
                if name not in names:
                    raise RuntimeError(
                        f"{self.name}['{option}'] names '{name}', which is not a"
                        f" strategy. The strategies are: {', '.join(names)}."
                    )


class _Reader:
    """Reads settings, and refuses unknown ones."""

    def __init__(self, app: Flask, name: str, hasher: str | Hasher) -> None:
        options = app.config.get(name)
        self._app = app
        self._name = name
        self._hasher = hasher

        if not isinstance(options, (Mapping, type(None))):
            raise RuntimeError(f"{name} is not a mapping, such as {{'secret': ...}}.")

        self._options = dict(options or {})

    def settings(self) -> Settings:
        oauth = self._take("oauth", Mapping, {})
        settings = Settings(
            name=self._name,
            tokens=self._tokens(),
            passwords=self._passwords(self._take("passwords", Mapping, {})),
            strategies=self._names("strategies", Settings.strategies),
            parse_strategies=self._names("parse_strategies", None),
            oauth=OAuthSettings.parse(
                oauth, self._place("oauth"), CorsSettings.of(self._app).web_origins
            ),
        )

        for name in self._options:
            raise RuntimeError(f"{self._place(name)} is not a setting.")

        return settings

    def _place(self, option: str) -> str:
        return f"{self._name}[{option!r}]"

    def _take(self, option: str, kind: type[t.Any], default: t.Any = None) -> t.Any:
        value = self._options.pop(option, None)

        if value is None:
            return default

        if not isinstance(value, kind):
            raise RuntimeError(
                f"{self._place(option)} is a {type(value).__name__}, not a"
                f" {kind.__name__}."
            )

        return value

    def _names(self, option: str, default: t.Any) -> t.Any:
        value = self._options.pop(option, None)
        return default if value is None else _texts(value, self._place(option))

    def _passwords(self, costs: Mapping[str, t.Any]) -> Passwords:
        name = self._place("passwords")

        if costs and self._hasher != "argon2":
            raise RuntimeError(
                f"{name} is for Argon2id, and new hashes are made by another hasher."
                f" Remove it, or leave 'hasher' out of AuthenticationService()."
            )

        for option, cost in costs.items():
            place = f"{name}[{option!r}]"

            if option not in MAX_COSTS:
                options = ", ".join(MAX_COSTS)
                raise RuntimeError(f"{place} is not a setting: {options} are.")

            if type(cost) is not int or cost < 1:
                raise RuntimeError(f"{place} must be a positive integer.")

            if cost > MAX_COSTS[option]:
                raise RuntimeError(f"{place} must be at most {MAX_COSTS[option]}.")

        passwords = Passwords(**costs, hasher=self._hasher)

        with self._app.app_context():
            passwords.check()

        if passwords.memory < 8 * passwords.threads:
            raise RuntimeError(f"{name} needs 8 KiB of memory per thread.")

        return passwords

    def _tokens(self) -> Tokens:
        algorithm = self._take("algorithm", str, "HS256")
        signing_key, *verifying_keys = self._keys(algorithm)
        tokens = Tokens(
            signing_key=signing_key,
            verifying_keys=tuple(verifying_keys),
            algorithm=algorithm,
            lifetime=self._lifetime(),
            audience=self._take("audience", str, Tokens.audience),
            issuer=self._take("issuer", str, Tokens.issuer),
        )

        for option in ("audience", "issuer"):
            if not getattr(tokens, option):
                raise RuntimeError(f"{self._place(option)} is empty.")

        if algorithm in KEY_ALGORITHMS:
            self._check_pair(tokens)

        return tokens

    def _check_pair(self, tokens: Tokens) -> None:
        try:
            tokens.verify_token(tokens.create_token("nobody", token_id="none")[0])
        except Exception as error:
            # Libraries refuse keys in many ways.
            raise RuntimeError(
                f"{self._name} can't verify what it signs: 'private_key' and"
                " 'public_key' are not a pair."
            ) from error

    def _keys(self, algorithm: str) -> list[t.Any]:
        """Return the key that signs, then those that verify."""
        if algorithm in SECRET_LENGTHS:
            secrets = self._secrets(SECRET_LENGTHS[algorithm])
            return [secrets[0], *secrets]

        if algorithm not in KEY_ALGORITHMS:
            algorithms = ", ".join((*SECRET_LENGTHS, *KEY_ALGORITHMS))
            raise RuntimeError(
                f"{self._place('algorithm')} is {algorithm!r}. It can be: {algorithms}."
            )

        return [self._key("private_key", algorithm), self._key("public_key", algorithm)]

    def _secrets(self, length: int) -> list[str]:
        secret = self._take("secret", str)
        place, cure = self._place("secret"), MAKE_A_SECRET
        name = f"A secret of {self._place('secrets')}"
        older = dict.fromkeys(self._names("secrets", ()), name)
        is_short_allowed = self._take("allow_short_secret", bool, False)

        if not secret:
            cure = f"{cure} To leave SECRET_KEY as it is, set {place} to a new one."
            secret, place = self._app.config.get("SECRET_KEY"), "SECRET_KEY"
            fallbacks = self._app.config.get("SECRET_KEY_FALLBACKS") or ()
            texts = _texts(fallbacks, "SECRET_KEY_FALLBACKS")
            older |= dict.fromkeys(texts, "A secret of SECRET_KEY_FALLBACKS")

        if not secret:
            raise RuntimeError(
                f"There is no secret to sign tokens with. Set {self._place('secret')},"
                f" or SECRET_KEY. {MAKE_A_SECRET}"
            )

        for text, name in ((secret, place), *older.items()):
            _check_secret(text, name, 0 if is_short_allowed else length, cure)

        return [secret, *older]

    def _key(self, option: str, algorithm: str) -> t.Any:
        from jwt import get_algorithm_by_name
        from jwt import InvalidKeyError

        value, place = self._take(option, str), self._place(option)

        if not value:
            raise RuntimeError(f"{algorithm} needs {place}: the path of a PEM file.")

        try:
            file = Path(self._app.instance_path) / value
            text = value if "-----BEGIN" in value else file.read_text(encoding="ascii")
            return get_algorithm_by_name(algorithm).prepare_key(text)
        except NotImplementedError as error:
            message = f"{algorithm} needs 'flask-record-services[keys]'."
            raise RuntimeError(message) from error
        except (OSError, ValueError, TypeError, InvalidKeyError) as error:
            raise RuntimeError(
                f"{place} is not a PEM key of {algorithm}, nor the path of one."
            ) from error

    def _lifetime(self) -> int:
        value = self._options.pop("lifetime", None)
        match = LIFETIME.fullmatch(str(DAY if value is None else value))
        seconds = int(match[1]) * UNITS[match[2] or "s"] if match else 0

        if not seconds:
            raise RuntimeError(
                f"{self._place('lifetime')} is {value!r}. It is a number of seconds, or"
                " like '15m', '12h', '1d'."
            )

        return seconds


def _texts(value: t.Any, place: str) -> tuple[t.Any, ...]:
    if not isinstance(value, (list, tuple)) or not all(
        isinstance(text, (str, bytes)) for text in value
    ):
        raise RuntimeError(f"{place} is not a list of texts.")

    return tuple(value)


def _check_secret(secret: t.Any, name: str, length: int, cure: str) -> None:
    """Check a secret.

    :param name: The name of the setting that it comes from.
    :param cure: The rest of the message of an error.
    :raises RuntimeError: It is too short, or no secret.
    """
    if not isinstance(secret, (str, bytes)):
        raise RuntimeError(f"{name} is not text.")

    data = secret if isinstance(secret, bytes) else secret.encode()

    if len(data) < length:
        raise RuntimeError(
            f"{name} is shorter than {length} bytes, and signs tokens. {cure}"
        )

    # PyJWT, which knows all kinds of keys, takes long to import.
    if RANDOM_TEXT.fullmatch(data):
        return

    from jwt import get_algorithm_by_name
    from jwt import InvalidKeyError

    try:
        get_algorithm_by_name("HS256").prepare_key(secret)
        # Older PyJWT takes a JSON Web Key for a text.
        is_other_kind = b"-----BEGIN" in data or data.lstrip().startswith(b"{")
    except InvalidKeyError:
        is_other_kind = True

    if is_other_kind:
        raise RuntimeError(f"{name} is a key of another kind. {cure}")
