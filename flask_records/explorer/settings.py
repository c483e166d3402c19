"""The settings of the explorer in one application."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..http.developer_pages import PageSettings

if t.TYPE_CHECKING:
    from flask import Flask

SETTING: t.Final = "RECORDS_EXPLORER"
"""The key of ``app.config`` that has the settings of an application."""


@dataclass(frozen=True, kw_only=True)
class ExplorerSettings(PageSettings):
    """The settings of an application: ``RECORDS_EXPLORER``."""

    def is_on(self, app: Flask) -> bool:
        """Return whether an application has the explorer: in debug mode, or for those
        whom ``allow`` names, unless ``enabled`` tells.
        """
        if self.enabled is None and self.allow is not None:
            return True

        return super().is_on(app)
