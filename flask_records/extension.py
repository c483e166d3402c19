"""The extension: services onto an application."""

from __future__ import annotations

import re
import typing as t
from functools import partial
from weakref import WeakSet

from flask import Blueprint, Flask, Response

from .adapter.session_events import SessionEvents
from .authentication import AuthenticationService
from .authentication.access import Access, check_issuers, find_authentication
from .authentication.limits import Limits
from .authentication.password_checks import check_users, warn_of_open_services
from .database.connections import count_writes, follow_forks
from .http.blueprint import ServiceBlueprint
from .http.body import BODY_PARSERS, StreamParser
from .http.cors import init_app as init_cors
from .http.error_handler import ErrorHandler
from .http.formatter import forbid_sniffing, format_json
from .http.qs import parse
from .http.routes import placeholders_of, Routes, routes_of
from .names import EVENTS, METHODS
from .query.bounds import init_app as init_bounds
from .service import globals, Service
from .service.capabilities import capabilities_of
from .service.events import Transports
from .service.rights import DefaultRules
from .settings import misspelled_settings, names_of
from .signals import CallSignals

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from flask_limiter import Limiter

    from .http.error_handler import Logger
    from .http.test_client import TestClient
    from .query import Change
    from .service.context import Formatter, HookContext
    from .typing import BodyParser, ErrorPages, Id, QueryParser, Record, Rule

MISSPELLED: t.Final = """\
'%s' in the configuration is not a setting, but almost. In the environment, two \
underscores stand before a key: FLASK_RECORDS_REALTIME__message_queue.\
"""

TYPE_NAME: t.Final = re.compile(r"[A-Z][A-Za-z0-9]*")
"""The names of types that all languages have."""


