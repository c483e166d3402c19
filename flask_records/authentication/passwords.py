"""Passwords, hashed and verified."""

from __future__ import annotations

import contextvars
import os
import secrets
import typing as t
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property

from ..errors import BadRequest
from ..problems import TOO_LONG, UNHASHABLE
from .hashers import Argon2id, Bcrypt, format_of, Werkzeug

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from .hashers import Hasher, UpdatingHasher

MAX_LENGTH: t.Final = 1024
"""The number of characters of the longest password."""

HASHERS: t.Final = ("argon2", "werkzeug", "bcrypt")
"""The hashers with a name."""

INVALID_HASHER: t.Final = """\
AuthenticationService(hasher={hasher!r}) does not verify the hashes that it makes. A \
hasher has two methods: hash(password) returns text, and verify(password, hash) \
returns True or False.\
"""


@dataclass(frozen=True)
class Passwords:
    """Hashes passwords with a hasher, and verifies its hashes and those of Argon2,
    Werkzeug (scrypt and PBKDF2) and bcrypt.

    A process runs no more checks at once than it has processors: others wait. They run
    in threads of their own, because a thread does not return the memory that it has
    used, and a check of Argon2 takes :attr:`memory`.
    """

    memory: int = 19 * 1024
    """The memory of a check of Argon2 in KiB."""

    passes: int = 2
    """The number of passes of a check of Argon2 over the memory."""

    threads: int = 1
    """The number of threads of a check of Argon2."""

    hasher: str | Hasher = "argon2"
    """The name of the hasher of new hashes, or a hasher of the application."""

    def hash(self, password: str) -> str:
        """Return the hash of a password.

        :raises BadRequest: It is too long, or can't be hashed.
        """
        return self._hash(self._hasher.hash, password)

    def hash_again(self, password: str, hash: str) -> str:
        """Return a new hash of a password. Argon2id keeps the salt of a hash of Argon2,
        so that the tokens of the user stay valid.

        :param hash: The hash that has verified it.
        """
        hasher = self._hasher

        if isinstance(hasher, Argon2id):
            return self._hash(hasher.hash_again, password, hash)

        return self.hash(password)

    def verify(self, password: str, hash: str | bytes | None) -> bool:
        """Return whether a password has a hash. Takes as long if there is no hash.

        :param hash: The hash, or ``None`` if there is no password.
        :raises BadRequest: The password is too long.
        """
        return bool(self.verify_or_none(password, hash))

    def verify_or_none(self, password: str, hash: str | bytes | None) -> bool | None:
        """Return whether a password has a hash, or ``None`` if the hash has no format
        that is known. Takes as long then.

        :param hash: The hash, which a binary column has as bytes, or ``None`` if there
            is no password.
        :raises BadRequest: The password is too long.
        """
        _check_length(password)
        text = _text_of(hash)

        # A hasher of the application may write one of these formats in its own way.
        if text and not isinstance(self.hasher, str):
            try:
                return bool(_run(self.hasher.verify, password, text))
            except ValueError:
                pass

        format = format_of(text)

        if format is None:
            self._spend_time(password)
            return None

        return t.cast("bool", _run(self._formats[format].verify, password, text))

    def needs_update(self, hash: str) -> bool:
        """Return whether a hash is to be replaced with a new one."""
        return t.cast("UpdatingHasher", self._hasher).needs_update(hash)

    def check(self) -> None:
        """Check that the hasher can be used.

        :raises RuntimeError: A package is missing, or a hasher of the application does
            not verify its own hashes.
        """
        if isinstance(self._hasher, Bcrypt):
            self._hasher.check()

        if not isinstance(self.hasher, str):
            _check_hasher(self.hasher)

    def _hash(self, function: Callable[..., str], password: str, *args: str) -> str:
        _check_length(password)

        try:
            return t.cast("str", _run(function, password, *args))
        except ValueError as error:
            raise BadRequest(
                "This password can't be hashed. Use another one.",
                errors={"password": UNHASHABLE},
            ) from error

    def _spend_time(self, password: str) -> None:
        try:
            _run(self._hasher.verify, password, self._unknown_hash)
        except ValueError:
            # It has characters that the hasher refuses.
            return

    @cached_property
    def _formats(self) -> dict[str, UpdatingHasher]:
        return {
            "argon2": Argon2id(self.memory, self.passes, self.threads),
            "bcrypt": Bcrypt(),
            "werkzeug": Werkzeug(),
        }

    @cached_property
    def _hasher(self) -> Hasher:
        hasher = self.hasher
        return self._formats[hasher] if isinstance(hasher, str) else hasher

    @cached_property
    def _unknown_hash(self) -> str:
        return t.cast("str", _run(self._hasher.hash, secrets.token_hex(16)))


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, "passwords")


# A child process does not inherit the threads.
os.register_at_fork(after_in_child=_threads.cache_clear)


def _run(function: Callable[..., t.Any], *args: t.Any) -> t.Any:
    # A hasher of the application may use the application.
    context = contextvars.copy_context()
    return _threads().submit(context.run, function, *args).result()


def _check_length(password: str) -> None:
    if len(password) > MAX_LENGTH:
        raise BadRequest(
            f"A password has {MAX_LENGTH} characters at most.",
            errors={"password": TOO_LONG},
        )


def _text_of(hash: t.Any) -> str:
    """Return a hash as text, or an empty text without one."""
    if isinstance(hash, bytes):
        return hash.decode("ascii", "replace")

    return hash if isinstance(hash, str) else ""


def _check_hasher(hasher: Hasher) -> None:
    """Check that a hasher of the application verifies its own hashes, and no others.

    :raises RuntimeError: It does not.
    """
    try:
        hash: t.Any = hasher.hash("right")
        is_valid = (
            isinstance(hash, str)
            and hasher.verify("right", hash)
            and not hasher.verify("wrong", hash)
        )
    except Exception as error:
        raise RuntimeError(INVALID_HASHER.format(hasher=hasher)) from error

    if not is_valid:
        raise RuntimeError(INVALID_HASHER.format(hasher=hasher))
