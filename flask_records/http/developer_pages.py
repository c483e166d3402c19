"""Pages for developers, which an application has in debug mode or by its settings."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..errors import Forbidden, NotAuthenticated
from ..settings import Check, FLAG, read_settings

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flask import Flask, Response

    from ..context import Params


POLICY: t.Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src {images}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The sources that a page may load from. No site may show it in a frame."""


FUNCTION: t.Final = Check(callable, "a function of the user")

PATH: t.Final = Check(
    lambda value: (
        isinstance(value, str)
        and value.startswith("/")
        and len(value) > 1
        and not any(mark in value for mark in "<>?#")
    ),
    "a path such as '/docs'",
)


@dataclass(frozen=True, kw_only=True)
class PageSettings:
    """The settings of pages."""

    enabled: bool | None = None
    """``True`` or ``False`` to have the pages or not. In debug mode by default."""

    login: bool = False
    """``True`` to show data to callers with a valid login only."""

    allow: Callable[[t.Any], t.Any] | None = None
    """Returns whether a user gets data: a function of the user. It needs a login."""

    CHECKS: t.ClassVar[Mapping[str, Check]] = {
        "enabled": FLAG.or_none(),
        "login": FLAG,
        "allow": FUNCTION.or_none(),
    }
    """The checks of the settings."""

    @classmethod
    def of(cls, settings: t.Any, name: str) -> t.Self:
        """Return the settings of an application.

        :param settings: A mapping, or ``None`` for the defaults.
        :param name: The name of the setting.
        :raises RuntimeError: A key is unknown, or a value is not valid.
        """
        example = {"enabled": True}
        return cls(**read_settings(name, settings, cls.CHECKS, example=example))

    def is_on(self, app: Flask) -> bool:
        """Return whether an application has the pages."""
        return app.debug if self.enabled is None else self.enabled

    @property
    def needs_login(self) -> bool:
        """``True`` if data is shown to callers with a valid login only."""
        return self.login or self.allow is not None

    def check(self, params: Params) -> None:
        """Refuse data to a caller who may not see it.

        :param params: The params of the caller, with its login.
        :raises NotAuthenticated: A login is needed, and there is none.
        :raises Forbidden: ``allow`` refuses the user.
        """
        if self.needs_login and not params.authenticated:
            raise NotAuthenticated("Log in, and send the token as 'Bearer ...'.")

        is_unknown = params.user is None

        if self.allow is not None and (is_unknown or not self.allow(params.user)):
            raise Forbidden("You may not see this.")


def protect(response: Response, *, images: str = "'self' data:") -> Response:
    """Return a page that loads from its own origin only, and is not kept.

    :param images: The sources of its images.
    """
    response.headers["Content-Security-Policy"] = POLICY.format(images=images)
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["Cache-Control"] = "no-cache"
    return response
