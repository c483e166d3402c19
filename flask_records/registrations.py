"""The services of an extension, with what belongs to each of them, and their checks."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from weakref import WeakSet

from .authentication.access import check_apart
from .authentication.password_checks import check_passwords

if t.TYPE_CHECKING:
    from collections.abc import Collection

    from flask import Blueprint, Flask

    from .authentication import AuthenticationService
    from .authentication.access import Access
    from .context import HookContext
    from .extension import FlaskRecords
    from .service import Service

NO_ISSUER: t.Final = """\
The service '{path}' needs a token for its calls, and nothing issues tokens. Add what \
does, records.add("authentication", AuthenticationService()), or add the service with \
public=True to let everybody in.\
"""


@dataclass(frozen=True)
class Registration:
    """A service of an extension, with what belongs to it."""

    service: Service
    """The service."""

    access: Access
    """Identifies its callers."""

    blueprint: Blueprint
    """Serves it over HTTP."""

    authentication: AuthenticationService | None
    """Its object, if that issues tokens."""

    media_types: tuple[str, ...]
    """The media types of bodies that it reads."""


class Registrations(dict[str, Registration]):
    """The registrations of an extension by path, in the order of their addition.

    :param records: The extension.
    """

    def __init__(self, records: FlaskRecords) -> None:
        self.services: dict[str, Service] = {}
        """The services by path."""
        self.authentications: dict[str, AuthenticationService] = {}
        """The authentication services by path."""
        self.apps: WeakSet[Flask] = WeakSet()
        """The applications that are set up."""
        self._records = records
        self._is_check_due = False

    def free_path(self, path: str) -> str:
        """Return the path of a new service without slashes around it.

        :raises ValueError: The path is empty, or there is a service at it.
        """
        path = path.strip("/")

        if not path:
            raise ValueError("A service needs a path, such as 'messages'.")

        if path in self:
            raise ValueError(f"There is a service at '{path}' already.")

        return path

    def add(self, registration: Registration) -> None:
        """Add a registration.

        :raises RuntimeError: It does not fit the settings of an application. Hooks and
            services may be added after it: the rest is checked at the first call.
        """
        path, issuer = registration.service.path, registration.authentication
        self[path] = registration
        self.services[path] = registration.service

        if issuer is not None:
            self.authentications[path] = issuer
            issuer.lookup.services = self.services

        for app in self.apps:
            self._check(app, [registration])
            self._is_check_due = True

    def check(self, app: Flask) -> None:
        """Check the services against the settings of a new application.

        :raises RuntimeError: The two do not fit.
        """
        self._check(app, self.values())
        self._check_names_and_passwords([app])

    def check_late(self, context: HookContext) -> None:
        """Check names and passwords at the first call, if services were added to an
        application.

        :raises RuntimeError: A name is unknown, or passwords are not safe.
        """
        if self._is_check_due:
            self._check_names_and_passwords(list(self.apps))
            self._is_check_due = False

    def _check(self, app: Flask, registrations: Collection[Registration]) -> None:
        """Check new services against the settings of an application."""
        settings = app.config.get("RECORDS_AUTHENTICATION")
        # The service that issues tokens may be added next.
        is_awaited = app in self.apps and settings is not None

        for each in registrations:
            service = each.service
            is_open = service.public.issuperset(service.methods)

            if not is_open and not self.authentications and not is_awaited:
                raise RuntimeError(NO_ISSUER.format(path=service.path))

            service.capabilities.check(app, service.methods)
            service.rules.check()

            if each.authentication is not None:
                each.authentication.init_app(app)

        check_apart(app, self.authentications)

    def _check_names_and_passwords(self, apps: list[Flask]) -> None:
        for registration in self.values():
            registration.access.check()

        for authentication in self.authentications.values():
            authentication.lookup.normalize_writes()

        for app in apps:
            for authentication in self.authentications.values():
                check_passwords(self._records, app, authentication)
