"""The ``readable`` rule, in calls and in events."""

from contextlib import contextmanager, ExitStack

import pytest

from flask_records import (
    AuthenticationService,
    FromUser,
    Params,
    SQLAlchemyService,
    Strategy,
    Transaction,
)

from ...authentication import ANN, API_KEY, bearer, CHEAP, make_records
from ...models import Message, User
from ...realtime import BOB, in_memory, live, make_live_records

EVENTS = ["created", "patched", "updated", "typing", "removed"]


def own_or_read(user):
    """The messages of the user, and all that are read."""
    return {"$or": [{"user_id": user["id"] if user else None}, {"read": True}]}


def own(user):
    return {"user_id": user["id"]}


OWN_OR_READ = {"$or": [{"user_id": FromUser("id")}, {"read": True}]}


@pytest.fixture(params=[own_or_read, OWN_OR_READ], ids=["function", "query"])
def site(open_site, request):
    return open_site(request.param)


@contextmanager
def sites(readable, tmp_path, **options):
    with in_memory(make_live_records(readable=readable, **options), tmp_path) as site:
        site.register(BOB)

        with site.app.app_context():
            yield site


@pytest.fixture
def open_site(tmp_path):
    """A function that opens a site where messages are readable by a rule."""
    with ExitStack() as stack:
        yield lambda readable, **options: stack.enter_context(
            sites(readable, tmp_path, **options)
        )


def ids(events):
    return [(name.removeprefix("messages "), record["id"]) for name, record in events]


def written(site, **values):
    """The id of a record after each of its events."""
    messages = site.records["messages"]
    record = messages.create({"text": "Hi", **values})
    id = record["id"]
    messages.patch(id, {"rank": 1})
    messages.update(id, {"text": "Ho", **values})
    messages.emit("typing", record)
    messages.remove(id)
    return id


def test_populated_records_are_those_that_the_user_may_see(site):
    messages = site.records["messages"]
    room = site.records["rooms"].create({"name": "Lobby"})
    messages.create({"text": "A", "user_id": 1, "room_id": room["id"]})
    messages.create({"text": "B", "user_id": 2, "room_id": room["id"]})
    query = {"$populate": ["messages"]}

    over_socket = site.connect(ANN).result("get", "rooms", 1, query)
    url = "/rooms/1?$populate[]=messages"
    over_http = site.http.get(url, headers=bearer(site.token())).json

    assert over_socket == over_http
    assert [message["text"] for message in over_socket["messages"]] == ["A"]


def test_event_of_every_kind_reaches_those_who_may_see_the_record(site):
    ann, bob, nobody = site.connect(ANN), site.connect(BOB), site.connect()

    first = written(site, user_id=1)
    second = written(site, user_id=2, read=True)

    of_first = [(event, first) for event in EVENTS]
    of_second = [(event, second) for event in EVENTS]
    assert ids(ann.events()) == of_first + of_second
    assert ids(bob.events()) == of_second
    assert nobody.events() == []


@pytest.mark.parametrize("method", ["create", "patch", "update", "remove"])
def test_selection_that_leaves_out_what_the_rule_is_about_leaks_nothing(site, method):
    ann, bob = site.connect(ANN), site.connect(BOB)
    messages = site.records["messages"]
    params = Params(query={"$select": ["text"]})

    if method != "create":
        messages._create({"text": "Hi", "user_id": 1})

    arguments = {
        "create": [{"text": "Hi", "user_id": 1}],
        "patch": [1, {"text": "Ho"}],
        "update": [1, {"text": "Ho", "user_id": 1}],
        "remove": [1],
    }
    getattr(messages, method)(*arguments[method], params)

    assert bob.events() == []
    assert [record["id"] for _, record in ann.events()] == [1]


@pytest.mark.parametrize(
    "rule",
    [
        {"text": {"$search": "for ann"}},
        {"text": {"$lt": "B"}},
        {"$not": {"text": {"$search": "bob"}}},
        {"$or": [{"text": {"$search": "for ann"}}, {"rank": 77}]},
    ],
    ids=str,
)
def test_rule_that_only_the_database_can_decide_applies(open_site, rule):
    ann_or_nothing = {1: rule, 2: {"id": None}}
    site = open_site(lambda user: ann_or_nothing[user["id"]])
    ann, bob = site.connect(ANN), site.connect(BOB)

    site.records["messages"].create([{"text": "A for ann"}, {"text": "C for bob"}])

    assert [record["text"] for name, record in ann.events()] == ["A for ann"]
    assert bob.events() == []


@pytest.mark.parametrize(
    "rule", ["raise", {"nope": 1}, {"id": "x"}, {"$x": 1}, 5, "id", {}, [], "", 0]
)
def test_rule_that_fails_lets_nobody_see(open_site, rule, caplog):
    def readable(user):
        if user["id"] == 2:
            return rule if rule != "raise" else 1 / 0

        return True

    site = open_site(readable)
    ann, bob = site.connect(ANN), site.connect(BOB)

    created = ann.result("create", "messages", {"text": "A"})

    assert ann.events() == [["messages created", created]]
    assert bob.events() == []
    assert bob.call("find", "messages")[0] is not None


