"""Requests of pages of other origins, as ``RECORDS_CORS`` allows them."""

import pytest
from flask import Flask
from flask_cors import CORS
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address

from flask_records import BadRequest, FlaskRecords
from flask_records.authentication.settings import AuthenticationSettings
from flask_records.realtime.settings import Settings as RealtimeSettings

from ..authentication import SECRET

APP = "https://app.example"
IONIC = "capacitor://localhost"
EVIL = "https://evil.example"
LIMITS = {"RATELIMIT_STORAGE_URI": "memory://"}
ALLOWED = "Access-Control-Allow-Origin"
CREDENTIALS = "Access-Control-Allow-Credentials"


class Things:
    def find(self, params):
        return [{"id": 1}]

    def get(self, id, params):
        raise {"broken": ValueError("secret"), "bad": BadRequest("no")}[id]

    def create(self, data, params):
        return data


def make_app(cors, **config):
    app = Flask("tests")
    limiter = Limiter(get_remote_address)
    records = FlaskRecords(limiter=limiter, logger=False)
    records.add("things", Things(), public=True)
    app.config.update(
        RECORDS_CORS=cors,
        RECORDS_LIMITS={"things.create": "1 per minute"},
        MAX_CONTENT_LENGTH=1000,
        **{**LIMITS, **config},
    )
    app.add_url_rule("/page", "page", lambda: "Hello")
    return app, records


@pytest.fixture(scope="module")
def client():
    app, records = make_app({"origins": [f"{APP}/", "HTTP://[::1]:3000", IONIC]})
    records.init_app(app)
    return app.test_client()


def of(origin):
    return {"Origin": origin}


def preflight(client, path, origin, verb="PATCH", headers="authorization,content-type"):
    asked = {
        "Access-Control-Request-Method": verb,
        "Access-Control-Request-Headers": headers,
    }
    return client.options(path, headers={**of(origin), **asked})


@pytest.mark.parametrize("origin", [APP, "http://[::1]:3000", IONIC])
def test_pages_of_the_origins_read_responses(client, origin):
    answer = client.get("/things", headers=of(origin))

    exposed = answer.headers["Access-Control-Expose-Headers"].split(", ")
    assert answer.headers[ALLOWED] == origin
    assert {"ETag", "Retry-After", "WWW-Authenticate"} <= set(exposed)
    assert CREDENTIALS not in answer.headers


@pytest.mark.parametrize(
    "origin",
    [
        *(EVIL, "http://app.example", f"{APP}:444", f"{APP}.evil.example", "x"),
        *("https://appxexample", "http://:3000", "http://1:3000"),
        *("capacitor://evil", f"{APP}/", f"x{APP}", "NULL", "*"),
    ],
)
def test_other_pages_read_nothing(client, origin):
    answers = [client.get("/things", headers=of(origin))]
    answers += [preflight(client, "/things", origin)]

    assert not [name for each in answers for name in each.headers if "Access" in name]


