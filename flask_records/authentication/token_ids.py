"""Identifiers of tokens, which depend on the users, the password and revocations.

An identifier is a UUID of version 8: one half of it is random, the other half depends
on the path of the users and on the password hash of the user. It reveals nothing about
the password, since the salt of the hash is secret. If tokens of the user were revoked,
it begins with the mark of the latest revocation, and is of another variant.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import typing as t

TOKEN_ID = re.compile(
    "[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89][0-9a-f]{3}-[0-9a-f]{12}"
)

HEAD: t.Final = slice(18)
"""The part of an identifier that does not depend on the users and the password."""

VARIANT: t.Final = 19
"""The place of the digit that is 9 if the identifier begins with a mark."""

MAX_MARK: t.Final = 0xFFFF_FFFF
"""The greatest mark that an identifier has room for."""


def create_token_id(users: str, hash: str | None, mark: int = 0) -> str:
    """Return the identifier of a new token.

    :param hash: The password hash of the user, or ``None`` without a password.
    :param mark: The mark of the latest revocation, or 0 if there was none.
    """
    digits = secrets.token_hex(8)

    if mark:
        digits = f"{min(mark, MAX_MARK):08x}{digits[8:]}"

    head = f"{digits[:8]}-{digits[8:12]}-8{digits[13:]}"
    return _token_id(head, "9" if mark else "8", users, hash)


def is_token_id_of(token_id: str, users: str, hash: str | None) -> bool:
    """Return whether a token is for these users, and no older than the password. The
    tokens of other servers do not depend on them, and are accepted.
    """
    if TOKEN_ID.fullmatch(token_id) is None:
        return True

    expected = _token_id(token_id[HEAD], token_id[VARIANT], users, hash)
    return hmac.compare_digest(expected, token_id)


def mark_of(token_id: str) -> int | None:
    """Return the mark of the latest revocation before a token was issued, 0 if there
    was none, or ``None`` for a token of another server.
    """
    if TOKEN_ID.fullmatch(token_id) is None:
        return None

    return int(token_id[:8], 16) if token_id[VARIANT] == "9" else 0


def _token_id(head: str, variant: str, users: str, hash: str | None) -> str:
    secret = f"{head}\0{users}\0{_unchanged_part(hash)}"
    data = secret.encode("utf-8", "surrogatepass")
    tag = hashlib.blake2b(data, digest_size=8).hexdigest()
    return f"{head}-{variant}{tag[:3]}-{tag[3:15]}"


def _unchanged_part(hash: str | None) -> str:
    """Return the part of a hash that is kept when a password is hashed again."""
    text = "" if hash is None else str(hash)
    parts = text.rsplit("$", 2)
    return parts[1] if len(parts) == 3 and text.startswith("$argon2") else text
