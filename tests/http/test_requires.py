import inspect

import pytest
from flask import Blueprint, Flask, g
from flask.views import MethodView

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    NotAuthenticated,
    NotFound,
    requires,
)

from ..authentication import bearer, signed

STAFF_SECRET = "t" * 32

REFUSED = NotAuthenticated("Not authenticated").to_dict()


class People:
    """Users whom only their id tells apart."""

    def get(self, id, params):
        if id not in ("1", "2"):
            raise NotFound

        return {"id": id, "password": "a hash"}


@pytest.fixture
def records():
    records = FlaskRecords()
    records.add("people", People(), public=True)
    records.add("authentication", AuthenticationService("people"))
    records.add("staff", AuthenticationService("people", settings="STAFF"))
    return records


@pytest.fixture
def app(records):
    app = Flask("tests")
    app.config["RECORDS_AUTHENTICATION"] = {"secret": "s" * 32}
    app.config["STAFF"] = {"secret": STAFF_SECRET, "issuer": "staff"}
    app.testing = True
    records.init_app(app)
    return app


@pytest.fixture
def ann():
    """The headers of a user."""
    return bearer(signed())


@pytest.fixture
def clerk():
    """The headers of a user whose token another authentication service issued."""
    return bearer(signed(STAFF_SECRET, iss="staff"))


def who():
    """Tell who calls."""
    return {"id": g.authentication["user"]["id"]}


async def who_async():
    return who()


class Who(MethodView):
    decorators = [requires()]

    def get(self):
        return who()

    async def post(self):
        return who()


def route_view(app):
    app.add_url_rule("/who", view_func=requires()(who), methods=["GET", "POST"])


def route_async_view(app):
    view = requires()(who_async)
    app.add_url_rule("/who", view_func=view, methods=["GET", "POST"])


def route_method_view(app):
    app.add_url_rule("/who", view_func=Who.as_view("who"))


def route_blueprint(app):
    blueprint = Blueprint("closed", "tests")
    blueprint.before_request(requires())
    blueprint.add_url_rule("/who", view_func=who, methods=["GET", "POST"])
    app.register_blueprint(blueprint)


def route_app(app):
    app.before_request(requires())
    app.add_url_rule("/who", view_func=who_async, methods=["GET", "POST"])


@pytest.fixture(
    params=[
        *(route_view, route_async_view, route_method_view),
        *(route_blueprint, route_app),
    ]
)
def protected(request, app):
    """A client of an application whose ``/who`` is protected, in each way."""
    request.param(app)
    return app.test_client()


@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_stranger_is_refused(protected, verb):
    response = protected.open("/who", method=verb)

    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert response.json == REFUSED


@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_user_passes(protected, ann, verb):
    response = protected.open("/who", method=verb, headers=ann)

    assert (response.status_code, response.json) == (200, {"id": "1"})


def test_result_of_a_token(app, client):
    token = signed(jti="7", iat=1, exp=2**31)
    found = []
    view = requires()(lambda: str(found.append(g.authentication)))
    app.add_url_rule("/", view_func=view)

    client.get("/", headers=bearer(token))

    payload = {
        "iat": 1,
        "exp": 2**31,
        "aud": "https://yourdomain.com",
        "iss": "feathers",
        "sub": "1",
        "jti": "7",
    }
    known = {"strategy": "jwt", "accessToken": token, "payload": payload}
    user = {"id": "1"}
    assert found == [{"accessToken": token, "authentication": known, "user": user}]


@pytest.mark.parametrize(
    ("service", "of_default", "of_staff"),
    [(None, 200, 401), ("authentication", 200, 401), ("/staff/", 401, 200)],
)
def test_service_that_is_named_authenticates(
    app, client, ann, clerk, service, of_default, of_staff
):
    app.add_url_rule("/", view_func=requires(service=service)(lambda: "passed"))

    statuses = [client.get("/", headers=one).status_code for one in (ann, clerk)]

    assert statuses == [of_default, of_staff]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_arguments_of_the_view_are_passed_on(app, client, ann, asynchronous):
    def view(name, number=0):
        return {"name": name, "number": number}

    async def view_async(name, number=0):
        return view(name, number)

    protected = requires()(view_async if asynchronous else view)
    app.add_url_rule("/<name>", "one", protected)
    app.add_url_rule("/<name>/<int:number>", "two", protected, defaults={"name": "b"})

    answers = [client.get(path, headers=ann).json for path in ("/a", "/b/2")]

    assert answers == [{"name": "a", "number": 0}, {"name": "b", "number": 2}]


def test_view_keeps_its_name_and_signature():
    view = requires()(who)

    assert (view.__name__, view.__doc__) == ("who", "Tell who calls.")
    assert inspect.unwrap(view) is who


def test_application_without_an_authentication_service_is_told_the_cure():
    app = Flask("tests")
    app.testing = True
    FlaskRecords(app)
    app.add_url_rule("/", view_func=requires()(lambda: "passed"))

    with pytest.raises(RuntimeError, match=r"Add one: records.add\('authentication'"):
        app.test_client().get("/")


def test_forgotten_parentheses_are_told():
    with pytest.raises(TypeError, match="with parentheses: @requires"):
        requires(who)


def test_strategy_that_is_not_there_is_told(app, client, ann):
    app.add_url_rule("/", view_func=requires("jwt", "jtw")(who))

    with pytest.raises(RuntimeError, match="'requires' names 'jtw', which is not a st"):
        client.get("/", headers=ann)
