"""Passwords, hashed and verified by Argon2, bcrypt or Werkzeug."""

from __future__ import annotations

import os
import secrets
import typing as t
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module

from werkzeug import security

from ..errors import BadRequest
from ..problems import TOO_LONG, UNHASHABLE

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from argon2 import PasswordHasher

MAX_LENGTH: t.Final = 1024
"""The number of characters of the longest password."""

PREFIXES: t.Final[dict[str | tuple[str, ...], str]] = {
    "$argon2": "argon2",
    ("$2a$", "$2b$", "$2y$"): "bcrypt",
    ("scrypt:", "pbkdf2:"): "werkzeug",
}
"""The names of hashers, by the beginnings of their hashes."""

ROUNDS: t.Final = 12
"""The cost of new hashes of bcrypt, which is that of the package."""

MAX_BYTES: t.Final = 72
"""The number of bytes of a password that bcrypt takes into account."""


class Argon2id:
    """Hashes passwords with Argon2id, and verifies all types of Argon2.

    :param memory: The memory in KiB.
    :param passes: The number of passes over the memory.
    :param threads: The number of threads.
    """

    def __init__(self, memory: int, passes: int, threads: int) -> None:
        self._costs = passes, memory, threads

    def hash(self, password: str) -> str:
        """Return a new hash of a password."""
        return self._hasher.hash(_encoded(password))

    def verify(self, password: str, hash: str) -> bool:
        """Return whether a password has a hash."""
        from argon2.exceptions import Argon2Error

        try:
            return self._hasher.verify(hash, _encoded(password))
        except (Argon2Error, ValueError):
            return False

    def needs_update(self, hash: str) -> bool:
        """Return whether a hash has another type or other costs than new ones."""
        try:
            return self._hasher.check_needs_rehash(hash)
        except ValueError:
            return True

    @cached_property
    def _hasher(self) -> PasswordHasher:
        from argon2 import PasswordHasher

        return PasswordHasher(*self._costs)


class Bcrypt:
    """Hashes passwords with bcrypt."""

    def hash(self, password: str) -> str:
        """Return a new hash of a password.

        :raises ValueError: The hash would not depend on all of it.
        """
        secret, bcrypt = _encoded(password), self._package

        if len(secret) > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES} bytes")

        return t.cast("str", bcrypt.hashpw(secret, bcrypt.gensalt(ROUNDS)).decode())

    def verify(self, password: str, hash: str) -> bool:
        """Return whether a password has a hash."""
        bcrypt = self._package

        try:
            return bool(bcrypt.checkpw(_encoded(password)[:MAX_BYTES], hash.encode()))
        except ValueError:
            return False

    def needs_update(self, hash: str) -> bool:
        """Return whether a hash has another format, or lower costs than new ones."""
        costs = hash[4:6]
        is_bcrypt = hash.startswith("$2b$") and costs.isdecimal()
        return not is_bcrypt or int(costs) < ROUNDS

    @property
    def _package(self) -> t.Any:
        try:
            return import_module("bcrypt")
        except ImportError:
            raise RuntimeError(
                "Password hashes of bcrypt need the package 'bcrypt'. Install"
                " 'flask-record-services[bcrypt]'."
            ) from None


class Werkzeug:
    """Hashes passwords as Werkzeug does, and verifies scrypt and PBKDF2."""

    def hash(self, password: str) -> str:
        """Return a new hash of a password, by Werkzeug's default method."""
        return security.generate_password_hash(password)

    def verify(self, password: str, hash: str) -> bool:
        """Return whether a password has a hash."""
        try:
            return security.check_password_hash(hash, password)
        except (ValueError, OverflowError, TypeError):
            return False

    def needs_update(self, hash: str) -> bool:
        """Return whether a hash has another method than new ones."""
        return hash.partition("$")[0] != self._method

    @cached_property
    def _method(self) -> str:
        return self.hash("").partition("$")[0]


Hasher: t.TypeAlias = Argon2id | Bcrypt | Werkzeug
"""Makes hashes of one format, and verifies them."""


@dataclass(frozen=True)
class Passwords:
    """Hashes passwords with a hasher, and verifies the hashes of all of them.

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

    hasher: str = "argon2"
    """The name of the hasher of new hashes."""

    def hash(self, password: str) -> str:
        """Return the hash of a password.

        :raises BadRequest: It is too long, or can't be hashed.
        """
        _check_length(password)

        try:
            return t.cast("str", _run(self._hasher.hash, password))
        except ValueError as error:
            raise BadRequest(
                "This password can't be hashed. Use another one.",
                errors={"password": UNHASHABLE},
            ) from error

    def verify(self, password: str, hash: str | bytes | None) -> bool | None:
        """Return whether a password has a hash, or ``None`` if there is no hash, or
        none of a format that is known. Takes as long then.

        :param hash: The hash, which a binary column has as bytes.
        :raises BadRequest: The password is too long.
        """
        _check_length(password)
        text = hash.decode("ascii", "replace") if isinstance(hash, bytes) else hash

        for prefix, name in PREFIXES.items():
            if text and text.startswith(prefix):
                return bool(_run(self._hashers[name].verify, password, text))

        # Some hashers refuse characters.
        with suppress(ValueError):
            _run(self._hasher.verify, password, self._unknown_hash)

        return None

    def needs_update(self, hash: str) -> bool:
        """Return whether a hash is to be replaced with a new one."""
        return self._hasher.needs_update(hash)

    def check(self) -> None:
        """Check that there is the hasher.

        :raises RuntimeError: It is not known, or its package is not installed.
        """
        if self.hasher not in self._hashers:
            names = ", ".join(map(repr, self._hashers))
            raise RuntimeError(
                f"AuthenticationService(hasher={self.hasher!r}) is not known. It can be"
                f" {names}. For others, write a strategy of your own."
            )

        if self.hasher == "bcrypt":
            self._hasher.verify("", "")

    @cached_property
    def _hashers(self) -> dict[str, Hasher]:
        return {
            "argon2": Argon2id(self.memory, self.passes, self.threads),
            "bcrypt": Bcrypt(),
            "werkzeug": Werkzeug(),
        }

    @property
    def _hasher(self) -> Hasher:
        return self._hashers[self.hasher]

    @cached_property
    def _unknown_hash(self) -> str:
        return t.cast("str", _run(self._hasher.hash, secrets.token_hex(16)))


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, "passwords")


# A child process does not inherit the threads.
os.register_at_fork(after_in_child=_threads.cache_clear)


def _run(function: Callable[..., t.Any], *args: t.Any) -> t.Any:
    return _threads().submit(function, *args).result()


def _check_length(password: str) -> None:
    if len(password) > MAX_LENGTH:
        raise BadRequest(
            f"A password has {MAX_LENGTH} characters at most.",
            errors={"password": TOO_LONG},
        )


def _encoded(password: str) -> bytes:
    # JSON can have lone surrogates, which UTF-8 does not encode.
    return password.encode("utf-8", "surrogatepass")
