"""API keys: what they are for, and what others try with them."""

from __future__ import annotations

import hashlib
import time
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import orm
from sqlalchemy.orm import Mapped, mapped_column

from flask_records import (
    ApiKeyMixin,
    ApiKeys,
    AuthenticationService,
    FlaskRecords,
    Forbidden,
    FromUser,
    hash_password,
    requires,
    SQLAlchemyService,
    TableTokens,
)
from flask_records.accounts import AccountManagement
from flask_records.realtime import Realtime
from tests.authentication import ANY_LOGIN, bearer, CHEAP, SECRET
from tests.http.accounts.people import Base, settle, Token, User

SETTINGS = {"secret": SECRET, "passwords": CHEAP}

ANN, BEN = "ann@example.com", "ben@example.com"

KEY_HEADER = ("apiKey", "header", "X-Api-Key")

BOTH = ["jwt", "api-key"]

USERS = {"readonly": ["isVerified"], "write_once": ["email"]}

MINE = {"userId": FromUser("id")}


class Key(ApiKeyMixin, Base):
    __tablename__ = "api_key"

    userId: Mapped[int] = mapped_column(
        sa.ForeignKey("user_account.id", ondelete="CASCADE")
    )


class Room(Base):
    __tablename__ = "room"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(100))


class Message(Base):
    __tablename__ = "message"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(100))
    roomId: Mapped[int | None] = mapped_column(sa.ForeignKey("room.id"))
    room: Mapped[Room | None] = orm.relationship()


class Api:
    """An application with keys, and a client of it."""

    def __init__(self, url, **options):
        self.records = records = FlaskRecords(app_errors=True)
        self.keys = ApiKeys(Key)
        self.mails, self.written = [], []
        self.authentication = AuthenticationService(
            tokens=TableTokens(Token), strategies={"api-key": self.keys.strategy}
        )
        records.add("authentication", self.authentication)
        users = SQLAlchemyService(User, hidden=["password"], **USERS)
        users = records.add(
            "users", users, public=["create"], strategies=BOTH, allow=ANY_LOGIN
        )
        users.before("create", "update", "patch")(hash_password())
        accounts = AccountManagement(self.authentication, send=self.mails.append)
        records.add("authManagement", accounts, public=["create"])
        records.add("keys", self.keys, **{"readable": MINE, **options})
        records.add("rooms", SQLAlchemyService(Room), strategies=BOTH)
        messages = SQLAlchemyService(
            Message,
            whitelist=["$populate"],
            relations=["room"],
            aggregates=["roomId", "room.name"],
        )
        records.add("messages", messages, strategies=BOTH)
        open_rooms = SQLAlchemyService(Room)
        records.add("open", open_rooms, strategies=BOTH, public=["find"])
        self.realtime = Realtime(records)

        @records.after()
        def write_down(method, context):
            self.written.append(
                repr([context.result, context.data, context.params.extra])
            )

        records.events()(lambda event, *rest: self.written.append(repr(rest[0])))

        # The same table of keys serves another authentication service.
        staff = SQLAlchemyService(User, hidden=["password"], **USERS)
        staff = records.add("staff", staff, allow=ANY_LOGIN)
        staff.before("create", "update", "patch")(hash_password())
        options = {"strategies": {"api-key": self.keys.strategy}, "settings": "STAFF"}
        staff = AuthenticationService("staff", tokens=TableTokens(Token), **options)
        records.add("staff-login", staff)
        options = {"strategies": BOTH, "authentication": "staff-login"}
        records.add("vault", SQLAlchemyService(Room), **options)

        self.app = app = Flask("tests")
        app.config["SQLALCHEMY_DATABASE_URI"] = url
        app.config["RECORDS_AUTHENTICATION"] = {
            **SETTINGS,
            "strategies": ["local", "jwt", "api-key"],
        }
        app.config["STAFF"] = {**SETTINGS, "audience": "staff"}
        app.config["RECORDS_OPENAPI"] = {"enabled": True}
        self.db = SQLAlchemy(app, model_class=Base)
        records.init_app(app)
        self.realtime.init_app(app)
        app.add_url_rule("/view", view_func=requires(*BOTH)(lambda: "seen"))
        self.http = app.test_client()

    def send(self, method, path, key=None, **options):
        headers = {"X-Api-Key": key} if key else options.pop("headers", {})
        response = self.http.open(path, method=method, headers=headers, **options)
        return response.status_code, response.get_json(silent=True)

    def register(self, email):
        user = {"email": email, "password": "old"}
        return self.send("POST", "/users", json=user)[1]["id"]

    def log_in(self, email, password="old"):
        login = {"strategy": "local", "email": email, "password": password}
        answer = self.send("POST", "/authentication", json=login)[1]
        return bearer(answer["accessToken"])

    def make(self, email=ANN, **data):
        headers = self.log_in(email)
        status, key = self.send("POST", "/keys", headers=headers, json=data)
        assert status == 201, key
        return key


