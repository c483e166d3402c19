"""The extension: the explorer onto an application."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ..http.placeholders import placeholders_of
from ..http.routes import join_prefixes
from ..http.routes import routes_of
from .pages import ExplorerSettings
from .pages import Pages
from .pages import SETTING

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask

    from ..extension import FlaskRecords


EXTENSION: t.Final = "records_explorer"
"""The key of ``app.extensions`` with the settings."""


class Explorer:
    """Gives applications a page on which developers see, query and change records. It
    calls the services as the user who is logged in there, and has no right of its own.

    It is there in debug mode. Otherwise it is there if ``allow`` tells for whom, or
    ``RECORDS_EXPLORER`` has ``{"enabled": True}``.

    :param records: The extension with the services.
    :param app: The application to set up. Call :meth:`init_app` if there is none yet.
    :param url_prefix: The path of the page.
    :param allow: Returns whether a user gets data: a function of the user. It needs a
        login. By default all do, each what the services show to the user.
    :raises TypeError: ``allow`` is not a function.
    """

    def __init__(
        self,
        records: FlaskRecords,
        app: Flask | None = None,
        *,
        url_prefix: str = "/_records",
        allow: Callable[[t.Any], t.Any] | None = None,
    ) -> None:
        if allow is not None and not callable(allow):
            raise TypeError(f"'allow' must be a function of the user, not {allow!r}.")

        self._records = records
        self._url_prefix = join_prefixes(None, url_prefix)
        self._allow = allow

        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Set up an application. Call it after :meth:`.FlaskRecords.init_app`.

        :param app: The application.
        :raises RuntimeError: The application has no services of the extension, or an
            explorer already, a service has its URL, or a setting is not valid.
        """
        if app.extensions.get("records") is not self._records:
            raise RuntimeError(
                "The explorer shows the services of an application: call"
                " records.init_app(app) before explorer.init_app(app)."
            )

        if EXTENSION in app.extensions:
            raise RuntimeError("This app has an Explorer already.")

        self._check_placeholders(app)
        settings = self._settings_of(app)
        app.extensions[EXTENSION] = settings

        if settings.enabled is not False:
            blueprint = Pages(settings).blueprint(self._records.errors)
            app.register_blueprint(
                blueprint,
                url_prefix=self._url_prefix or None,
                subdomain=routes_of(app).mount.subdomain,
            )
            routes_of(app).check(app)

    def is_on(self, app: Flask) -> bool:
        """Return whether an application has the page now.

        :param app: The application.
        """
        settings = t.cast("ExplorerSettings | None", app.extensions.get(EXTENSION))
        return settings is not None and settings.is_on(app)

    def _check_placeholders(self, app: Flask) -> None:
        """Refuse a path of the page that does not tell where the services are."""
        prefix = routes_of(app).mount.url_prefix
        own = placeholders_of(self._url_prefix)
        missing = [name for name in placeholders_of(prefix) if name not in own]

        if missing:
            example = f"{prefix}/_records"
            raise RuntimeError(
                f"The services are below {prefix!r}. Give the explorer a path with the"
                f" same placeholders: Explorer(records, url_prefix={example!r})."
            )

    def _settings_of(self, app: Flask) -> ExplorerSettings:
        settings = ExplorerSettings.of(app.config.get(SETTING), SETTING)
        return replace(settings, allow=settings.allow or self._allow)
