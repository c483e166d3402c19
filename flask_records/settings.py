"""Options of programs and settings of applications, checked."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

if t.TYPE_CHECKING:
    from collections.abc import Callable


NAMES: t.Final = (
    "RECORDS_AUTHENTICATION",
    "RECORDS_BOUNDS",
    "RECORDS_CORS",
    "RECORDS_DRIVERS",
    "RECORDS_ERRORS",
    "RECORDS_EXPLORER",
    "RECORDS_LIMITS",
    "RECORDS_OPENAPI",
    "RECORDS_REALTIME",
)
"""The names of the settings in ``app.config``."""


class Check(t.NamedTuple):
    """The check of a value."""

    is_valid: Callable[[t.Any], bool]
    """Returns whether a value is valid."""

    requirement: str
    """A phrase that follows "must be" in the message of an error."""

    is_secret: bool = False
    """``True`` if errors do not show the value."""

    def or_none(self) -> Check:
        """Return the check of a value that may be ``None``."""
        return self._replace(is_valid=lambda each: each is None or self.is_valid(each))

    def secret(self) -> Check:
        """Return the check of a value that errors do not show."""
        return self._replace(is_secret=True)


COUNT: t.Final = Check(
    lambda value: type(value) is int and value > 0, "a positive integer"
)

FLAG: t.Final = Check(lambda value: isinstance(value, bool), "True or False")

TEXT: t.Final = Check(lambda value: isinstance(value, str), "text")

MAPPING: t.Final = Check(lambda value: isinstance(value, Mapping), "a mapping")

TEXTS: t.Final = Check(
    lambda value: (
        isinstance(value, (list, tuple))
        and all(isinstance(text, (str, bytes)) for text in value)
    ),
    "a list of texts",
)


def misspelled_settings(config: Iterable[str]) -> list[str]:
    """Return the keys that are almost names of settings: misspelled, or with small
    letters, of a variable with one underscore in place of two.
    """
    others = [k for k in config if k.startswith("RECORDS_") and k not in NAMES]
    return [
        key
        for key in others
        if not key.isupper()
        # The setting of another authentication service may begin with the name.
        or (not key.startswith(NAMES) and get_close_matches(key, NAMES, cutoff=0.9))
    ]


def read_settings(
    place: str,
    settings: t.Any,
    checks: Mapping[str, Check],
    *,
    example: Mapping[str, t.Any],
) -> dict[str, t.Any]:
    """Return checked settings by key, none for ``None``.

    :param place: The name of the settings, for errors, as is the example.
    :raises RuntimeError: A key has no check, or a value is not valid.
    """
    if settings is None:
        return {}

    if not isinstance(settings, Mapping):
        raise RuntimeError(f"{place} must be a mapping such as {example!r}.")

    for key, value in settings.items():
        if key not in checks:
            keys = ", ".join(map(repr, checks))
            raise RuntimeError(f"{place} has no key {key!r}. The keys are {keys}.")

        check = checks[key]

        if not check.is_valid(value):
            end = "" if check.is_secret else f", not {value!r}"
            requirement = f"{check.requirement}{end}"
            raise RuntimeError(f"{place}[{key!r}] must be {requirement}.")

    return dict(settings)


def names_of(option: str, value: t.Any) -> tuple[str, ...]:
    """Return the names that an option lists, a set in alphabetical order.

    :raises TypeError: The value is not a list of names.
    """
    is_one = isinstance(value, str) or not isinstance(value, Iterable)
    names = (value,) if is_one else tuple(value)
    are_texts = all(isinstance(name, str) for name in names)

    if is_one or isinstance(value, Mapping) or not are_texts:
        example = [*names] if are_texts else ["name"]
        raise TypeError(
            f"'{option}' takes a list of names, such as {option}={example!r}, not"
            f" {value!r}."
        )

    # The order of a set differs between processes, and so would generated files.
    return tuple(sorted(names)) if isinstance(value, (set, frozenset)) else names


def mapping_of(
    option: str, value: t.Any, example: str, class_: type[t.Any] = object
) -> Mapping[str, t.Any]:
    """Return what an option has by name: nothing for ``None``.

    :raises TypeError: The value is not a mapping of names to objects of the class.
    """
    if value is None:
        return {}

    if isinstance(value, Mapping) and all(
        isinstance(name, str) and isinstance(each, class_)
        for name, each in value.items()
    ):
        return value

    raise TypeError(f"'{option}' maps names: {option}={example}, not {value!r}.")
