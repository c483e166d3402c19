"""Pages for developers, which an application has in debug mode or by its settings."""

from __future__ import annotations

import gzip
import re
import typing as t
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from os.path import normpath
from pathlib import Path

from flask import Blueprint, request, Response, send_from_directory
from werkzeug.exceptions import NotFound

from ..errors import Forbidden, NotAuthenticated
from ..service.globals import current_request
from ..settings import Check, FLAG, read_settings
from ..signals import call
from .formatter import CALLER, forbid_sniffing, json_response, vary, weak_etag

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flask import Flask

    from ..service.context import Params
    from .error_handler import ErrorHandler

    Views: t.TypeAlias = Mapping[str, tuple[str, Callable[..., Response]]]

POLICY: t.Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src {images}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The sources that a page may load from. No site may show it in a frame."""

YEAR: t.Final = 365 * 24 * 60 * 60

SHARED: t.Final = Path(__file__).parent / "static"
"""The folder of the files that pages share, such as the clients in JavaScript."""

IMPORTS: t.Final = re.compile(r" from '(.+)'$", re.MULTILINE)

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
    """By default, pages are there in debug mode, or for those whom ``allow`` names."""

    login: bool = False
    """``True`` to show data to callers with a valid login only."""

    allow: Callable[[t.Any], t.Any] | None = None
    """Returns ``True`` for users who get data. It needs a login."""

    as_user: Callable[[t.Any], t.Any] | None = None
    """Returns ``True`` for users who see what others see. No setting has it."""

    CHECKS: t.ClassVar[Mapping[str, Check]] = {
        "enabled": FLAG.or_none(),
        "login": FLAG,
        "allow": Check(callable, "a function of the user").or_none(),
    }
    """The checks of the settings."""

    @classmethod
    def of(cls, settings: t.Any, name: str) -> t.Self:
        """Return the settings of an application."""
        example = {"enabled": True}
        return cls(**read_settings(name, settings, cls.CHECKS, example=example))

    def is_on(self, app: Flask) -> bool:
        """Return whether an application has the pages."""
        is_wanted = app.debug or self.allow is not None
        return is_wanted if self.enabled is None else self.enabled

    @property
    def needs_login(self) -> bool:
        """``True`` if data is shown to callers with a valid login only."""
        return self.login or self.allow is not None

    def check(self, params: Params) -> None:
        """Refuse data to a caller who may not see it."""
        if self.needs_login and not params.authenticated:
            raise NotAuthenticated("Log in, and send the token as 'Bearer ...'.")

        if self.allow is not None and not self.lets(self.allow, params):
            raise Forbidden("You may not see this.")

    @staticmethod
    def lets(rule: Callable[[t.Any], t.Any] | None, params: Params) -> bool:
        """Return whether a function of the user returns ``True`` for a caller."""
        is_asked = rule is not None and params.user is not None
        return is_asked and call(t.cast(t.Any, rule), params.user) is True


def page_blueprint(
    name: str, package: str, errors: ErrorHandler, files_path: str, views: Views
) -> Blueprint:
    """Return a blueprint of pages, given the package with its files, their path, and
    views with their paths by endpoint.
    """
    blueprint = Blueprint(name, package, template_folder="templates")
    blueprint.after_request(compress)
    blueprint.after_request(forbid_sniffing)
    blueprint.register_error_handler(Exception, errors.handle)

    folder = Path(blueprint.root_path, "static")

    def send_file(version_: str, name: str, **route: t.Any) -> Response:
        # Another worker may have files of another version meanwhile.
        age = YEAR if version_ == version_of(folder) else 0

        try:
            return send_from_directory(folder, name, max_age=age)
        except NotFound:
            return send_from_directory(SHARED, name, max_age=age)

    @blueprint.url_defaults
    def add_version(endpoint: str, values: dict[str, t.Any]) -> None:
        if endpoint == f"{name}.file":
            values["version_"] = version_of(folder)

    file = f"{files_path}/<version_>/<path:name>", send_file

    for endpoint, (rule, view) in {**views, "file": file}.items():
        # The files of a page with a slash are named relative to it.
        is_strict = rule.endswith("/")
        blueprint.add_url_rule(rule, endpoint, view, strict_slashes=is_strict)

    return blueprint


@cache
def version_of(folder: Path) -> str:
    """Return a text that changes with the files of a page."""
    files = [each for place in (folder, SHARED) for each in sorted(place.rglob("*.*"))]
    return sha256(b"".join(map(Path.read_bytes, files))).hexdigest()[:16]


@cache
def modules_of(folder: Path, *names: str) -> tuple[str, ...]:
    """Return the names of modules in JavaScript, and of all that these import."""
    modules = dict.fromkeys(names)

    for each in names:
        for name in IMPORTS.findall((folder / each).read_text()):
            path = normpath(Path(each).parent / name)
            modules |= dict.fromkeys(modules_of(folder, path))

    return (*modules,)


def protect(response: Response, *, images: str = "'self' data:") -> Response:
    """Return a page that loads from its own origin only, and is not kept."""
    # An application may have responses of another type by default.
    response.mimetype = "text/html"
    response.headers["Content-Security-Policy"] = POLICY.format(images=images)
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["Cache-Control"] = "no-cache"
    return response


def send_json(body: bytes) -> Response:
    """Return JSON for one caller, who asks each time whether it has changed."""
    response = json_response(body, 200)
    response.headers["ETag"] = weak_etag(response)
    response.headers["Cache-Control"] = "private, no-cache"
    vary(response.headers, CALLER)
    response.make_conditional(current_request())
    return response


def compress(response: Response) -> Response:
    """Compress a response for clients that take that. An ``after_request`` function."""
    vary(response.headers, "Accept-Encoding")

    if response.status_code == 200 and request.accept_encodings.quality("gzip"):
        response.direct_passthrough = False
        response.set_data(gzip.compress(response.get_data(), compresslevel=6, mtime=0))
        response.headers["Content-Encoding"] = "gzip"
        etag, _ = response.get_etag()

        # The text is the same, and its bytes are not.
        if etag is not None:
            response.set_etag(etag, weak=True)

    return response
