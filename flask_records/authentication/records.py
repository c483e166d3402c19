"""The extension of the current application, as far as logins need it."""

from __future__ import annotations

import typing as t

from ..service import globals

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ..http.error_handler import ErrorHandler
    from ..service.rights import DefaultRules
    from ..signals import OrderedSignal
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

    def authentication(self, path: str | None = None) -> AuthenticationService:
        """Return the authentication service at a path, by default the first."""


current_records = t.cast("AuthenticationRecords", globals.current_records)
