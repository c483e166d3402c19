"""Fields of profiles, checked as providers send them."""

from __future__ import annotations

import re
import typing as t
import unicodedata

from ..http.origins import origin_of

BLANK = re.compile("[\u115f\u1160\u2800\u3164\uffa0]")
"""Letters and symbols that look like a space."""

EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]+")

MAX_EMAIL: t.Final = 254

MAX_NAME: t.Final = 255

MAX_IMAGE: t.Final = 2000

CONTROLS: t.Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""The categories of controls, of halves of characters and of ends of lines."""

QUOTES = re.compile(r"[\s\"'<>`\\]")
"""Characters that end an attribute of HTML."""


def checked_email(value: t.Any) -> str | None:
    """Return an email, or ``None`` if it is not valid. With a space or an invisible
    character it would look like that of another user.
    """
    if not isinstance(value, str) or not is_visible(value):
        return None

    # Applications store it in a form without variants of the same letter.
    for form in (value, unicodedata.normalize("NFKC", value).casefold()):
        if len(form) > MAX_EMAIL or not EMAIL.fullmatch(form):
            return None

    return value


def checked_name(value: t.Any) -> str | None:
    """Return a name, or ``None`` if it is not text of one line."""
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_NAME:
        return None

    has_controls = any(unicodedata.category(one) in CONTROLS for one in value)
    return None if has_controls else value


def checked_image(value: t.Any) -> str | None:
    """Return the URL of an image, or ``None`` if it is not one that begins with
    ``https://`` or ``http://``. One without a scheme gets the former.
    """
    if not isinstance(value, str):
        return None

    url = f"https:{value}" if value.startswith("//") else value

    if len(url) > MAX_IMAGE or not url.isprintable() or QUOTES.search(url):
        return None

    scheme, _, rest = url.partition(":")
    return f"{scheme.lower()}:{rest}" if origin_of(url) else None


def is_visible(text: str) -> bool:
    """Return whether a text is not blank, and has no invisible characters."""
    return bool(text.strip()) and text.isprintable() and not BLANK.search(text)