def test_record_that_moves_is_seen_by_those_who_see_it_then(open_site):
    site = open_site(own)
    ann, bob = site.connect(ANN), site.connect(BOB)
    messages = site.records["messages"]
    messages.create({"text": "A", "user_id": 1})
    messages.patch(1, {"user_id": 2, "text": "B"})
    messages.patch(1, {"text": "C"})

    assert [record["text"] for name, record in ann.events()] == ["A"]
    assert [record["text"] for name, record in bob.events()] == ["B", "C"]


def by_age(user):
    return {"rank": {"$lte": user["age"] or 0}}


@pytest.mark.parametrize("rule", [by_age, {"rank": FromUser("age")}])
def test_rights_are_those_of_now_not_of_the_login(open_site, rule):
    site = open_site(rule)
    ann = site.connect(ANN)
    users, messages = site.records["users"], site.records["messages"]

    messages.create({"text": "A", "rank": 18})
    users.patch(1, {"age": 18})
    messages.create({"text": "B", "rank": 18})
    users.patch(1, {"age": 10})
    messages.create({"text": "C", "rank": 18})

    seen = [r["text"] for name, r in ann.events() if name.startswith("messages")]
    assert seen == ["B"]


def test_rights_that_are_taken_later_in_a_transaction_are_gone_for_all_of_it(open_site):
    site = open_site(by_age)
    site.records["users"].patch(1, {"age": 18})
    ann = site.connect(ANN)

    with Transaction():
        site.records["messages"].create({"text": "A", "rank": 18})
        site.records["users"].patch(1, {"age": 10})

    assert [name for name in ann.names() if name.startswith("messages")] == []


def test_anonymous_connection_sees_what_is_readable_for_nobody(open_site):
    site = open_site(own_or_read, public=["find"])
    site.records["messages"].publish()(lambda *_: ["anonymous"])
    nobody = site.connect()

    site.records["messages"].create([{"text": "A", "user_id": 1}])
    site.records["messages"].create([{"text": "B", "user_id": 1, "read": True}])

    assert [record["text"] for name, record in nobody.events()] == ["B"]


@pytest.mark.parametrize(
    "options", [{"authentication": "staff"}, {"strategies": ["api-key"]}]
)
def test_rule_of_public_service_is_not_asked_about_users_of_other_logins(
    options, tmp_path
):
    """Number 1 of the users may be number 1 of the staff."""
    readable = {"$or": [{"user_id": FromUser("id")}, {"read": True}]}
    options = {**options, "public": ["find"]}
    records = make_live_records(readable=readable, **options)
    records.add("staff", AuthenticationService(settings="STAFF"))
    settings = {"secret": "t" * 32, "passwords": CHEAP, "audience": "staff"}

    with live(records, tmp_path, STAFF=settings) as site:
        ann = site.connect(ANN)

        with site.app.app_context():
            records["messages"].create([{"text": "A", "user_id": 1}])
            records["messages"].create([{"text": "B", "user_id": 2, "read": True}])

        found = ann.result("find", "messages")
        seen = [record for name, record in ann.events()]

    assert [record["text"] for record in seen] == ["B"]
    assert seen == found


@pytest.mark.parametrize("user", [{}, {"id": 1}])
def test_users_of_a_strategy_of_its_own_see_their_own_records(user, tmp_path):
    """A key may stand for a team, or for a user in one of several teams."""

    def authenticate(service, data, params):
        return {"user": {**user, "teamId": data["team"]}}

    def team_in(headers):
        team = headers.get("X-Team")
        return team and {"team": int(team)}

    records = make_records(
        users=SQLAlchemyService(User, hidden=["password"]),
        strategies={"api-key": API_KEY, "team": Strategy(authenticate, team_in)},
    )
    own = {"rank": FromUser("teamId")}
    service = SQLAlchemyService(Message, multi=True)
    records.add("messages", service, strategies=["team"], readable=own)

    with live(records, tmp_path) as site:
        clients = [site.connect(X_Team=team) for team in "12"]

        with site.app.app_context():
            bodies = [{"text": "A", "rank": 1}, {"text": "B", "rank": 2}]
            records["messages"].create(bodies)

        found = [client.result("find", "messages") for client in clients]
        seen = [[record for name, record in each.events()] for each in clients]

    assert [[record["text"] for record in each] for each in seen] == [["A"], ["B"]]
    assert seen == found


@pytest.mark.parametrize(
    "record", [{"text": "x"}, {"id": 99}, {"id": "x"}, [], None, 5]
)
def test_custom_event_of_what_is_no_record_reaches_nobody(open_site, record, caplog):
    site = open_site(own)
    ann = site.connect(ANN)

    site.records["messages"].emit("typing", record)

    assert ann.events() == []


def test_row_that_is_gone_when_the_rule_is_asked_reaches_nobody(open_site):
    site = open_site(lambda user: {"text": {"$search": "a"}})
    ann = site.connect(ANN)

    with Transaction():
        site.records["messages"].create({"text": "a"})
        site.records["messages"]._remove(1)

    assert ann.events() == []


def test_later_values_of_a_record_show_no_earlier_event(open_site):
    site = open_site(lambda user: {"text": {"$search": "public"}})
    ann = site.connect(ANN)
    messages = site.records["messages"]

    with Transaction():
        messages.create({"text": "secret"})
        messages.patch(1, {"text": "public"})

    assert [record["text"] for name, record in ann.events()] == ["public"]
