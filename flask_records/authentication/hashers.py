"""The formats of password hashes."""

from __future__ import annotations

import binascii
import typing as t
from base64 import b64decode
from functools import cached_property
from importlib import import_module

from werkzeug.security import check_password_hash, generate_password_hash

if t.TYPE_CHECKING:
    from argon2 import PasswordHasher

ROUNDS: t.Final = 12
"""The cost of new hashes of bcrypt, which is that of the package."""

MAX_BYTES: t.Final = 72
"""The number of bytes of a password that bcrypt takes into account."""


class Hasher(t.Protocol):
    """Makes and verifies password hashes. passlib's ``CryptContext`` and pwdlib's
    ``PasswordHash`` are hashers.
    """

    def hash(self, password: str, /) -> str:
        """Return a new hash of a password.

        :raises ValueError: The password can't be hashed.
        """

    def verify(self, password: str, hash: str, /) -> bool:
        """Return whether a password has a hash.

        :raises ValueError: The hash has another format.
        """


class UpdatingHasher(Hasher, t.Protocol):
    """A hasher whose older hashes can be replaced, as those of passlib."""

    def needs_update(self, hash: str, /) -> bool:
        """Return whether a hash is to be replaced with a new one."""


class Argon2id:
    """Hashes passwords with Argon2id, and verifies all types of Argon2.

    :param memory: The memory in KiB.
    :param passes: The number of passes over the memory.
    :param threads: The number of threads.
    """

    def __init__(self, memory: int, passes: int, threads: int) -> None:
        self._costs = passes, memory, threads

    def hash(self, password: str, salt: bytes | None = None) -> str:
        """Return a new hash of a password.

        :param salt: The salt. A random one by default.
        """
        return self._hasher.hash(_encoded(password), salt=salt)

    def hash_again(self, password: str, hash: str) -> str:
        """Return a new hash of a password, with the salt of an earlier hash if that is
        of Argon2. Tokens depend on the salt, and stay valid.
        """
        salt = _salt_of(hash)
        # A salt of another length would be replaced again at each login.
        is_usable = len(salt) == self._hasher.salt_len
        return self.hash(password, salt if is_usable else None)

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

    def check(self) -> None:
        """Check that the package is installed.

        :raises RuntimeError: It is not.
        """
        try:
            import_module("bcrypt")
        except ImportError:
            raise RuntimeError(
                "AuthenticationService(hasher='bcrypt') needs the package 'bcrypt'."
                " Install 'flask-record-services[bcrypt]'."
            ) from None

    def hash(self, password: str) -> str:
        """Return a new hash of a password.

        :raises ValueError: The hash would not depend on all of it.
        """
        import bcrypt

        secret = _encoded(password)

        if len(secret) > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES} bytes")

        return bcrypt.hashpw(secret, bcrypt.gensalt(ROUNDS)).decode()

    def verify(self, password: str, hash: str) -> bool:
        """Return whether a password has a hash."""
        try:
            import bcrypt
        except ImportError:
            raise RuntimeError(
                "A user has a password hash of bcrypt, and the package 'bcrypt' is not"
                " installed. Install 'flask-record-services[bcrypt]'."
            ) from None

        try:
            return bcrypt.checkpw(_encoded(password)[:MAX_BYTES], hash.encode())
        except ValueError:
            return False

    def needs_update(self, hash: str) -> bool:
        """Return whether a hash has another format, or lower costs than new ones."""
        costs = hash[4:6]
        is_bcrypt = hash.startswith("$2b$") and costs.isdecimal()
        return not is_bcrypt or int(costs) < ROUNDS


class Werkzeug:
    """Hashes passwords as Werkzeug does, and verifies scrypt and PBKDF2."""

    def hash(self, password: str) -> str:
        """Return a new hash of a password, by Werkzeug's default method."""
        return generate_password_hash(password)

    def verify(self, password: str, hash: str) -> bool:
        """Return whether a password has a hash."""
        try:
            return check_password_hash(hash, password)
        except (ValueError, OverflowError, TypeError):
            return False

    def needs_update(self, hash: str) -> bool:
        """Return whether a hash has another method than new ones."""
        return hash.split("$")[0] != self._method

    @cached_property
    def _method(self) -> str:
        return generate_password_hash("").split("$")[0]


PREFIXES: t.Final[dict[str | tuple[str, ...], str]] = {
    "$argon2": "argon2",
    ("$2a$", "$2b$", "$2y$"): "bcrypt",
    ("scrypt:", "pbkdf2:"): "werkzeug",
}
"""The names of formats, by the prefixes of their hashes."""


def format_of(hash: str) -> str | None:
    """Return the name of the format of a hash, or ``None`` if it has another one."""
    names = (name for start, name in PREFIXES.items() if hash.startswith(start))
    return next(names, None)


def _salt_of(hash: str) -> bytes:
    """Return the salt of a hash of Argon2, or nothing."""
    if not hash.startswith("$argon2"):
        return b""

    try:
        return b64decode(f"{hash.split('$')[-2]}==")
    except binascii.Error:
        return b""


def _encoded(password: str) -> bytes:
    # JSON can have lone surrogates, which UTF-8 does not encode.
    return password.encode("utf-8", "surrogatepass")
