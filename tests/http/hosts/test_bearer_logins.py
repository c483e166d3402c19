"""Tokens of a host, as the documentation takes them, over HTTP and over sockets."""

from contextvars import copy_context

import pytest
from flask import Flask
from flask_jwt_extended import create_access_token, create_refresh_token, JWTManager

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    NotAuthenticated,
    requires,
    Strategy,
)
from flask_records.realtime import Realtime
from flask_records.service import Capabilities

from ...authentication import (
    API_KEY,
    bearer,
    Echo,
    LOGIN,
    make_records,
    SECRET,
    serving,
    signed,
)
from ..test_docs import blocks_of, DOCS, run_page, run_python
from ..test_docs import module as module

PAGE = DOCS / "host-logins.md"


def host_strategy(users):
    """A strategy whose tokens are the keys of a mapping to users."""

    def check(service, data, params):
        if data["accessToken"] not in users:
            raise NotAuthenticated("Unknown to the host.")

        return {"user": users[data["accessToken"]], "accessToken": data["accessToken"]}

    def parse(headers):
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        return {"accessToken": token} if scheme == "Bearer" else None

    return Strategy(check, parse)


@pytest.fixture
def site(module):
    """The application of the page with Flask-JWT-Extended, and its revoked tokens."""
    copy_context().run(run_page, PAGE, module)
    module.revoked = set()
    module.is_revoked = lambda header, claims: claims["jti"] in module.revoked

    for block in blocks_of(PAGE):
        if "flask_jwt_extended" in block.text:
            copy_context().run(run_python, block, module)

    strategy = Strategy(module.check_jwt, module.parse_bearer)
    own = module.make_services("host", strategy)
    options = {"JWT_SECRET_KEY": "j" * 32, **module.OPTIONS}
    app = copy_context().run(module.create_app, own, **options)
    JWTManager(app)
    app.realtime = Realtime(own)
    app.realtime.init_app(app)

    with app.app_context():
        module.db.create_all()
        module.db.session.add(module.User(email="ann@example.com"))
        module.db.session.commit()
        yield app


def test_tokens_of_flask_jwt_extended_call_services(site, module):
    token = create_access_token("1")
    client = site.test_client()
    login = {"strategy": "host", "accessToken": token}
    sockets = [site.realtime.test_client(site, headers=bearer(token))]
    sockets.append(site.realtime.test_client(site))
    answer = sockets[1].call("create", "authentication", login)

    assert answer["accessToken"] == token
    assert client.get("/notes", headers=bearer(token)).json == []
    assert [each.call("find", "notes") for each in sockets] == [[], []]

    module.revoked.add(module.decode_token(token)["jti"])

    assert client.get("/notes", headers=bearer(token)).status_code == 401

    for each in sockets:
        with pytest.raises(NotAuthenticated):
            each.call("find", "notes")


@pytest.mark.parametrize("make", [create_refresh_token, lambda name: "nonsense"])
def test_other_tokens_of_flask_jwt_extended_are_refused(site, make):
    answer = site.test_client().get("/notes", headers=bearer(make("1")))

    assert (answer.status_code, answer.json["message"]) == (401, "Log in again.")


@pytest.mark.parametrize("strategies", [["host"], ["jwt", "host"]])
def test_token_goes_to_the_strategy_whose_it_is(strategies):
    strategy = host_strategy({"h": {"id": 1}})
    records = make_records(strategies={"host": strategy, "api-key": API_KEY})
    records.add("both", Echo(), strategies=strategies)

    with serving(records) as client:
        token = client.post("/authentication", json=LOGIN).json["accessToken"]
        tokens = ["h", token, token[:-3] + "xyz"]
        answers = [client.get("/both", headers=bearer(each)) for each in tokens]

    assert answers[0].json["authentication"] == {"strategy": "host"}
    assert answers[1].status_code == (200 if "jwt" in strategies else 401)
    assert answers[2].json["message"] == "Unknown to the host."


def test_expired_token_of_services_has_its_reason():
    strategies = {"host": host_strategy({}), "api-key": API_KEY}
    records = make_records(strategies=strategies)
    records.add("both", Echo(), strategies=["jwt", "host"])

    with serving(records) as client:
        answer = client.get("/both", headers=bearer(signed(exp=1)))

    assert answer.json["data"]["name"] == "TokenExpiredError"


def test_functions_of_a_strategy_may_be_async():
    strategy = host_strategy({"h": {"id": 1}})

    async def check(*args):
        return strategy.authenticate(*args)

    async def parse(headers):
        return strategy.parse(headers)

    strategies = {"host": Strategy(check, parse), "api-key": API_KEY}
    records = make_records(strategies=strategies)
    records.add("own", Echo(), strategies=["host"])

    with serving(records) as client:
        statuses = [client.get("/own", headers=bearer(t)).status_code for t in "hx"]

    assert statuses == [200, 401]
    assert client.get("/own").status_code == 401


def make_host(users, **options):
    """A host whose users are no model."""
    app, records = Flask("host"), FlaskRecords()
    app.config["RECORDS_AUTHENTICATION"] = {"strategies": ["host"], "secret": SECRET}
    authentication = AuthenticationService(strategies={"host": host_strategy(users)})
    records.add("authentication", authentication, strategies=["host"])
    records.add("echo", Echo(), **options)
    return app, records


def test_host_has_users_of_its_own():
    user = {"id": 7, "role": "editor"}
    app, records = make_host({"h": user}, strategies=["host"])
    records.init_app(app)
    app.add_url_rule("/page", view_func=requires("host")(lambda: "A page"))
    realtime = Realtime(records)
    realtime.init_app(app)
    client = app.test_client()
    login = {"strategy": "host", "accessToken": "h"}

    assert client.get("/echo", headers=bearer("h")).json["user"] == user
    assert client.get("/echo", headers=bearer("x")).status_code == 401
    assert client.get("/page", headers=bearer("h")).text == "A page"
    assert client.post("/authentication", json=login).json["accessToken"] == "h"
    assert client.delete("/authentication", headers=bearer("h")).status_code == 200
    socket = realtime.test_client(app, headers=bearer("h"))
    assert socket.call("find", "echo")["user"] == user


def test_service_that_accepts_tokens_which_nobody_has_does_not_start():
    app, records = make_host({})

    with pytest.raises(RuntimeError, match="'echo' needs tokens"):
        records.init_app(app)


def test_keys_of_users_who_are_not_there_do_not_start():
    class Keys(Echo, Capabilities):
        is_personal = True

    app, records = make_host({}, strategies=["host"])
    records.add("keys", Keys(), strategies=["host"], readable=lambda user: True)

    with pytest.raises(RuntimeError, match="'keys' needs tokens"):
        records.init_app(app)


def test_host_needs_a_secret_of_32_bytes():
    app, records = make_host({}, strategies=["host"])
    app.config["RECORDS_AUTHENTICATION"]["secret"] = "short"

    with pytest.raises(RuntimeError, match="shorter than 32 bytes"):
        records.init_app(app)


@pytest.mark.parametrize("headers", [{"X-Api-Key": "robot's key"}, {}])
def test_other_credentials_do_not_stand_for_a_wrong_token(headers):
    strategies = {"host": host_strategy({}), "api-key": API_KEY}
    records = make_records(strategies=strategies)
    records.add("all", Echo(), strategies=["jwt", "host", "api-key"])

    with serving(records) as client:
        answer = client.get("/all", headers={**bearer("x"), **headers})

    assert (answer.status_code, answer.json["message"]) == (401, "Unknown to the host.")
