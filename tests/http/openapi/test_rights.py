"""The documents of what one caller may use."""

import json

import pytest

from flask_records import SQLAlchemyService

from ...authentication import ANN, bearer, log_in, LOGIN, make_records, serving
from ...models import User
from .test_served import ON


class Bell:
    def find(self, params):
        return ["ding"]

    def create(self, data, params):
        return data

    def ring(self, data, params):
        return None

    def mute(self, data, params):
        return None


def methods_of(made):
    """The operations of each path, by their verbs."""
    verbs = {"get", "post", "put", "patch", "delete"}
    return {path: sorted(verbs & set(item)) for path, item in made["paths"].items()}


@pytest.fixture(scope="module")
def client():
    records = make_records()
    methods = ["find", "create", "ring", "mute"]
    records.add("bell", Bell(), public=["find", "ring"], methods=methods)
    records.add("robots", Bell(), strategies=["api-key"])

    with serving(records, RECORDS_OPENAPI=ON) as client:
        yield client


def test_anonymous_client_may_use_what_needs_no_login(client):
    made = client.get("/openapi.json?for=me").json

    assert methods_of(made) == {
        "/authentication": ["post"],
        "/users": ["post"],
        "/echo": ["get", "post"],
        "/echo/{id}": ["get"],
        "/bell": ["get", "post"],
    }
    assert [tag["name"] for tag in made["tags"]] == [
        *("authentication", "users", "echo", "bell")
    ]
    assert not {"Secrets", "UsersPatch", "Robots"} & {*made["components"]["schemas"]}
    # A custom method needs a login, too.
    (header,) = made["paths"]["/bell"]["post"]["parameters"]
    assert (header["schema"]["enum"], header["required"]) == (["ring"], True)


def test_methods_that_allow_refuses_are_left_out():
    records = make_records()
    rules = {"create": lambda user: user is not None, "ring": lambda user: False}
    methods = ["find", "create", "ring"]
    records.add("bell", Bell(), methods=methods, public=True, allow=rules)

    with serving(records, RECORDS_OPENAPI=ON) as client:
        nobody = client.get("/openapi.json?for=me").json
        ann = client.get("/openapi.json?for=me", headers=bearer(log_in(client))).json

    assert methods_of(nobody)["/bell"] == ["get"]
    assert methods_of(ann)["/bell"] == ["get", "post"]
    assert "ring" not in json.dumps(ann["paths"]["/bell"]["post"]["parameters"])


def test_rules_are_not_asked_about_users_of_other_logins():
    records = make_records()
    rules = {"create": lambda user: user is not None}
    options = {"methods": ["find", "create"], "public": True, "allow": rules}
    records.add("bell", Bell(), strategies=["api-key"], **options)

    with serving(records, RECORDS_OPENAPI=ON) as client:
        headers = bearer(log_in(client))
        made = client.get("/openapi.json?for=me", headers=headers).json
        status = client.post("/bell", json={}, headers=headers).status_code

    assert status == 403
    assert methods_of(made)["/bell"] == ["get"]


def test_invalid_login_is_refused(client):
    answer = client.get("/openapi.json?for=me", headers={"Authorization": "Bearer no"})

    assert (answer.status_code, answer.json["message"]) == (401, "jwt malformed")


def test_each_caller_gets_its_own_document():
    is_ann = {"age": lambda user: user is not None and user["id"] == 1}
    users = SQLAlchemyService(User, hidden=["password"], visible=is_ann)
    records = make_records(users=users)
    ben = {**ANN, "email": "ben@example.com"}

    with serving(records, RECORDS_OPENAPI=ON) as client:
        client.post("/users", json=ben)
        login = client.post("/authentication", json={**LOGIN, **ben})
        ben_token = login.json["accessToken"]
        documents = [
            client.get("/openapi.json?for=me", headers=headers).json
            for headers in (bearer(log_in(client)), bearer(ben_token), {})
        ]

    users = [each["components"]["schemas"]["Users"] for each in documents]
    assert ["age" in each["properties"] for each in users] == [True, False, False]
    texts = [json.dumps(each) for each in documents]
    assert ["secrets" in each for each in texts] == [True, True, False]


def test_fields_that_not_all_callers_write_are_not_required():
    by_rule = {"email": lambda user: {"id": 1}}
    users = SQLAlchemyService(User, hidden=["password"], writable=by_rule)

    with serving(make_records(users=users), RECORDS_OPENAPI=ON) as client:
        made = client.get("/openapi.json").json

    body = made["components"]["schemas"]["UsersCreate"]
    assert "email" in body["properties"]
    assert "email" not in body["required"]
