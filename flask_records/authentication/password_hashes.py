"""Password hashes for views and models, under the names that Werkzeug has for them."""

from __future__ import annotations

from ..globals import current_records


def generate_password_hash(password: str) -> str:
    """Return the hash of a password, as the first authentication service makes it. It
    replaces the function of ``werkzeug.security``.

    :param password: The password as it was typed.
    :raises BadRequest: It is too long, or can't be hashed.
    :raises RuntimeError: The app has no authentication service.
    """
    return current_records.authentication().hash_password(password)


def check_password_hash(hash: str | None, password: str) -> bool:
    """Return whether a password has a hash of any format that logins verify. It
    replaces the function of ``werkzeug.security``. Takes as long if there is no hash.

    :param hash: The hash of the user, or ``None`` without a user.
    :param password: The password as it was typed.
    :raises RuntimeError: The app has no authentication service.
    """
    return current_records.authentication().verify_password(password, hash)
