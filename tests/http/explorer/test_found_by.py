"""Records that another user finds, for callers whom a rule of the application lets."""

from contextlib import contextmanager

import pytest

from flask_records import (
    AuthenticationService,
    FromUser,
    NotFound,
    SQLAlchemyService,
    Strategy,
)
from flask_records.explorer import Explorer

from ...authentication import bearer, CHEAP, log_in, make_records, SECRET
from ...models import Message
from .sites import SERVICES, serving_explorer

BEN = {"email": "ben@example.com", "password": "correct horse"}

STAFF = {"secret": SECRET, "passwords": CHEAP, "audience": "staff"}


def is_ann(user):
    return user["email"].startswith("ann")


def token_of_ann(service, data, params):
    return {"user": service.get_user(1), "authentication": {"scopes": ["messages"]}}


SCOPED = Strategy(token_of_ann, lambda headers: {} if "X-Ann" in headers else None)


@contextmanager
def serving_messages(as_user=is_ann):
    """A client of an application in which each user finds their own messages: Ann has
    two, and Ben, whose identifier is 2, has one.
    """
    records = make_records(strategies={"api-key": SCOPED})
    records.add("staff", AuthenticationService(settings="STAFF"))
    mine = {"user_id": FromUser("id")}
    service = SQLAlchemyService(Message, paginate={"default": 10})
    strategies = ["jwt", "api-key"]
    records.add("messages", service, readable=mine, strategies=strategies)
    explorer = {"as_user": as_user}

    with serving_explorer(records, options=explorer, STAFF=STAFF) as client:
        client.post("/users", json=BEN)

        with client.application.app_context():
            for text, user_id in [("one", 1), ("two", 1), ("three", 2)]:
                records.services["messages"].create({"text": text, "user_id": user_id})

        yield client, records


def found_by(client, path="2/messages", **options):
    return client.get(f"/_records/found-by/{path}", **options)


def test_caller_sees_what_another_user_finds_and_it_is_logged(caplog):
    caplog.set_level("INFO")

    with serving_messages() as (client, _):
        headers = bearer(log_in(client))
        answer = found_by(client, headers=headers, query_string="$select[]=text")
        alone = found_by(client, "2/messages?text=one", headers=headers)
        users = found_by(client, "2/users", headers=headers)
        has_others = client.get(SERVICES, headers=headers).json["hasOthers"]

    assert [each["text"] for each in answer.json["data"]] == ["three"]
    assert "1 sees messages as 2." in caplog.text
    assert (alone.json["total"], has_others) == (0, True)
    assert "password" not in users.text
    assert "no-cache" in answer.headers["Cache-Control"]


@pytest.mark.parametrize("as_user", [None, lambda user: 1, lambda user: {"id": 1}])
def test_nobody_sees_others_unless_the_rule_says_true(as_user):
    with serving_messages(as_user) as (client, _):
        headers = bearer(log_in(client))

        assert found_by(client, headers=headers).status_code == 403
        assert client.get(SERVICES, headers=headers).json["hasOthers"] is False


def test_logins_that_are_not_the_users_own_do_not_see_others():
    with serving_messages() as (client, _):
        ben = client.post("/authentication", json={"strategy": "local", **BEN}).json
        callers = [
            {},
            bearer(ben["accessToken"]),
            bearer(log_in(client, "/staff")),
            {"X-Ann": "scoped"},
        ]
        statuses = [found_by(client, headers=each).status_code for each in callers]

    assert statuses == [403] * 4


def test_users_and_services_that_the_caller_does_not_see_are_not_found():
    with serving_messages() as (client, records):

        @records.services["users"].before("get")
        def hide_others(method, context):
            if context.params.provider and int(context.id) != context.params.user_id:
                raise NotFound("There is no such user.")

        headers = bearer(log_in(client))
        paths = ["2/messages", "7/messages", "1/nothing", "1/authentication"]
        answers = [found_by(client, path, headers=headers) for path in paths]

        assert found_by(client, "1/messages", headers=headers).json["total"] == 2
        large = "1/messages?" + "&".join(f"$or[{n}][id]=1" for n in range(60))
        assert found_by(client, large, headers=headers).status_code == 400

    assert [each.status_code for each in answers] == [404, 404, 404, 405]


def test_nothing_is_written_for_another_user():
    with serving_messages() as (client, records):
        headers = bearer(log_in(client))
        messages = records.services["messages"]
        messages.after("find")(
            lambda method, context: messages.create({"text": "seen", "user_id": 2})
        )
        found = found_by(client, headers=headers)
        verbs = (client.post, client.put, client.patch, client.delete)
        url = "/_records/found-by/2/messages"
        refused = [each(url, json={"text": "x"}, headers=headers) for each in verbs]

        with client.application.app_context():
            texts = [each["text"] for each in messages.find().data]

    assert [each.status_code for each in (found, *refused)] == [200, *[405] * 4]
    assert texts == ["one", "two", "three"]


def test_rule_that_is_not_a_function_is_refused():
    with pytest.raises(TypeError, match="'as_user' must be a function of the user"):
        Explorer(make_records(), as_user=True)
