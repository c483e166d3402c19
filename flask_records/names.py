"""Lists of names, and of functions, as options take them."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable

if t.TYPE_CHECKING:
    from collections.abc import Callable


def names_of(option: str, value: t.Any) -> tuple[str, ...]:
    """Return the names that an option lists, those of a set in alphabetical order.

    :param option: The name of the option, for the error.
    :raises TypeError: The value is not a list of names.
    """
    if isinstance(value, str):
        raise TypeError(
            f"'{option}' takes a list of names, not one text: {option}=[{value!r}]."
        )

    names = tuple(value) if isinstance(value, Iterable) else (value,)

    if not isinstance(value, Iterable) or not all(isinstance(n, str) for n in names):
        raise TypeError(
            f"'{option}' takes a list of names, such as {option}=['name'], not"
            f" {value!r}."
        )

    # The order of a set differs between processes, and so would generated files.
    return tuple(sorted(names)) if isinstance(value, (set, frozenset)) else names


def functions_of(option: str, value: t.Any) -> tuple[Callable[..., t.Any], ...]:
    """Return the functions that an option lists.

    :param option: The name of the option, for the error.
    :raises TypeError: The value is not a list of functions.
    """
    if callable(value):
        raise TypeError(
            f"'{option}' takes a list of functions, not one function:"
            f" {option}=[{getattr(value, '__name__', 'function')}]."
        )

    functions = tuple(value) if isinstance(value, Iterable) else (None,)

    if not all(callable(function) for function in functions):
        raise TypeError(f"'{option}' takes a list of functions, not {value!r}.")

    return functions
