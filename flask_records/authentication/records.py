"""The extension of the current application, for what needs its logins."""

from __future__ import annotations

import typing as t

from ..service import globals

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ..http.error_handler import ErrorHandler
    from ..service import Service
    from ..service.rights import DefaultRules
    from ..signals import OrderedSignal
    from .access import Access
    from .limits import Limits
    from .service import AuthenticationService


class AuthenticationRecords(globals.Records, t.Protocol):
    """The extension, with its authentication services."""

    limits: Limits | None
    errors: ErrorHandler
    default_rules: DefaultRules

    @property
    def before(self) -> OrderedSignal:
        """The hooks of all services that run before the method."""

    @property
    def authentications(self) -> Mapping[str, AuthenticationService]:
        """The authentication services by path."""

    @property
    def accesses(self) -> Mapping[str, Access]:
        """The authentication of the callers of each service, by path."""

    def media_types_of(self, service: Service) -> tuple[str, ...]:
        """Return the media types of bodies that a service reads."""

    def authentication(self, path: str | None = None) -> AuthenticationService:
        """Return the authentication service at a path, by default the first."""


current_records = t.cast("AuthenticationRecords", globals.current_records)
