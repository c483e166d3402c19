"""Hooks of services that an application may place among its own."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ..context import HookContext
    from ..typing import Hook


def validate(method: str, context: HookContext) -> None:
    """Check the data of a call by the schemas of its service."""
    validation = context.service.validations.get(method)

    if validation is not None:
        validation.check_data(context)


HOOKS: t.Final[Mapping[str, Hook]] = {"validate": validate}
"""The hooks by name."""


def hook(name: str) -> Hook:
    """Return a hook by its name, to place it among other before hooks.

    ``"validate"`` checks the data by the ``schemas`` of a service. Data is checked
    before all hooks unless it is connected.

    :param name: The name.
    :raises ValueError: There is no such hook.
    """
    if name not in HOOKS:
        raise ValueError(f"There is no hook '{name}'. There is: {', '.join(HOOKS)}.")

    return HOOKS[name]