class FlaskRecords(CallSignals):
    """Adds record services to Flask applications.

    It keeps no application: one object serves several, and works with application
    factories. Hooks for all services connect to :attr:`before`, :attr:`after` and
    :attr:`error`, receivers of all events to :attr:`events`.

    :param app: The application to set up. Call :meth:`init_app` later if it does not
        exist yet.
    :param html: The HTML pages of errors: a function of the error, paths of HTML files
        by status, or ``False`` for JSON only. See section 7.4 of the specification.
    :param logger: The logger of server errors, or ``False`` for none. The logger of the
        application by default.
    :param app_errors: Handle the application's own HTTP errors too, such as an unknown
        URL. Its own error handlers come first. See section 7.3.
    :param verbose: Name the URL in the message for an unknown URL.
    :param formatter: Makes the responses of calls. JSON by default.
    :param query_parser: Parses query strings. See section 4.3.9.
    :param body_parsers: Parsers of bodies, by media type. JSON and forms by default.
    :param limiter: A ``flask_limiter.Limiter``, which limits how often clients log in,
        register and make the calls that ``RECORDS_LIMITS`` names. No limits by default.
    :param url_prefix: The beginning of all URLs, such as ``/api``. None by default.
        Sockets name services without it.
    :param readable: The rule for the records of all services over models that have no
        ``readable`` of their own, such as a tenant's, or ``False`` to close them.
        Records that clients create there have to meet it, too. All by default.
    :param allow: Rules by method for all services over models that have none of their
        own for the method.
    :raises ValueError: A rule of ``allow`` is not for one of the six methods.
    """

    def __init__(
        self,
        app: Flask | None = None,
        *,
        html: ErrorPages = None,
        logger: Logger | t.Literal[False] | None = None,
        app_errors: bool = False,
        verbose: bool = False,
        formatter: Formatter = format_json,
        query_parser: QueryParser = parse,
        body_parsers: Mapping[str, BodyParser] = BODY_PARSERS,
        limiter: Limiter | None = None,
        url_prefix: str = "",
        readable: Rule | None = None,
        allow: Mapping[str, Rule | Change] | None = None,
    ) -> None:
        super().__init__()
        self.services: dict[str, Service] = {}
        """The services by path."""
        self.authentications: dict[str, AuthenticationService] = {}
        """The authentication services by path."""
        self.accesses: dict[str, Access] = {}
        """The authentication of the callers of each service, by path."""
        self._blueprints: dict[str, ServiceBlueprint] = {}
        self._apps: WeakSet[Flask] = WeakSet()
        self._is_check_due = False
        self.transports = Transports()
        """The transports of events to clients. Another one is appended."""
        self.errors = ErrorHandler(html, logger, verbose, app_errors)
        """Turns errors into responses, and logs errors of the server."""
        self._formatter = formatter
        self._query_parser = query_parser
        self._body_parsers = body_parsers
        self.max_form_size = 0
        """The maximum size of all forms with files that a service accepts, in bytes."""
        self.limits = None if limiter is None else Limits(limiter)
        """The limits on calls of clients, or ``None`` without a ``limiter``."""
        self._url_prefix = url_prefix
        self.default_rules = DefaultRules(readable, allow)
        """The rules of the services over models that have none of their own."""

        if app is not None:
            self.init_app(app)

    def __getitem__(self, path: str) -> Service:
        """Return the service at a path.

        :raises KeyError: There is none.
        """
        try:
            return self.services[path.strip("/")]
        except KeyError:
            paths = ", ".join(self.services)
            raise KeyError(f"No service at '{path}'. There are: {paths}.") from None

    def add(
        self,
        path: str,
        service: t.Any,
        *,
        public: bool | Collection[str] = False,
        strategies: Collection[str] = ("jwt",),
        authentication: str | None = None,
        readable: Rule | None = None,
        allow: Mapping[str, Rule | Change] | None = None,
        methods: Collection[str] = METHODS,
        events: Collection[str] | None = None,
        formatter: Formatter | None = None,
        body_parsers: Mapping[str, BodyParser] | None = None,
        schemas: Mapping[str, t.Any] | None = None,
        name: str | None = None,
    ) -> Service:
        """Add a service, and return it with its hooks.

        :param path: Its path, with placeholders like ``users/<user_id>/posts`` or
            ``users/:user_id/posts``, which become ``params.route``.
        :param service: An object with one or more of the six methods.
        :param public: The methods that need no token: ``True`` for all, or those named.
            None by default, and all but remove of an :class:`.AuthenticationService`.
        :param strategies: The strategies that callers of the other methods can
            authenticate with.
        :param authentication: The path of the authentication service that checks
            callers. The first that was added by default.
        :param readable: The rule for the records that a user may see, in all calls of
            a client but create, and in events: ``True`` for all, ``False`` for none, a
            query, with :class:`.FromUser`, or a function of the user, or of ``None``,
            that returns one of them.
        :param allow: Such rules by method for clients, of the records that the method
            reaches, and leaves changed, or that it may create. ``False`` is a 403, and
            :class:`.Change` a rule in two parts, for ``update`` or ``patch``.
        :param methods: The methods that can be called, for example ``["find", "get"]``
            for a service to read only. Custom methods of the object are named here.
            By default, the ones of the six that the object has.
        :param events: The names of custom events. The object's events by default.
        :param formatter: Makes the responses of this service.
        :param body_parsers: Parsers of the bodies of this service, by media type.
        :param schemas: The models of pydantic that calls are checked by, by method:
            of the data, or a mapping of ``data``, ``query`` and ``result`` to models.
        :param name: The name of its records in documents and types, such as
            ``Message``. Made of the path by default.
        :raises ValueError: The path, or the ``name``, is empty or taken.
        :raises TypeError: The object has no methods, or an option another form.
        :raises RuntimeError: The service is not public, and nothing issues tokens in an
            application.
        """
        path = path.strip("/")

        if not path:
            raise ValueError("A service needs a path, such as 'messages'.")

        if path in self.services:
            raise ValueError(f"There is a service at '{path}' already.")

        if name is not None:
            self._check_name(name)

        strategies = names_of("strategies", strategies)
        access = Access(path, self.authentications, strategies, authentication)

        if capabilities_of(service).model is not None:
            readable, allow = self.default_rules.beside(methods, readable, allow)

        added = Service(
            path,
            service,
            self,
            self.transports,
            public=public,
            methods=methods,
            events=events,
            readable=readable,
            allow=allow,
            schemas=schemas,
            guards=[self._check_late, access],
            count=self.limits,
            name=name,
        )
        parsers = self._body_parsers if body_parsers is None else body_parsers
        takes_streams = any(isinstance(each, StreamParser) for each in parsers.values())

        if takes_streams and added.capabilities.model is not None:
            raise TypeError(
                f"'{path}' serves a model, which takes no streams: StreamParser is for"
                " objects. Give it to 'add' of their services."
            )

        sizes = [getattr(each, "max_size", None) or 0 for each in parsers.values()]
        self.max_form_size = max([self.max_form_size, *sizes])
        self.accesses[path] = access
        self._blueprints[path] = ServiceBlueprint(
            added,
            errors=self.errors,
            formatter=formatter or self._formatter,
            query_parser=self._query_parser,
            body_parsers=parsers,
            authentications=self.authentications,
        )
        self._register(added)
        return added

    def watch(self, session: t.Any) -> None:
        """Send the events of what the application itself writes through the ORM, such
        as its forms, commands and jobs, after their commit: ``created``, ``patched``
        and ``removed``, to those who get the events of the services over the models.

        What a service writes has the events of its call, and no others. Statements such
        as ``session.execute(update(...))`` have none. A change outside of an
        application context has none either.

        :param session: A session or its source, such as ``db.session``, or
            ``sqlalchemy.orm.Session`` for all sessions.
        """
        SessionEvents(self.services, session)

    def media_types_of(self, service: Service) -> tuple[str, ...]:
        """Return the media types of bodies that a service reads."""
        return tuple(self._blueprints[service.path].body_parsers)

    def authentication(self, path: str | None = None) -> AuthenticationService:
        """Return an authentication service.

        :param path: Its path. The first that was added by default.
        :raises RuntimeError: No such service exists.
        """
        authentication = find_authentication(self.authentications, path)

        if authentication is None:
            raise RuntimeError(
                f"There is no authentication service{f' at {path!r}' if path else ''}."
                " Add one: records.add('authentication', AuthenticationService())."
            )

        return authentication

    def client(self, app: Flask, user: Record | Id | None = None) -> TestClient:
        """Return a client for tests, which calls services over HTTP within the process.

        :param app: The application.
        :param user: The record of the user who is logged in, or its identifier. An
            anonymous client by default.
        """
        # Applications do not need it.
        from .http.test_client import TestClient

        if user is None:
            return TestClient(app, None)

        with app.app_context():
            authentication = self.authentication()
            record = user if isinstance(user, dict) else {authentication.id: user}
            token, _ = authentication.create_token(record)

        return TestClient(app, token)

    def blueprint(self, service: Service) -> Blueprint:
        """Return the blueprint of a service, for HTTP middleware before and after it,
        whose functions find the call in :data:`.current_call`. Use it before
        :meth:`init_app`. See section 4.3.10.
        """
        return self._blueprints[service.path].blueprint

    def init_app(self, app: Flask) -> None:
        """Set up an application: its URLs and its error handlers.

        :param app: The application.
        :raises RuntimeError: The application has a FlaskRecords already, a service
            needs tokens and nothing issues them, a view has the URL of a service, a
            setting is not valid, or uWSGI is to fork it.
        :raises ValueError: A service can't be served, with the line to write.
        """
        if not isinstance(app, Flask):
            raise TypeError(
                "init_app takes an application. A plugin has a blueprint, and writes:"
                " blueprint.record(lambda state: records.init_app(state.app))"
            )

        if "records" in app.extensions:
            raise RuntimeError(
                "This app has a FlaskRecords already. Import and use that one."
            )

        routes = Routes(app, self._url_prefix)
        init_bounds(app)
        count_writes()
        follow_forks(app)
        init_cors(app)
        self.errors.init_app(app)
        self._check(app, self.services.values())
        warn_of_open_services(self, app)

        for key in misspelled_settings(app.config):
            app.logger.warning(MISSPELLED, key)

        self._init_limits(app)
        app.extensions["records"] = self
        self._apps.add(app)
        # Pages of errors know no values of placeholders.
        prefix = "" if placeholders_of(routes.url_prefix) else routes.url_prefix
        app.register_blueprint(_files(), url_prefix=prefix or None)

        for path, each in self._blueprints.items():
            routes.add_service(app, path, each.blueprint)

        # Documents and commands are about the extension.
        from .cli import init_app as init_cli
        from .openapi.reference import init_app as init_reference

        init_reference(app, routes, self.errors)
        routes.check(app)

        init_cli(app)

    def _register(self, service: Service) -> None:
        path, blueprint = service.path, self._blueprints[service.path].blueprint
        self.services[path] = service

        if isinstance(service.target, AuthenticationService):
            self.authentications[path] = service.target
            service.target.connect(service, self.services)
            blueprint.after_request(_forbid_storing)

        for app in self._apps:
            try:
                self._check(app, [service])
            except Exception:
                # An application may catch this, and go on without the service.
                for each in (self.services, self.authentications, self.accesses):
                    each.pop(path, None)

                raise

            routes_of(app).add_service(app, path, blueprint)
            routes_of(app).check(app)
            self._init_limits(app)
            # Hooks and services may be added after it.
            self._is_check_due = True

    def _check(self, app: Flask, services: Collection[Service]) -> None:
        """Check new services against the settings of an application."""
        checks: list[Callable[[], None]] = []

        for service in services:
            parts = service.capabilities

            if parts.is_read_only:
                writes = {name for name in EVENTS if parts.is_own(name)}
                service.methods = tuple(n for n in service.methods if n not in writes)

            checks += [partial(parts.check, app, service.methods), service.rules.check]

            if service.path in self.authentications:
                self.authentications[service.path].init_app(app)

        if app not in self._apps:
            checks.append(partial(self._check_names, [app]))

        _run_all(checks)
        # The service that issues tokens may be added next.
        settings = app.config.get("RECORDS_AUTHENTICATION")
        is_awaited = app in self._apps and settings is not None
        check_issuers(app, self.authentications, () if is_awaited else services)

    def _check_name(self, name: str) -> None:
        if not TYPE_NAME.fullmatch(name):
            raise ValueError(
                f"'name' is the name of a type, such as 'Message', not {name!r}."
            )

        if any(each.name == name for each in self.services.values()):
            raise ValueError(f"There is a service with the name '{name}' already.")

    def _check_late(self, context: HookContext) -> None:
        """Check names at the first call after services were added."""
        if self._is_check_due:
            self._check_names(self._apps)
            self._is_check_due = False

    def _check_names(self, apps: Collection[Flask]) -> None:
        for access in self.accesses.values():
            access.check()

        check_users(self, apps)

    def _init_limits(self, app: Flask) -> None:
        if self.limits:
            self.limits.init_app(app, self.services, self.authentications)
        elif app.config.get("RECORDS_LIMITS"):
            raise RuntimeError(
                "RECORDS_LIMITS needs something that counts:"
                " FlaskRecords(limiter=Limiter(...))."
            )


def _run_all(checks: Collection[Callable[[], None]]) -> None:
    """Run checks, and raise what they refuse as one error."""
    errors: dict[str, Exception] = {}

    for check in checks:
        try:
            check()
        except (TypeError, ValueError, RuntimeError) as refusal:
            errors.setdefault(str(refusal), refusal)

    for error in errors.values():
        raise error if len(errors) == 1 else ValueError("\n".join(errors))


def _files() -> Blueprint:
    """Return the blueprint of the pages of errors and of the files of clients."""
    blueprint = Blueprint(
        "flask_records",
        __package__,
        template_folder="http/templates",
        static_folder="http/static",
        static_url_path="/flask_records",
    )
    blueprint.after_request(forbid_sniffing)
    return blueprint


def _forbid_storing(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response


current_records = t.cast("FlaskRecords", globals.current_records)
"""The extension of the current application."""
