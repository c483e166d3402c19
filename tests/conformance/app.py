"""The reference application: every service that the recorded cases expect."""

from functools import partial
from pathlib import Path

import sqlalchemy as sa
from flask import Flask, jsonify
from sqlalchemy.orm import sessionmaker

from flask_records import (
    AuthenticationService,
    BadRequest,
    FlaskRecords,
    hash_password,
    requires,
    SQLAlchemyService,
)
from flask_records.http.qs import parse
from flask_records.realtime import Realtime
from tests.authentication import ANY_LOGIN

from . import provider, services
from .models import gravatar, Message, NamedTag, Person, Picky, reset, Secret, Tag, User

SECRET = "oracle-secret-for-tests-only"

PEOPLE = {
    "people": {},
    "people-multi": {"multi": True},
    "people-paginated": {"paginate": {"default": 1, "max": 2}},
    "people-page3": {"paginate": {"default": 3}},
    "people-page10": {"multi": True, "paginate": {"default": 10, "max": 100}},
}

FLAVOURS = {
    "": {"verbose": True},
    "terse": {},
    "json-only": {"verbose": True, "html": False},
    "html-object": {
        "verbose": True,
        "html": {404: str(Path(__file__).parent / "404.html")},
    },
    "html-function": {
        "verbose": True,
        "html": lambda error: (f"<h1>{error.code} {error.name}</h1>", error.code),
    },
}
"""The options of the error handler, chosen by a header."""


def create_app(database_url, base):
    """Return the application as one ASGI function for all flavours.

    :param database_url: Where its tables are made.
    :param base: The address that it is served at.
    """
    engine = sa.create_engine(database_url, pool_size=20)
    reset(engine)
    apps = {name: _app(engine, base, **options) for name, options in FLAVOURS.items()}

    async def application(scope, receive, send):
        flavour = dict(scope.get("headers", ())).get(b"x-oracle-flavour", b"")
        await apps[flavour.decode()](scope, receive, send)

    return application


def _app(engine, base, **options):
    # The reference servers raise the limit of lists in a query string to 200, too.
    records = FlaskRecords(
        app_errors=True,
        logger=False,
        query_parser=partial(parse, array_limit=200),
        **options,
    )
    _add_tables(records, partial(SQLAlchemyService, session=sessionmaker(engine)))
    _add_others(records)
    app = Flask(__name__)
    # A plain exception tells its message only in debug mode.
    app.debug = True
    app.config["SECRET_KEY"] = SECRET
    app.config["RECORDS_AUTHENTICATION"] = {
        "secret": SECRET,
        "allow_short_secret": True,
        "passwords": {"min_length": 1},
        "oauth": {"redirect": "/after-login", **provider.settings(base)},
    }
    # The sockets of the v4 client are those of Socket.IO 2.
    app.config["RECORDS_REALTIME"] = {"legacy_clients": True}
    realtime = Realtime(records)
    records.init_app(app)
    realtime.init_app(app)
    _add_views(app)
    app.register_blueprint(provider.blueprint())

    @app.post("/__oracle/reset")
    def put_back():
        reset(engine)
        return jsonify(ok=True)

    @app.get("/__oracle/info")
    def info():
        return jsonify(idField="id")

    return realtime.asgi(app)


def _add_views(app):
    views = {
        "protected": requires("jwt"),
        "protected-any": requires("jwt", "api-key"),
        "protected-named": requires("jwt", "api-key", service="authentication"),
    }

    for path, required in views.items():
        app.add_url_rule(f"/{path}", path, required(services.whoami))


def _add_tables(records, service):
    # The reference servers understand $and without being told.
    also = {"whitelist": ["$and"]}
    pages = {"default": 10, "max": 50}
    users = records.add(
        "users",
        service(User, paginate=pages, hidden=["password", "deniedId"]),
        public=["create"],
        allow=ANY_LOGIN,
    )
    users.before("create", "patch", "update")(hash_password("password"))
    users.before("create")(choose_fields)
    records.add(
        "messages", service(Message, paginate=pages, multi=True, **also), public=True
    )
    records.add("tags", service(Tag, client_ids=True, **also), public=True)
    picky = service(Picky, whitelist=["$and", "$regex"], multi=["remove"])
    records.add("picky", picky, public=True)
    records.add("secrets", service(Secret))
    records.add("vault", service(Secret), strategies=["jwt", "api-key"])
    records.add("noparser", service(Tag, multi=True), public=True, body_parsers={})
    records.add("tags-by-name", service(NamedTag), public=True)

    for path, options in PEOPLE.items():
        for prefix in ("", "typed-"):
            people = service(Person, events=["testing"], **options, **also)
            records.add(prefix + path, people, public=True)


def _add_others(records):
    api_key = {"api-key": services.api_key}
    records.add("authentication", AuthenticationService(strategies=api_key))

    for path in ("echo", "api/users/:userId/messages", "deep/nested/path"):
        records.add(path, services.Echo(), public=True)

    decorated = records.add("decorated", services.Echo(), public=True)
    blueprint = records.blueprint(decorated)
    blueprint.before_request(services.set_from_middleware)
    blueprint.after_request(services.add_update_data)
    internal = records.add("internal", services.Echo(), public=True)
    internal.before("find", "get", "remove")(services.refuse_rest)
    records.add("export", services.Export(), public=True, formatter=services.format_csv)
    records.add(
        "formatted",
        services.Formatted(),
        public=True,
        formatter=services.format_negotiated,
    )
    status = records.add("status", services.Status(), public=True)
    status.after("get", "create")(set_status)
    records.add("noparser-echo", services.Shouter(), public=True, body_parsers={})
    records.add("readonly", services.ReadOnly(), public=True)
    records.add("returns", services.Returns(), public=True)
    records.add("errors", services.Errors(), public=True)
    records.add("pings", services.Pings(), public=True)
    shouter = services.Shouter()
    records.add("shouter", shouter, public=True, methods=["find", "create", "shout"])


def choose_fields(method, context):
    names = ("email", "password", "name", "avatar", "fakeId", "noemailId")
    chosen = {name: context.data[name] for name in names if name in context.data}

    # A user of a provider has neither to have an email nor a password.
    if context.params.provider is None:
        chosen.setdefault("password", "!")
    elif not isinstance(chosen.get("email"), str):
        raise BadRequest("'email' is required", errors={"email": "is required"})
    else:
        chosen.setdefault("avatar", gravatar(chosen["email"]))

    context.data = chosen


def set_status(method, context):
    context.status_code = 202 if method == "create" else int(context.id)