@pytest.mark.parametrize("verb", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_preflight_request_allows_the_verb_and_the_headers(client, verb):
    names = "authorization, x-service-method"
    answer = preflight(client, "/things/1", APP, verb, names)

    headers = answer.headers
    assert (answer.status_code, headers[ALLOWED]) == (204, APP)
    assert verb in headers["Access-Control-Allow-Methods"]
    assert headers["Access-Control-Allow-Headers"] == names
    assert headers["Access-Control-Max-Age"] == "600"


def test_errors_of_all_kinds_are_read(client):
    headers = of(APP)
    things = "/things"
    answers = [
        client.get(f"{things}/bad", headers=headers),
        client.get(f"{things}/broken", headers=headers),
        client.delete(f"{things}/1", headers=headers),
        client.get(f"{things}?$x=1&=2", headers={**headers, "X-Service-Method": "y"}),
        client.post(things, json={"text": "x" * 2000}, headers=headers),
        client.post(things, json={}, headers=headers),
        client.post(things, json={}, headers=headers),
    ]

    statuses = [answer.status_code for answer in answers]
    assert statuses[:3] + statuses[-1:] == [400, 500, 405, 429]
    assert 413 in statuses
    assert {answer.headers.get(ALLOWED) for answer in answers} == {APP}
    assert answers[-1].headers["Retry-After"]


@pytest.mark.parametrize(
    "headers", [{}, of(APP), of(EVIL)], ids=["none", "app", "evil"]
)
def test_caches_keep_the_origins_apart(client, headers):
    answer = client.get("/things", headers=headers)

    assert "Origin" in answer.headers["Vary"].split(", ")


def test_lines_of_vary_of_the_application_stay():
    app, records = make_app({"origins": [APP]})
    records.init_app(app)

    @app.after_request
    def add_lines(response):
        response.headers.add("Vary", "Cookie")
        response.headers.add("Vary", "Accept-Language")
        return response

    lines = app.test_client().get("/things", headers=of(APP)).headers.getlist("Vary")

    assert {"Cookie", "Accept-Language", "Origin"} <= {*", ".join(lines).split(", ")}


def test_pages_of_the_application_are_its_own(client):
    answer = client.get("/page", headers=of(APP))

    assert ALLOWED not in answer.headers
    assert "Vary" not in answer.headers


def test_script_is_loaded_by_pages_of_the_origins(client):
    answer = client.get("/flask_records/feathers.min.js", headers=of(APP))

    assert (answer.status_code, answer.headers[ALLOWED]) == (200, APP)
    assert "javascript" in answer.headers["Content-Type"]


@pytest.mark.parametrize(
    ("cors", "allowed", "credentials", "vary"),
    [
        ({"origins": "*"}, "*", None, None),
        ({"origins": [APP], "credentials": True}, APP, "true", "Origin"),
    ],
)
def test_settings_allow_all_origins_or_cookies(cors, allowed, credentials, vary):
    app, records = make_app(cors)
    records.init_app(app)

    headers = app.test_client().get("/things", headers=of(APP)).headers

    names = ALLOWED, CREDENTIALS, "Vary"
    assert [headers.get(name) for name in names] == [allowed, credentials, vary]


def test_headers_of_the_extension_of_the_application_are_not_doubled():
    app, records = make_app({"origins": [APP]})
    records.init_app(app)
    CORS(app, origins=[APP], resources=["/page", "/things"])

    for path in ("/things", "/page"):
        answer = app.test_client().get(path, headers=of(APP))
        assert answer.headers.getlist(ALLOWED) == [APP]


# Settings


def app_with(cors, **config):
    app = Flask("tests")
    app.config.update(
        RECORDS_CORS=cors, RECORDS_AUTHENTICATION={"secret": SECRET}, **config
    )
    return app


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "must be a mapping such as {'origins': "),
        ([APP], "must be a mapping such as {'origins': "),
        ({"origin": [APP]}, "has no key 'origin'"),
        ({"origins": {APP: True}}, r"\['origins'\] must be a list"),
        (
            {"origins": [APP, "app.example"]},
            r"\['origins'\]\[1\] is 'app.example', which",
        ),
        ({"origins": [f"{APP}/path"]}, r"\[0\] is .* not an origin"),
        ({"origins": [f"{APP}?x"]}, r"\[0\] is .* not an origin"),
        ({"origins": ["https://*.app.example"]}, r"\[0\] is .* not an origin"),
        ({"origins": ["file://x"]}, r"\[0\] is .* not an origin"),
        ({"origins": [5]}, r"\[0\] is 5, which is not an origin"),
        ({"origins": ["*"]}, "stands alone"),
        ({"origins": "*", "credentials": True}, "needs .* that name the origins"),
        ({"origins": [APP], "credentials": "yes"}, "True or False"),
        ({"credentials": True}, r"needs RECORDS_CORS\['origins'\]"),
        ({"origins": [], "credentials": True}, "needs .* that name the origins"),
    ],
    ids=str,
)
def test_wrong_setting_is_named_at_the_start(value, message):
    with pytest.raises(RuntimeError, match=f"RECORDS_CORS.*{message}"):
        FlaskRecords().init_app(app_with(value))


@pytest.mark.parametrize(
    ("cors", "sockets", "oauth", "of_sockets", "of_logins"),
    [
        ([APP, IONIC], {}, {}, (APP, IONIC), (APP,)),
        ("*", {"origins": f"{EVIL}/"}, {"origins": [APP]}, (EVIL,), (APP,)),
        # No login returns to any origin.
        ("*", {}, {}, ("*",), ()),
    ],
)
def test_origins_of_sockets_and_logins(cors, sockets, oauth, of_sockets, of_logins):
    app = app_with({"origins": cors}, RECORDS_REALTIME=sockets)
    app.config["RECORDS_AUTHENTICATION"]["oauth"] = oauth

    settings = AuthenticationSettings.of(app, "RECORDS_AUTHENTICATION")
    assert RealtimeSettings.of(app).origins == of_sockets
    assert settings.oauth.origins == of_logins
