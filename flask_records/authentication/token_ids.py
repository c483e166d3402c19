"""Identifiers of tokens, which hold for the users and the password they were made for.

An identifier is a UUID of version 8: half of it is random, the other half depends on
the path of the users and on the password hash of the user. It tells nothing about the
password, since the salt of the hash is secret.
"""

from __future__ import annotations

import hmac
import re
import secrets

TOKEN_ID = re.compile(
    "([0-9a-f]{8})-([0-9a-f]{4})-8([0-9a-f]{3})-8[0-9a-f]{3}-[0-9a-f]{12}"
)
"""An identifier, with the parts that are random."""


def create_token_id(users: str, hash: str | None) -> str:
    """Return the identifier of a new token.

    :param users: The path of the service of the users.
    :param hash: The password hash of the user, or ``None`` without a password.
    """
    return _token_id(secrets.token_hex(8)[1:], users, hash)


def is_token_id_of(token_id: str, users: str, hash: str | None) -> bool:
    """Return whether a token is for these users, and no older than the password. The
    tokens of other servers do not tell, and are accepted.

    :param token_id: The identifier of the token.
    :param users: The path of the service of the users.
    :param hash: The password hash that the user has now.
    """
    match = TOKEN_ID.fullmatch(token_id)

    if match is None:
        return True

    expected = _token_id("".join(match.groups()), users, hash)
    return hmac.compare_digest(expected, token_id)


def _token_id(random: str, users: str, hash: str | None) -> str:
    message = f"{random}:{users}".encode()
    tag = hmac.digest(_unchanged_part(hash).encode(), message, "sha256").hex()
    return f"{random[:8]}-{random[8:12]}-8{random[12:]}-8{tag[:3]}-{tag[3:15]}"


def _unchanged_part(hash: str | None) -> str:
    """Return the part of a hash that stays when the same password is hashed again."""
    text = "" if hash is None else str(hash)
    parts = text.split("$")
    return parts[-2] if len(parts) > 3 and parts[1].startswith("argon2") else text
