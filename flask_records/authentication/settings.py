"""The settings of an authentication service in one application."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass
from pathlib import Path

from ..http.cors import CorsSettings
from ..settings import (
    Check,
    COUNT,
    FLAG,
    MAPPING,
    read_settings,
    TEXT,
    TEXTS,
)
from .limits import FailedLogins
from .oauth_settings import OAuthSettings
from .passwords import Passwords
from .tokens import DAY, Tokens

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from flask import Flask

    from ..typing import Record

MIN_SECRET: t.Final = 32
"""The number of bytes of the shortest secret."""

KEY_ALGORITHMS: t.Final = ("RS256", "ES256", "EdDSA")
"""The algorithms that sign with a private key, by which its kind is known."""

OTHER_KEY = re.compile(rb"\s*(\{|ssh-|ecdsa-)|.*-----BEGIN", re.DOTALL)
"""Keys of other kinds, which are not secrets."""

LIFETIME_TEXT = re.compile(r"(\d{1,9}) ?(s|m|h|d|w)?")

UNITS: t.Final = {"s": 1, "m": 60, "h": 60 * 60, "d": DAY, "w": 7 * DAY}
"""The seconds of each unit of a lifetime."""

SHORT_LIFETIME: t.Final = 15 * 60
"""The seconds that an access token is valid if refresh tokens renew it."""

MAKE_A_SECRET: t.Final = """\
Make one with: python -c 'import secrets; print(secrets.token_hex(32))', and keep it \
out of the source code.\
"""


def _seconds(lifetime: t.Any) -> int:
    """Return the seconds of a lifetime, or 0 if it is not valid."""
    match = LIFETIME_TEXT.fullmatch(str(lifetime))
    return int(match[1]) * UNITS[match[2] or "s"] if match else 0


LIFETIME: t.Final = Check(
    lambda value: _seconds(value) > 0, "a number of seconds, or like '15m', '12h', '1d'"
)

NAME: t.Final = Check(lambda value: isinstance(value, str) and value != "", "text")

CHECKS: t.Final[Mapping[str, Check]] = {
    option: check.or_none()
    for option, check in {
        "secret": TEXT.secret(),
        "secrets": TEXTS.secret(),
        "allow_short_secret": FLAG,
        "private_key": TEXT.secret(),
        **dict.fromkeys(("lifetime", "refresh_lifetime"), LIFETIME),
        "audience": NAME,
        "issuer": NAME,
        "strategies": TEXTS,
        "passwords": MAPPING,
        "failed_logins": FLAG,
        "oauth": MAPPING.secret(),
    }.items()
}
"""The checks of the settings. ``None`` stands for a default."""

MEMORY: t.Final = Check(
    lambda value: COUNT.is_valid(value) and value >= 8, "an integer of 8 or more"
)

PASSWORDS: t.Final = {"memory": MEMORY, "passes": COUNT, "min_length": COUNT}
"""The checks of the costs of a password, and of its length."""


@dataclass(frozen=True)
class AuthenticationSettings:
    """The settings of one application."""

    name: str
    """The name of the setting in ``app.config``."""

    tokens: Tokens
    """Makes and verifies tokens."""

    passwords: Passwords
    """Hashes and verifies passwords."""

    strategies: tuple[str, ...]
    """The strategies that clients can get a token with."""

    oauth: OAuthSettings
    """The OAuth providers."""

    failed_logins: FailedLogins | None
    """The logins that have failed, or ``None`` if they are not limited here."""

    refresh_lifetime: int
    """The number of seconds that a refresh token is valid, or 0 without any."""

    @classmethod
    def of(
        cls,
        app: Flask,
        name: str,
        *,
        refresh: bool = False,
    ) -> AuthenticationSettings:
        """Return the settings of an application.

        :param refresh: ``True`` if refresh tokens renew access tokens, which are valid
            for a short time then.
        :raises RuntimeError: A setting is wrong. The message has the cure.
        """
        value, example = app.config.get(name), {"lifetime": "12h"}
        settings = read_settings(name, value, CHECKS, example=example)
        options = {o: value for o, value in settings.items() if value is not None}

        if "refresh_lifetime" in options and not refresh:
            raise RuntimeError(
                f"{name}['refresh_lifetime'] needs AuthenticationService(refresh=...)."
            )

        options.setdefault("lifetime", SHORT_LIFETIME if refresh else DAY)
        options.setdefault("refresh_lifetime", 30 * DAY)
        origins = CorsSettings.of(app).origins
        strategies = tuple(options.get("strategies", ("jwt", "local")))
        has_limits = options.get("failed_logins", True)
        passwords = read_settings(
            f"{name}['passwords']", options.get("passwords"), PASSWORDS, example={}
        )
        return cls(
            name=name,
            tokens=_tokens(app, name, options),
            passwords=Passwords(**passwords),
            failed_logins=FailedLogins() if has_limits else None,
            strategies=(*strategies, "refresh") if refresh else strategies,
            refresh_lifetime=_seconds(options["refresh_lifetime"]) if refresh else 0,
            oauth=OAuthSettings.parse(
                options.get("oauth", {}), f"{name}['oauth']", origins
            ),
        )


def _tokens(app: Flask, name: str, options: Record) -> Tokens:
    claims: Record = {o: options[o] for o in ("audience", "issuer") if o in options}
    claims["lifetime"] = _seconds(options["lifetime"])

    if not options.get("private_key"):
        secrets = _secrets(app, name, options)
        return Tokens(secrets[0], secrets, **claims)

    if options.get("secrets"):
        raise RuntimeError(
            f"{name}['secrets'] verify nothing beside 'private_key': a new key ends"
            " all tokens."
        )

    key, algorithm = _private_key(app, name, options["private_key"])
    return Tokens(key, (key.public_key(),), algorithm, **claims)


def _private_key(app: Flask, name: str, value: str) -> tuple[t.Any, str]:
    """Return a private key, and its algorithm.

    :param value: The path of a PEM file, or its text.
    """
    from jwt import get_algorithm_by_name, InvalidKeyError

    place = f"{name}['private_key']"

    try:
        file = Path(app.instance_path) / value
        text = value if "-----BEGIN" in value else file.read_text(encoding="ascii")
    except (OSError, ValueError):
        text = ""

    for algorithm in KEY_ALGORITHMS:
        try:
            signer = get_algorithm_by_name(algorithm)
            key = signer.prepare_key(text)
            # A public key does not sign, nor does one of another algorithm.
            signer.sign(b"", key)
        except NotImplementedError as error:
            message = f"{place} needs 'flask-record-services[keys]'."
            raise RuntimeError(message) from error
        except (ValueError, TypeError, AttributeError, InvalidKeyError):
            continue

        return key, algorithm

    raise RuntimeError(
        f"{place} is not a private PEM key of {', '.join(KEY_ALGORITHMS)}, nor the path"
        " of one."
    )


def _secrets(app: Flask, name: str, options: Record) -> tuple[str | bytes, ...]:
    """Return the secret that signs, then older ones."""
    secret, place, cure = options.get("secret"), f"{name}['secret']", MAKE_A_SECRET
    older: t.Any = ()

    if not secret:
        cure = f"{cure} To leave SECRET_KEY as it is, set {place} to a new one."
        secret, place = app.config.get("SECRET_KEY"), "SECRET_KEY"
        older = app.config.get("SECRET_KEY_FALLBACKS") or ()

    if not secret:
        raise RuntimeError(
            f"There is no secret to sign tokens with. Set {name}['secret'], or"
            f" SECRET_KEY. {MAKE_A_SECRET}"
        )

    if not TEXTS.is_valid(older):
        raise RuntimeError("SECRET_KEY_FALLBACKS must be a list of texts.")

    secrets = (secret, *options.get("secrets", ()), *older)
    length = 0 if options.get("allow_short_secret") else MIN_SECRET

    for number, each in enumerate(secrets):
        if not isinstance(each, (str, bytes)):
            raise RuntimeError(f"{place} is not text.")

        where = f"An older secret of {place}" if number else place
        data = each if isinstance(each, bytes) else each.encode()

        if len(data) < length:
            message = f"{where} is shorter than {length} bytes, and signs tokens."
            raise RuntimeError(f"{message} {cure}")

        if OTHER_KEY.match(data):
            raise RuntimeError(f"{where} is a key of another kind. {cure}")

    return secrets
