"""The settings of errors."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from flask import current_app

SETTING: t.Final = "RECORDS_ERRORS"
"""The key of ``app.config`` that has the settings of an application."""

EXTENSION: t.Final = "records_errors"
"""The key of ``app.extensions`` that holds them."""


@dataclass(frozen=True)
class ErrorSettings:
    """The settings of an application: ``RECORDS_ERRORS``."""

    codes: bool = False
    """``True`` to send the code of each problem of a field beside its text."""

    @classmethod
    def of(cls, settings: t.Any) -> ErrorSettings:
        """Return the settings of an application.

        :param settings: A mapping, or ``None`` for the defaults.
        :raises RuntimeError: A name is unknown, or a value is neither true nor false.
        """
        if settings is None:
            return cls()

        if not isinstance(settings, Mapping):
            raise RuntimeError(
                f'{SETTING} must be {{"codes": True}}, not {settings!r}.'
            )

        for name, value in settings.items():
            if name != "codes" or not isinstance(value, bool):
                raise RuntimeError(
                    f"{SETTING} takes 'codes', which is True or False, not"
                    f" '{name}': {value!r}."
                )

        return cls(**settings)


def current_error_settings() -> ErrorSettings:
    """Return the settings of the current application."""
    settings = current_app.extensions.get(EXTENSION, DEFAULTS)
    return t.cast("ErrorSettings", settings)


DEFAULTS: t.Final = ErrorSettings()
"""The settings of an application that has none."""
