"""The settings of errors."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from flask import current_app

from ..settings import FLAG
from ..settings import read_settings

if t.TYPE_CHECKING:
    from flask import Flask

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
        checks, example = {"codes": FLAG}, {"codes": True}
        return cls(**read_settings(SETTING, settings, checks, example=example))


def init_app(app: Flask) -> None:
    """Read the setting of an application.

    :raises RuntimeError: It is not valid.
    """
    app.extensions[EXTENSION] = ErrorSettings.of(app.config.get(SETTING))


def current_error_settings() -> ErrorSettings:
    """Return the settings of the current application."""
    settings = current_app.extensions.get(EXTENSION, DEFAULTS)
    return t.cast("ErrorSettings", settings)


DEFAULTS: t.Final = ErrorSettings()
"""The settings of an application that has none."""
