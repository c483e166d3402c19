"""Passwords, hashed by Argon2, and verified by Argon2, bcrypt or Werkzeug."""

from __future__ import annotations

import os
import secrets
import typing as t
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module

from werkzeug.security import check_password_hash

from ..errors import BadRequest
from ..problems import EMPTY, NO_TEXT, TOO_LONG, too_short

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_LENGTH: t.Final = 1024

BCRYPT_BYTES: t.Final = 72
"""The number of bytes of a password that bcrypt takes into account."""


def _verify_argon2(hash: str, password: str) -> bool:
    from argon2 import PasswordHasher
    from argon2.exceptions import Argon2Error

    with suppress(Argon2Error):
        # The costs are in the hash.
        return PasswordHasher().verify(hash, _encode(password))

    return False


def _verify_bcrypt(hash: str, password: str) -> bool:
    try:
        bcrypt: t.Any = import_module("bcrypt")
    except ImportError:
        raise RuntimeError(
            "Password hashes of bcrypt need the package 'bcrypt'. Install"
            " 'flask-record-services[bcrypt]'."
        ) from None

    return bool(bcrypt.checkpw(_encode(password)[:BCRYPT_BYTES], hash.encode()))


VERIFIERS: t.Final[Mapping[tuple[str, ...], Callable[[str, str], bool]]] = {
    ("$argon2",): _verify_argon2,
    ("$2a$", "$2b$", "$2y$"): _verify_bcrypt,
    ("scrypt:", "pbkdf2:"): check_password_hash,
}
"""The functions that verify passwords, by the beginnings of hashes."""


@dataclass(frozen=True)
class Passwords:
    """Hashes passwords, and verifies the hashes of several formats."""

    memory: int = 19 * 1024
    """The memory of a check of Argon2 in KiB."""

    passes: int = 2
    """The number of passes of a check of Argon2 over the memory."""

    min_length: int = 8
    """The number of characters of the shortest new password."""

    @property
    def hash_length(self) -> int:
        """The number of characters of a hash: its costs, 16 bytes of salt and 32."""
        return len(f"$argon2id$v=19$m={self.memory},t={self.passes},p=1$") + 22 + 1 + 43

    def hash(self, password: t.Any, field: str = "password") -> str:
        """Return the hash of a new password, checked."""
        from argon2 import PasswordHasher

        hasher = PasswordHasher(self.passes, self.memory, 1)
        text = self.check(password, field)
        return t.cast("str", _run(hasher.hash, _encode(text)))

    def check(self, password: t.Any, field: str = "password") -> str:
        """Return a new password, checked.

        :param field: The name of the field that has it, for errors.
        :raises BadRequest: It is not text, too short or too long.
        """
        text = text_of(password, field)

        if len(text) < self.min_length:
            problem = too_short(self.min_length, "characters")
            raise BadRequest(f"'{field}' {problem}.", errors={field: problem})

        _check_length(text, field)
        return text

    def verify(self, password: str, hash: str | bytes | None) -> bool | None:
        """Return whether a password has a hash, or ``None`` if there is no hash, or
        none of a format that is known. Takes as long then.

        :param hash: The hash, which a binary column has as bytes.
        :raises BadRequest: The password is too long.
        """
        _check_length(password, "password")
        text = hash.decode("ascii", "replace") if isinstance(hash, bytes) else hash
        # PostgreSQL fills a CHAR with spaces.
        is_valid = _verify((text or "").rstrip(), password)

        if is_valid is None:
            _verify(self._unknown_hash, password)

        return is_valid

    @cached_property
    def _unknown_hash(self) -> str:
        return self.hash(secrets.token_hex(16))


def text_of(value: t.Any, field: str) -> str:
    """Return a text that a client has sent, in a field.

    :raises BadRequest: It is not text, or empty.
    """
    if isinstance(value, str) and value:
        return value

    problem = EMPTY if value == "" else NO_TEXT
    raise BadRequest(f"'{field}' {problem}.", errors={field: problem})


def _verify(hash: str, password: str) -> bool | None:
    """Return whether a password has a hash, or ``None`` if its format is not known."""
    for beginnings, verify in VERIFIERS.items():
        if hash.startswith(beginnings):
            # The hash is malformed, or the password has characters that are refused.
            with suppress(ValueError, OverflowError, TypeError):
                return t.cast("bool", _run(verify, hash, password))

            return False

    return None


@cache
def _threads() -> ThreadPoolExecutor:
    # One check for each processor, others wait. A thread does not return the memory
    # that it has used, which is much.
    return ThreadPoolExecutor(os.cpu_count() or 1, "passwords")


# A child process does not inherit the threads.
os.register_at_fork(after_in_child=_threads.cache_clear)


def _run(function: Callable[..., t.Any], *args: t.Any) -> t.Any:
    return _threads().submit(function, *args).result()


def _check_length(password: str, field: str) -> None:
    if len(password) > MAX_LENGTH:
        raise BadRequest(
            f"'{field}' has {MAX_LENGTH} characters at most.", errors={field: TOO_LONG}
        )


def _encode(password: str) -> bytes:
    # JSON can have lone surrogates, which UTF-8 does not encode.
    return password.encode("utf-8", "surrogatepass")
