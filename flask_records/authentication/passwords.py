"""Password hashes."""

from __future__ import annotations

import binascii
import os
import typing as t
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from functools import cached_property
from functools import partial

from werkzeug.security import check_password_hash

from ..errors import BadRequest

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from argon2 import PasswordHasher

MAX_LENGTH: t.Final = 1024
"""The number of characters of the longest password."""


@dataclass(frozen=True)
class Passwords:
    """Hashes passwords with Argon2id, and verifies hashes of Argon2, Werkzeug (scrypt
    and PBKDF2) and bcrypt.

    Each check takes :attr:`memory`, and a process runs no more checks at once than it
    has processors: others wait. They run in threads of their own, because a thread
    does not return the memory that it has used.
    """

    memory: int = 19 * 1024
    """The memory of a check in KiB."""

    passes: int = 2
    """The number of passes of a check over the memory."""

    threads: int = 1
    """The number of threads of a check."""

    def hash(self, password: str) -> str:
        """Return the hash of a password.

        :raises BadRequest: It is too long.
        """
        return t.cast("str", _run(self._hasher.hash, _encoded(password)))

    def hash_again(self, password: str, hash: str) -> str:
        """Return a new hash of a password. It keeps the salt of a hash of Argon2, so
        that the tokens of the user stay valid.

        :param hash: The hash that has verified it.
        """
        salt = _salt_of(hash)
        # A salt of another length would be upgraded again at each login.
        is_usable = len(salt) == self._hasher.salt_len
        hasher = partial(self._hasher.hash, salt=salt if is_usable else None)
        return t.cast("str", _run(hasher, _encoded(password)))

    def verify(self, password: str, hash: str | None) -> bool:
        """Return whether a password has a hash. Takes as long if there is no hash.

        :param hash: The hash, or ``None`` if there is no password.
        :raises BadRequest: The password is too long.
        """
        secret = _encoded(password)
        text = hash or ""
        checks = (CHECKS[start] for start in CHECKS if text.startswith(start))
        check = next(checks, None)

        if check is None:
            _run(self._verify_argon2, secret, self._unknown_hash)
            return False

        return t.cast("bool", _run(check, self, secret, text))

    def needs_update(self, hash: str) -> bool:
        """Return whether a hash has another type or other costs than new ones."""
        try:
            return self._hasher.check_needs_rehash(hash)
        except ValueError:
            return True

    def _verify_argon2(self, secret: bytes, hash: str) -> bool:
        from argon2.exceptions import Argon2Error

        try:
            return self._hasher.verify(hash, secret)
        except (Argon2Error, ValueError):
            return False

    def _verify_bcrypt(self, secret: bytes, hash: str) -> bool:
        try:
            import bcrypt
        except ImportError:
            raise RuntimeError(
                "A user has a password hash of bcrypt, and the package 'bcrypt' is not"
                " installed. Install 'flask-record-services[bcrypt]'."
            ) from None

        try:
            # The hash depends on no more of the password.
            return bcrypt.checkpw(secret[:72], hash.encode())
        except ValueError:
            return False

    def _verify_werkzeug(self, secret: bytes, hash: str) -> bool:
        try:
            return check_password_hash(hash, secret.decode("utf-8", "surrogatepass"))
        except (ValueError, OverflowError, TypeError):
            return False

    @cached_property
    def _hasher(self) -> PasswordHasher:
        from argon2 import PasswordHasher

        return PasswordHasher(
            time_cost=self.passes, memory_cost=self.memory, parallelism=self.threads
        )

    @cached_property
    def _unknown_hash(self) -> str:
        return t.cast("str", _run(self._hasher.hash, os.urandom(16)))


CHECKS: dict[str | tuple[str, ...], Callable[[Passwords, bytes, str], bool]] = {
    "$argon2": Passwords._verify_argon2,
    ("$2a$", "$2b$", "$2y$"): Passwords._verify_bcrypt,
    ("scrypt:", "pbkdf2:"): Passwords._verify_werkzeug,
}
"""The checks of hashes, by their prefixes."""


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, "passwords")


# A child process does not inherit the threads.
os.register_at_fork(after_in_child=_threads.cache_clear)


def _run(function: Callable[..., t.Any], *args: t.Any) -> t.Any:
    return _threads().submit(function, *args).result()


def _salt_of(hash: str) -> bytes:
    """Return the salt of a hash of Argon2, or nothing."""
    if not hash.startswith("$argon2"):
        return b""

    try:
        return b64decode(f"{hash.split('$')[-2]}==")
    except binascii.Error:
        return b""


def _encoded(password: str) -> bytes:
    if len(password) > MAX_LENGTH:
        raise BadRequest(
            f"A password has {MAX_LENGTH} characters at most.",
            errors={"password": "is too long"},
        )

    # JSON can have lone surrogates, which UTF-8 does not encode.
    return password.encode("utf-8", "surrogatepass")
