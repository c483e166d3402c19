"""Identifiers of tokens, which depend on the users and the password.

An identifier is a UUID of version 8: half of it is random, the other half depends on
the path of the users and on the password hash of the user. It reveals nothing about the
password, since the salt of the hash is secret.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

TOKEN_ID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}")


def create_token_id(users: str, hash: str | None) -> str:
    """Return the identifier of a new token.

    :param hash: The password hash of the user, or ``None`` without a password.
    """
    digits = secrets.token_hex(8)
    random = f"{digits[:8]}-{digits[8:12]}-8{digits[13:]}"
    return _token_id(random, users, hash)


def is_token_id_of(token_id: str, users: str, hash: str | None) -> bool:
    """Return whether a token is for these users, and no older than the password. The
    tokens of other servers do not depend on them, and are accepted.
    """
    if TOKEN_ID.fullmatch(token_id) is None:
        return True

    expected = _token_id(token_id[:18], users, hash)
    return hmac.compare_digest(expected, token_id)


def _token_id(random: str, users: str, hash: str | None) -> str:
    secret = f"{random}\0{users}\0{_unchanged_part(hash)}"
    data = secret.encode("utf-8", "surrogatepass")
    tag = hashlib.blake2b(data, digest_size=8).hexdigest()
    return f"{random}-8{tag[:3]}-{tag[3:15]}"


def _unchanged_part(hash: str | None) -> str:
    """Return the part of a hash that is kept when a password is hashed again."""
    text = "" if hash is None else str(hash)
    parts = text.rsplit("$", 2)
    return parts[1] if len(parts) == 3 and text.startswith("$argon2") else text