@contextmanager
def serving(url, **options):
    api = Api(url, **options)

    with api.app.app_context():
        api.db.create_all()
        room = Room(id=5, name="Lobby")
        api.db.session.add_all([room, Message(text="Hello", room=room)])
        api.db.session.commit()

    try:
        yield api
    finally:
        with api.app.app_context():
            api.db.session.remove()
            api.db.drop_all()
            api.db.engine.dispose()


@pytest.fixture
def api(database_url):
    with serving(database_url) as api:
        api.ann = api.register(ANN)
        yield api


@pytest.fixture
def scoped(api):
    """The text of a key that may find messages, and nothing else."""
    return api.make(scopes=["messages.find"])["key"]


def test_a_key_is_its_user_and_its_text_is_in_one_answer_alone(api):
    made = api.make(name="job")
    text = made.pop("key")
    headers = api.log_in(ANN)

    assert len(text) == 43
    assert made["prefix"] == text[:8]
    assert made["userId"] == api.ann
    assert made.keys().isdisjoint({"digest", "proof"})
    assert api.send("GET", "/messages", text)[0] == 200
    assert api.send("GET", f"/users/{api.ann}", text)[1]["email"] == ANN
    listed = api.send("GET", "/keys", headers=headers)[1]
    assert [each["prefix"] for each in listed] == [text[:8]]
    assert text not in repr([listed, api.written])

    with api.app.app_context():
        [row] = api.db.session.execute(sa.select(Key.__table__)).mappings()

    assert row["digest"] == hashlib.sha256(text.encode()).hexdigest()
    assert text not in repr(row)


def test_a_key_is_made_in_python(api):
    with api.app.app_context():
        made = api.records.services["keys"].create({"userId": api.ann, "name": "job"})

    assert api.send("GET", "/messages", made["key"])[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/messages", 200),
        ("HEAD", "/messages", 200),
        ("GET", "/messages?text=Hello", 200),
        ("GET", "/messages/1", 403),
        ("POST", "/messages", 403),
        ("PATCH", "/messages/1", 403),
        ("PUT", "/messages/1", 403),
        ("DELETE", "/messages/1", 403),
        ("GET", "/messages?$populate=room", 403),
        ("GET", "/messages?room.name=Lobby", 403),
        ("GET", "/messages?$sort[room.name]=1", 403),
        ("GET", "/messages?$or[0][room.name]=Lobby", 403),
        ("GET", "/messages?$group[]=room.name&$count=n", 403),
        ("GET", "/users", 403),
        ("POST", "/users", 403),
        ("GET", "/rooms", 403),
        ("GET", "/open", 403),
        ("GET", "/keys", 401),
        ("POST", "/keys", 401),
        ("DELETE", "/keys/1", 401),
        ("GET", "/view", 403),
    ],
)
def test_scopes_hold_for_calls_and_for_what_they_ask_of_others(
    api, scoped, method, path, status
):
    data = {"json": {"text": "x"}} if method in ("POST", "PATCH", "PUT") else {}

    assert api.send(method, path, scoped, **data)[0] == status


