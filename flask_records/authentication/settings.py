"""The settings of an authentication service in one application."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ..http.cors import CorsSettings
from ..settings import Check, COUNT, FLAG, MAPPING, read_settings, TEXT, TEXTS
from .oauth_settings import OAuthSettings
from .passwords import Passwords
from .tokens import DAY, Tokens

if t.TYPE_CHECKING:
    from collections.abc import Collection, Mapping

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

SECRETS: t.Final = ("secret", "secrets", "allow_short_secret")
"""The settings of algorithms that sign with a secret."""

PAIR: t.Final = ("private_key", "public_key")
"""The settings of algorithms that sign with a private key."""

CHECKS: t.Final[Mapping[str, Check]] = {
    option: check.or_none()
    for option, check in {
        "secret": TEXT.secret(),
        "secrets": TEXTS.secret(),
        "allow_short_secret": FLAG,
        "algorithm": TEXT,
        **dict.fromkeys(PAIR, TEXT.secret()),
        "lifetime": Check(
            lambda value: _seconds(value) > 0,
            "a number of seconds, or like '15m', '12h', '1d'",
        ),
        "audience": TEXT,
        "issuer": TEXT,
        "strategies": TEXTS,
        "parse_strategies": TEXTS,
        "passwords": MAPPING,
        "oauth": MAPPING.secret(),
    }.items()
}
"""The checks of the settings. ``None`` stands for a default."""

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
        self._app = app
        self._name = name
        self._hasher = hasher
        settings = read_settings(
            name,
            app.config.get(name),
            CHECKS,
            example={"lifetime": "12h"},
        )
        self._options = {
            option: value for option, value in settings.items() if value is not None
        }

    def settings(self) -> Settings:
        return Settings(
            name=self._name,
            tokens=self._tokens(),
            passwords=self._passwords(self._options.get("passwords", {})),
            strategies=tuple(self._options.get("strategies", Settings.strategies)),
            parse_strategies=self._parse_strategies(),
            oauth=OAuthSettings.parse(
                self._options.get("oauth", {}),
                self._place("oauth"),
                CorsSettings.of(self._app).web_origins,
            ),
        )

    def _place(self, option: str) -> str:
        return f"{self._name}[{option!r}]"

    def _parse_strategies(self) -> tuple[str, ...] | None:
        names = self._options.get("parse_strategies")
        return None if names is None else tuple(names)

    def _passwords(self, settings: Mapping[str, t.Any]) -> Passwords:
        name = self._place("passwords")
        checks, example = dict.fromkeys(MAX_COSTS, COUNT), {"passes": 3}
        costs = read_settings(name, settings, checks, example=example)

        if costs and self._hasher != "argon2":
            raise RuntimeError(
                f"{name} is for Argon2id, and new hashes are made by another hasher."
                f" Remove it, or leave 'hasher' out of AuthenticationService()."
            )

        for option, cost in costs.items():
            if cost > MAX_COSTS[option]:
                raise RuntimeError(
                    f"{name}[{option!r}] must be at most {MAX_COSTS[option]}."
                )

        passwords = Passwords(**costs, hasher=self._hasher)

        with self._app.app_context():
            passwords.check()

        if passwords.memory < 8 * passwords.threads:
            raise RuntimeError(f"{name} needs 8 KiB of memory per thread.")

        return passwords

    def _tokens(self) -> Tokens:
        algorithm = self._options.get("algorithm", "HS256")
        signing_key, *verifying_keys = self._keys(algorithm)
        tokens = Tokens(
            signing_key=signing_key,
            verifying_keys=tuple(verifying_keys),
            algorithm=algorithm,
            lifetime=_seconds(self._options.get("lifetime", DAY)),
            audience=self._options.get("audience", Tokens.audience),
            issuer=self._options.get("issuer", Tokens.issuer),
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
            self._refuse_others(algorithm, PAIR)
            secrets = self._secrets(SECRET_LENGTHS[algorithm])
            return [secrets[0], *secrets]

        if algorithm not in KEY_ALGORITHMS:
            algorithms = ", ".join((*SECRET_LENGTHS, *KEY_ALGORITHMS))
            raise RuntimeError(
                f"{self._place('algorithm')} is {algorithm!r}. It can be: {algorithms}."
            )

        self._refuse_others(algorithm, SECRETS)
        return [self._key(option, algorithm) for option in PAIR]

    def _refuse_others(self, algorithm: str, options: Collection[str]) -> None:
        """Refuse keys that an algorithm does not use."""
        for option in options:
            if option in self._options:
                raise RuntimeError(
                    f"{self._place(option)} has no effect with the algorithm"
                    f" {algorithm}. Remove it, or set {self._place('algorithm')}."
                )

    def _secrets(self, length: int) -> list[str]:
        secret = self._options.get("secret")
        place, cure = self._place("secret"), MAKE_A_SECRET
        name = f"A secret of {self._place('secrets')}"
        older = dict.fromkeys(self._options.get("secrets", ()), name)
        is_short_allowed = self._options.get("allow_short_secret", False)

        if not secret:
            cure = f"{cure} To leave SECRET_KEY as it is, set {place} to a new one."
            secret, place = self._app.config.get("SECRET_KEY"), "SECRET_KEY"
            fallbacks = self._app.config.get("SECRET_KEY_FALLBACKS") or ()

            if not TEXTS.is_valid(fallbacks):
                raise RuntimeError("SECRET_KEY_FALLBACKS must be a list of texts.")

            older |= dict.fromkeys(fallbacks, "A secret of SECRET_KEY_FALLBACKS")

        if not secret:
            raise RuntimeError(
                f"There is no secret to sign tokens with. Set {self._place('secret')},"
                f" or SECRET_KEY. {MAKE_A_SECRET}"
            )

        for text, name in ((secret, place), *older.items()):
            _check_secret(text, name, 0 if is_short_allowed else length, cure)

        return [secret, *older]

    def _key(self, option: str, algorithm: str) -> t.Any:
        from jwt import get_algorithm_by_name, InvalidKeyError

        value, place = self._options.get(option), self._place(option)

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


def _seconds(lifetime: t.Any) -> int:
    """Return the seconds of a lifetime, or 0 if it is not valid."""
    match = LIFETIME.fullmatch(str(lifetime))
    return int(match[1]) * UNITS[match[2] or "s"] if match else 0


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

    from jwt import get_algorithm_by_name, InvalidKeyError

    try:
        get_algorithm_by_name("HS256").prepare_key(secret)
        # Older PyJWT takes a JSON Web Key for a text.
        is_other_kind = b"-----BEGIN" in data or data.lstrip().startswith(b"{")
    except InvalidKeyError:
        is_other_kind = True

    if is_other_kind:
        raise RuntimeError(f"{name} is a key of another kind. {cure}")
