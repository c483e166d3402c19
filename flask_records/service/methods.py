"""The names of the methods of a service."""

from __future__ import annotations

import typing as t

from ..names import names_of
from ..signals import METHODS

if t.TYPE_CHECKING:
    from collections.abc import Collection


def methods_of(path: str, target: t.Any, names: Collection[str]) -> tuple[str, ...]:
    """Return the names of the methods of an object that can be called, those of the six
    first.

    :param path: The path of the service.
    :param names: The methods that can be called. Those of the six that the object does
        not have are left out.
    :raises TypeError: There is none.
    :raises ValueError: The object does not have a method beyond the six.
    """
    custom = [name for name in names if name not in METHODS]
    _refuse("methods", path, [name for name in custom if not _has(target, name)])
    own = [name for name in METHODS if name in names and _has(target, name)]

    if not own and not custom:
        raise TypeError(
            f"The service '{path}' has none of the methods {', '.join(METHODS)}."
        )

    return (*own, *custom)


def public_methods(
    path: str, public: bool | Collection[str], names: Collection[str]
) -> frozenset[str]:
    """Return the names of the methods that need no token.

    :param path: The path of the service.
    :param public: All, none, or those named.
    :param names: The names that it may have.
    :raises ValueError: There is no such method.
    """
    if isinstance(public, bool):
        return frozenset(names if public else ())

    named = frozenset(names_of("public", public))
    _refuse("public", path, sorted(named.difference(names)))
    return named


def _has(target: t.Any, name: str) -> bool:
    return not name.startswith("_") and callable(getattr(target, name, None))


def _refuse(option: str, path: str, names: Collection[str]) -> None:
    """Refuse names of an option that are not methods."""
    for name in names:
        raise ValueError(
            f"'{option}' of '{path}' names '{name}', which is not a method. The methods"
            f" are: {', '.join(METHODS)}, and those of the object that 'methods' names."
        )
