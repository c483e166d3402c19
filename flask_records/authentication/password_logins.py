"""Logins with a user name and a password."""

from __future__ import annotations

import typing as t
import unicodedata
from contextlib import contextmanager
from contextvars import ContextVar

from ..errors import NotAuthenticated
from ..globals import current_records

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ..typing import Record
    from .passwords import Passwords
    from .users import Users

Hashes: t.TypeAlias = "dict[str, str | None]"
"""Password hashes, by the identifiers of their users as text."""

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


class PasswordLogins:
    """Logins of the users of an authentication service."""

    def __init__(self, users: Users, custom_hashing: bool) -> None:
        self._users = users
        self._custom_hashing = custom_hashing

    def log_in(
        self, path: str, username: str, password: str, passwords: Passwords
    ) -> Record:
        """Return the user with a name and a password. Takes as long if there is none.

        :raises NotAuthenticated: There is no such user, or the password is wrong.
        :raises TooManyRequests: There were too many attempts for this user.
        """
        user = self._users.find(username) or {}
        limits, account = current_records.limits, self._account(username, user)

        if limits is not None:
            limits.count_login(path, account)

        hash: t.Any = user.get(self._users.password)

        if not passwords.verify(password, hash) or not password:
            raise NotAuthenticated("Invalid login")

        if limits is not None:
            limits.remember_login(path, account)

        if not self._custom_hashing and passwords.needs_update(hash):
            new = passwords.hash_again(password, hash)
            hash = self._users.replace_hash(user, new)

        return self._load(user, hash)

    def _load(self, record: Record, hash: str) -> Record:
        """Return a user as clients see them, and note the hash that was verified."""
        id = record[self._users.id]
        user, stored = self._users.load(id)
        hashes = _hashes.get()

        if hashes is not None:
            # Where `get` returns no hash, there is none to compare tokens with.
            name, credentials = self._users.password, self._users.credentials
            has_hash = name in stored or name in credentials(id)
            hashes[str(id)] = hash if has_hash else None

        return user

    def _account(self, username: str, user: Record) -> str:
        """Return the key that attempts are counted by: one a user, however the name is
        spelt.
        """
        if user:
            return f"id {user[self._users.id]}"

        return f"name {unicodedata.normalize('NFKC', username).casefold().strip()}"
