"""Logins with a user name and a password."""

from __future__ import annotations

import typing as t
import unicodedata
from contextlib import contextmanager
from contextvars import ContextVar

from flask import current_app

from ..errors import NotAuthenticated
from ..globals import current_records

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ..typing import Id, Record
    from .service import AuthenticationService
    from .users import Users

Hashes: t.TypeAlias = "dict[str, str | None]"
"""Password hashes, by the identifiers of their users as text."""

UNKNOWN_FORMAT: t.Final = """\
User %r of '%s' can't log in, because the format of the password hash is not known: \
it is not of Argon2, bcrypt or Werkzeug. For others, pass an object that verifies \
them: AuthenticationService(hasher=...).\
"""

_hashes: ContextVar[Hashes | None] = ContextVar("records_hashes", default=None)


@contextmanager
def verified_hashes() -> Iterator[Hashes]:
    """Collect the password hashes that logins verify in the block."""
    hashes: Hashes = {}
    token = _hashes.set(hashes)

    try:
        yield hashes
    finally:
        _hashes.reset(token)


def log_in(service: AuthenticationService, username: str, password: str) -> Record:
    """Return the user with a name and a password. Takes as long if there is none.

    :raises NotAuthenticated: There is no such user, or the password is wrong.
    :raises TooManyRequests: There were too many attempts for this user.
    """
    users, passwords = service.lookup, service.settings.passwords
    user = users.find(username) or {}
    path, account = service.as_service.path, _account(users, username, user)
    limits = current_records.limits

    if limits is not None:
        limits.count_login(path, account)

    hash: t.Any = user.get(users.password)

    is_valid = passwords.verify_or_none(password, hash)

    if is_valid is None and hash:
        current_app.logger.warning(UNKNOWN_FORMAT, user.get(users.id), users.path)

    if not is_valid or not password:
        raise NotAuthenticated("Invalid login")

    if limits is not None:
        limits.remember_login(path, account)

    # The application reads the bytes of a binary column in its own way.
    if service.rehash and isinstance(hash, str) and passwords.needs_update(hash):
        hash = users.replace_hash(user, passwords.hash_again(password, hash))

    return _load(users, user[users.id], hash)


def _load(users: Users, id: Id, hash: str) -> Record:
    """Return a user as clients see them, and note the hash that was verified."""
    user, stored = users.load(id)
    hashes = _hashes.get()

    if hashes is not None:
        # Where `get` returns no hash, there is none to compare tokens with.
        has_hash = users.password in stored or users.password in users.credentials(id)
        hashes[str(id)] = hash if has_hash else None

    return user


def _account(users: Users, username: str, user: Record) -> str:
    """Return the key of the attempts for a user, however the name is spelt."""
    if user:
        return f"id {user[users.id]}"

    return f"name {unicodedata.normalize('NFKC', username).casefold().strip()}"
