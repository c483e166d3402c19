"""Services, checked against the settings of applications."""

from __future__ import annotations

import typing as t

from .authentication.access import check_apart
from .authentication.password_checks import check_passwords

if t.TYPE_CHECKING:
    from collections.abc import Collection

    from flask import Flask

    from .context import HookContext
    from .extension import FlaskRecords
    from .registrations import Registration, Registrations
    from .service import Service

NO_ISSUER: t.Final = """\
The service '{path}' needs a token for its calls, and nothing issues tokens. Add what \
does, records.add("authentication", AuthenticationService()), or add the service with \
public=True to let everybody in.\
"""


class ServiceChecks:
    """Refuses services that do not fit an application.

    :param records: The extension of the services.
    :param registrations: The services, with what belongs to each of them.
    :param apps: The applications that are set up.
    """

    def __init__(
        self,
        records: FlaskRecords,
        registrations: Registrations,
        apps: Collection[Flask],
    ) -> None:
        self._records = records
        self._registrations = registrations
        self._apps = apps
        self._is_due = False

    def check(self, app: Flask) -> None:
        """Check the services against the settings of a new application.

        :raises RuntimeError: The two do not fit.
        """
        authentications = self._registrations.authentications

        for service in self._registrations.services.values():
            self._check_issuer(service)
            service.capabilities.check(app, service.methods)

        for authentication in authentications.values():
            authentication.init_app(app, self._registrations.services)

        self._check_names()
        check_apart(app, authentications)
        self._check_passwords(app)

    def check_added(self, registration: Registration) -> None:
        """Check a new service against the settings of the applications. Hooks and
        services may be added after it, so that the rest is checked at the first call.

        :raises RuntimeError: The two do not fit.
        """
        for app in self._apps:
            self._check_added(app, registration)

        self._is_due = bool(self._apps)

    def check_late(self, context: HookContext) -> None:
        """Check names and passwords at the first call, if services were added to an
        application.

        :raises RuntimeError: A name is unknown, or passwords are not safe.
        """
        if not self._is_due:
            return

        self._check_names()

        for app in list(self._apps):
            self._check_passwords(app)

        self._is_due = False

    def _check_added(self, app: Flask, registration: Registration) -> None:
        service, issuer = registration.service, registration.authentication
        issuers = dict(self._registrations.authentications)
        service.capabilities.check(app, service.methods)

        if issuer is not None:
            issuer.init_app(app, self._registrations.services)
            issuers[service.path] = issuer
            check_apart(app, issuers)
        # The service that issues tokens may be added next.
        elif app.config.get("RECORDS_AUTHENTICATION") is None:
            self._check_issuer(service)

        for authentication in issuers.values():
            if authentication.users_path == service.path:
                authentication.check_users(app, {service.path: service})

    def _check_issuer(self, service: Service) -> None:
        """Refuse a service that needs tokens if nothing issues them."""
        is_open = service.public.issuperset(service.methods)

        if not is_open and self._registrations.first_authentication is None:
            raise RuntimeError(NO_ISSUER.format(path=service.path))

    def _check_names(self) -> None:
        for registration in self._registrations.values():
            registration.access.check()

    def _check_passwords(self, app: Flask) -> None:
        for authentication in self._registrations.authentications.values():
            check_passwords(self._records, app, authentication)