@pytest.mark.parametrize(
    "path", ["/messages?$populate=room", "/messages?room.name=Lobby"]
)
def test_a_scope_of_a_service_is_for_all_of_its_methods(api, path):
    key = api.make(scopes=["messages", "rooms.find"])["key"]

    assert len(api.send("GET", path, key)[1]) == 1
    assert api.send("POST", "/messages", key, json={"text": "x"})[0] == 201
    assert api.send("GET", "/rooms/5", key)[0] == 403
    key = api.make(scopes=["messages.create"])["key"]
    message = {"text": "y", "roomId": 5}
    url = "/messages?$populate=room"
    assert api.send("POST", url, key, json=message)[0] == 403


def test_no_key_issues_a_token_or_opens_a_connection(api, scoped):
    whole = api.make()["key"]

    for key in (scoped, whole):
        login = {"strategy": "api-key", "apiKey": key}
        assert api.send("POST", "/authentication", json=login)[0] == 401
        assert api.send("POST", "/authentication", key, json=login)[0] == 401
        assert api.send("DELETE", "/authentication", key)[0] == 401

        with pytest.raises(Forbidden, match="opens no connection"):
            api.realtime.test_client(api.app, headers={"X-Api-Key": key})

    assert api.send("GET", "/view", whole)[0] == 200


@pytest.mark.parametrize(
    "data",
    [
        {"scopes": []},
        {"scopes": "messages.find"},
        {"scopes": {"messages": True}},
        {"scopes": [1]},
        {"scopes": [["messages"]]},
        {"scopes": ["messages.finds"]},
        {"scopes": ["nothing"]},
        {"userId": 2},
        {"digest": "0" * 64},
        {"proof": "x"},
        {"prefix": "x"},
        {"issued": 2**40},
        {"used": 1},
        {"expires": "soon"},
        {"expires": 1_795_333_000_000},
        {"key": "chosen"},
        [{"name": "one"}],
    ],
)
def test_wrong_keys_are_refused(api, data):
    headers = api.log_in(ANN)
    status, answer = api.send("POST", "/keys", headers=headers, json=data)

    assert status in (400, 405), answer
    assert api.send("GET", "/keys", headers=headers)[1] == []


@pytest.mark.parametrize("change", [{"scopes": None}, {"expires": None}, {"userId": 2}])
def test_a_key_never_gets_more_scopes(api, scoped, change):
    headers = api.log_in(ANN)
    [key] = api.send("GET", "/keys", headers=headers)[1]

    status, _ = api.send("PATCH", f"/keys/{key['id']}", headers=headers, json=change)
    assert status == (200 if change == {"expires": None} else 400)
    replaced = {**key, "name": "new", "scopes": None}
    status, _ = api.send("PUT", f"/keys/{key['id']}", headers=headers, json=replaced)
    assert status == 400
    assert api.send("GET", "/rooms", scoped)[0] == 403


def test_keys_make_no_keys(database_url):
    with serving(database_url, strategies=BOTH) as api:
        api.register(ANN)

        for scopes in (["keys"], None):
            key = api.make(scopes=scopes)["key"]
            assert api.send("POST", "/keys", key, json={})[0] == 403


def test_others_neither_see_nor_end_a_key(api):
    key = api.make()
    api.register(BEN)
    ben = api.log_in(BEN)

    assert api.send("GET", "/keys", headers=ben)[1] == []
    assert api.send("DELETE", f"/keys/{key['id']}", headers=ben)[0] == 404
    assert api.send("POST", "/keys", json={})[0] == 401
    assert api.send("GET", "/messages", key["key"])[0] == 200


@pytest.mark.parametrize("place", ["/messages?apiKey=", "/messages?X-Api-Key="])
def test_a_key_is_read_from_its_header_alone(api, scoped, place):
    assert api.send("GET", place + scoped)[0] == 401


