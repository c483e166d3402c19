"""The messages of workers, and the values that never leave a process."""

import json
from contextlib import ExitStack

import pytest

from flask_records import FromUser, SQLAlchemyService

from ...authentication import ANN, bearer
from ...models import Message, User
from ...realtime import BOB, in_memory, make_live_records


class Told(list):
    """The entries of a log, as text."""

    def messages(self, path):
        """The messages of the events of a service, but for those of Ann."""
        entries = map(json.loads, self)
        messages = [each for entry in entries for each in entry.get("events", ())]
        ann = ANN["email"]
        return [
            message
            for message in messages
            if message["service"] == path and message["record"].get("email") != ann
        ]


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def open_site(told, tmp_path):
    """A function that opens a site with a log that is told."""
    with ExitStack() as stack:

        def open(records):
            site = stack.enter_context(in_memory(records, tmp_path))
            stack.enter_context(site.app.app_context())
            log = site.app.extensions["records_realtime"].log
            append = log.append

            def tell(entries, **options):
                told.extend(entry.decode() for entry in entries)
                append(entries, **options)

            log.append = tell
            # Events are made only if there is a connection.
            site.connect()
            return site

        yield open


def own(user):
    return {"id": user["id"] if user else None, "age": [5, 6]}


@pytest.mark.parametrize("rule", [None, own])
@pytest.mark.parametrize("path", ["users", "people", "staff"])
def test_no_password_and_no_hidden_field_leaves_the_process(
    told, open_site, path, rule
):
    """All three services are over one model."""
    records = make_live_records()
    hidden = {"people": ["password", "age"], "staff": ["password"]}

    for name in hidden:
        people = SQLAlchemyService(User, hidden=hidden[name], readonly=["password"])
        records.add(name, people, readable=rule)

    service = records[path]
    open_site(records)

    service.create({"email": "eve@example.com", "password": "$argon2 1", "age": 5})
    service.patch(2, {"password": "$argon2 2"})
    service.patch(2, {"age": 6})
    service.remove(2)

    messages = told.messages(path)
    assert len(messages) == 4
    assert "password" not in str(told)
    assert "argon2" not in str(told)
    assert ("age" in messages[0]["record"]) is (path != "people")
    assert all("age" not in each["rule_values"] for each in messages)


def test_hidden_field_travels_with_the_record_if_a_query_names_it(told, open_site):
    records = make_live_records()
    service = SQLAlchemyService(Message, hidden=["user_id", "rank"])
    letters = records.add("letters", service, readable={"user_id": FromUser("id")})
    site = open_site(records)
    site.register(BOB)
    ann, bob = site.connect(ANN), site.connect(BOB)

    letters.create({"text": "Hi", "user_id": 1, "rank": 5})
    created = ann.events()
    letters.remove(1)
    removed = ann.events()

    first, second = told.messages("letters")
    shown = {"id": 1, "text": "Hi", "read": False, "room_id": None, "is_long": False}
    assert [name for name, _ in created + removed] == [
        "letters created",
        "letters removed",
    ]
    assert bob.events() == []
    assert first["record"] == second["record"] == shown
    assert first["rule_values"] == second["rule_values"] == {"user_id": 1}


def test_login_and_logout_tell_nothing_that_lets_in(told, open_site):
    site = open_site(make_live_records())
    token = site.token()
    site.http.delete("/authentication", headers=bearer(token))

    login, logout = told.messages("authentication")

    payload = {"jti": login["record"]["authentication"]["payload"]["jti"]}
    assert payload["jti"]
    assert login["record"] == {"authentication": {"payload": payload}}
    assert logout["record"] == login["record"]
    assert token not in str(told)
