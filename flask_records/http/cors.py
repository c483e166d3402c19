"""Cross-origin requests, which ``RECORDS_CORS`` allows to pages of other origins."""

from __future__ import annotations

import re
import typing as t

from flask import request, Response

from ..settings import FLAG, read_settings
from .blueprint import PREFIX
from .formatter import vary
from .origins import ALL, ORIGINS, parse_origins

if t.TYPE_CHECKING:
    from flask import Flask

SETTING: t.Final = "RECORDS_CORS"
"""The key of ``app.config`` that has the settings of an application."""

EXPOSED: t.Final = ("Allow", "ETag", "Location", "Retry-After", "WWW-Authenticate")
"""The headers of responses that scripts of other origins may read."""

SHARED: t.Final = ("flask_records", "records_openapi")
"""The blueprints of the files for browsers and of the OpenAPI document."""


class CorsSettings(t.NamedTuple):
    """The settings of an application: ``RECORDS_CORS``."""

    origins: tuple[str, ...] = ()
    """The origins whose pages may read responses, ``("*",)`` for all."""

    credentials: bool = False
    """``True`` if their requests may have the cookies of the user."""

    @classmethod
    def of(cls, app: Flask) -> CorsSettings:
        """Return the settings of an application."""
        example = {"origins": ["https://app.example"]}
        checks = {"origins": ORIGINS, "credentials": FLAG}
        value = app.config.get(SETTING)
        options = read_settings(SETTING, value, checks, example=example)
        origins = parse_origins(options.get("origins"), f"{SETTING}['origins']")
        settings = cls(origins, options.get("credentials", False))

        if settings.credentials and (not origins or ALL in origins):
            raise RuntimeError(
                f"{SETTING}['credentials'] needs {SETTING}['origins'] that name the"
                " origins, not '*': their pages act as your users."
            )

        return settings


def init_app(app: Flask) -> None:
    """Add the headers of Flask-CORS to the responses of services, of the OpenAPI
    document and of our files in an application, errors included.
    """
    origins, credentials = CorsSettings.of(app)

    if not origins:
        return

    try:
        from flask_cors import cross_origin
    except ImportError as error:
        raise RuntimeError(f"{SETTING} needs 'flask-record-services[cors]'.") from error

    is_for_all = ALL in origins
    # Flask-CORS takes the brackets of an address for a pattern.
    patterns = [re.compile(rf"{re.escape(each)}\Z") for each in origins]
    with_headers = cross_origin(
        origins=ALL if is_for_all else patterns,
        send_wildcard=is_for_all,
        always_send=False,
        vary_header=False,
        automatic_options=False,
        expose_headers=EXPOSED,
        max_age=600,
        supports_credentials=credentials,
    )

    @app.after_request
    def add_headers(response: Response) -> Response:
        name = request.blueprint or ""
        is_ours = name.startswith(PREFIX) or name in SHARED

        # Flask-CORS of the application may have added the headers.
        if not is_ours or "Access-Control-Allow-Origin" in response.headers:
            return response

        # Caches would give a page the response to another.
        if not is_for_all:
            vary(response.headers, "Origin")

        return with_headers(lambda: response)()