@pytest.mark.parametrize(
    "wrong", ["x", "\u00e9", "0" * 64, "' OR 1=1", "{0},{0}", "{1}"]
)
def test_another_text_is_no_key(api, scoped, wrong):
    text = wrong.format(scoped, hashlib.sha256(scoped.encode()).hexdigest())
    status, answer = api.send("GET", "/messages", text)

    assert (status, answer["message"]) == (401, "Invalid API key")


def test_a_key_ends_with_its_time(api):
    key = api.make(expires=int(time.time()) + 100)["key"]
    assert api.send("GET", "/messages", key)[0] == 200
    now = time.time

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: now() + 101)
        assert api.send("GET", "/messages", key)[0] == 401

    assert api.send("GET", "/messages", api.make(expires=0)["key"])[0] == 401


def test_a_key_ends_when_it_is_removed_or_its_user_is(api):
    headers = api.log_in(ANN)
    first, second = api.make(), api.make()
    api.send("DELETE", f"/keys/{first['id']}", headers=headers)

    assert api.send("GET", "/messages", first["key"])[0] == 401
    assert api.send("GET", "/messages", second["key"])[0] == 200
    assert api.send("DELETE", f"/users/{api.ann}", headers=headers)[0] == 200
    assert api.send("GET", "/messages", second["key"])[0] == 401


def test_a_key_ends_with_the_password_of_its_user(api):
    key = api.make()["key"]
    api.send(
        "PATCH",
        f"/users/{api.ann}",
        headers=api.log_in(ANN),
        json={"password": "new"},
    )

    assert api.send("GET", "/messages", key)[0] == 401


def test_a_key_ends_for_good_when_the_owner_of_the_address_proves_it(database_url):
    with serving(database_url) as api:
        api.register(ANN)
        key = api.make()["key"]
        action = {"action": "resendVerifySignup", "value": {"email": ANN}}
        assert api.send("POST", "/authManagement", json=action)[0] == 201
        settle()
        action = {"action": "verifySignupLong", "value": api.mails[-1].token}
        assert api.send("GET", "/messages", key)[0] == 200
        assert api.send("POST", "/authManagement", json=action)[0] == 201
        assert api.send("GET", "/messages", key)[0] == 401
        now = time.time

        # A month later, what was stored for tokens is cleaned up.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "time", lambda: now() + 30 * 24 * 60 * 60)
            api.register(BEN)
            login = api.log_in(BEN)

            with api.app.app_context():
                api.authentication.revoke_user(
                    api.send("GET", "/users", headers=login)[1][-1]["id"]
                )

            assert api.send("GET", "/messages", key)[0] == 401


def test_the_last_use_is_written_once_a_minute(api):
    key = api.make()
    now = time.time

    def used(seconds):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "time", lambda: now() + seconds)
            assert api.send("GET", "/messages", key["key"])[0] == 200

            with api.app.app_context():
                return api.db.session.scalar(sa.select(Key.used))

    assert key["used"] is None
    first = used(0)
    assert abs(first - now()) < 10
    assert used(30) == first
    assert used(90) >= first + 60


def test_a_key_is_none_for_other_users_with_the_same_identifier(api):
    key = api.make()["key"]

    assert api.send("GET", "/vault", key)[0] == 401
    assert api.send("GET", "/messages", key)[0] == 200


def test_documents_show_a_key_as_a_header(api, scoped):
    document = api.send("GET", "/openapi.json")[1]
    scheme = document["components"]["securitySchemes"]["api-key"]

    assert (scheme["type"], scheme["in"], scheme["name"]) == KEY_HEADER

    own = api.send("GET", "/openapi.json?for=me", scoped)[1]["paths"]
    assert [*own["/messages"]] == ["get"]
    assert own.keys().isdisjoint({"/messages/{id}", "/rooms", "/open", "/users"})


def test_keys_need_a_rule():
    with (
        pytest.raises(ValueError, match="what belongs to others"),
        serving("sqlite://", readable=None),
    ):
        pass
