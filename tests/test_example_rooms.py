"""The rooms of the example application, and who is in them."""

from __future__ import annotations

import time

import pytest
import sqlalchemy as sa

from .example import kind
from .example import new_room
from .example import ON_SQLITE
from .sql import statements_of

NOT_FOUND = (404, "NotFound")


@pytest.fixture
def room(api, ann):
    """A private room of Ann."""
    return made_room(api, ann)


def made_room(api, owner, **fields):
    data = {**new_room(), "private": True, **fields}
    status, room = api("POST", "/rooms", data, owner.token)
    assert status == 201, room
    return room


def add(api, owner, room, person):
    data = {"roomId": room["id"], "userId": person.id}
    return api("POST", "/members", data, owner.token)


def write(api, person, room, text="hello"):
    return api("POST", "/messages", {"text": text, "roomId": room["id"]}, person.token)


def seen(api, person, path):
    """The ids of the records that somebody finds."""
    status, page = api("GET", f"{path}&$limit=50", None, person.token)
    assert status == 200, page
    assert page["total"] == len(page["data"])
    return [record["id"] for record in page["data"]]


def members_of(api, person, room):
    page = api("GET", f"/members?roomId={room['id']}", None, person.token)[1]
    return [member["userId"] for member in page["data"]]


def insert(example, model, rows):
    with example.app.app_context():
        example.db.session.execute(sa.insert(model), rows)
        example.db.session.commit()


def test_owner_of_a_room_is_in_it(api, ann, room):
    assert members_of(api, ann, room) == [ann.id]
    assert api("GET", f"/rooms/{room['id']}", None, ann.token) == (200, room)


def test_owner_is_in_the_room_whatever_is_selected(api, ann):
    room = api("POST", "/rooms?$select=name", new_room(), ann.token)[1]

    assert sorted(room) == ["id", "name"]
    assert members_of(api, ann, room) == [ann.id]


def test_private_room_is_seen_by_those_who_are_in_it(api, ann, bob, room):
    path = f"/rooms?id={room['id']}"
    before = seen(api, bob, path)

    status, member = add(api, ann, room, bob)

    assert status == 201
    assert member == {"id": member["id"], "roomId": room["id"], "userId": bob.id}
    assert (before, seen(api, bob, path)) == ([], [room["id"]])
    assert members_of(api, bob, room) == [ann.id, bob.id]


def test_messages_of_a_private_room_are_seen_by_those_who_are_in_it(
    api, ann, bob, room
):
    message = write(api, ann, room)[1]
    path = f"/messages?roomId={room['id']}"
    before = seen(api, bob, path), kind(write(api, bob, room))

    member = add(api, ann, room, bob)[1]
    during = seen(api, bob, path), write(api, bob, room)[0]
    api("DELETE", f"/members/{member['id']}", None, ann.token)
    after = seen(api, bob, path), kind(write(api, bob, room))

    assert before == after == ([], (409, "Conflict"))
    assert during == ([message["id"]], 201)


def test_members_are_not_told_to_others(api, ann, bob, room):
    id = api("GET", f"/members?roomId={room['id']}", None, ann.token)[1]["data"][0][
        "id"
    ]

    assert members_of(api, bob, room) == []
    assert kind(api("GET", f"/members/{id}", None, bob.token)) == NOT_FOUND
    assert kind(api("DELETE", f"/members/{id}", None, bob.token)) == NOT_FOUND


def test_members_are_shown_with_their_users(api, ann, room):
    path = f"/members?roomId={room['id']}&$populate[]=user&$populate[]=room"

    (member,) = api("GET", path, None, ann.token)[1]["data"]

    assert member["room"] == room
    assert (member["user"]["id"], member["user"]["name"]) == (ann.id, "Ann")
    assert "password" not in member["user"]


def test_only_the_owner_adds_members(api, ann, bob, room):
    eve = api.person()
    stranger = add(api, bob, room, bob)
    add(api, ann, room, bob)

    member = add(api, bob, room, eve)

    assert kind(stranger) == (409, "Conflict")
    assert kind(member) == (403, "Forbidden")
    assert members_of(api, ann, room) == [ann.id, bob.id]


def test_nobody_adds_members_to_a_room_of_others_that_all_see(api, ann, bob):
    room = made_room(api, ann, private=False)

    answer = add(api, bob, room, bob)

    assert kind(answer) == (403, "Forbidden")


@ON_SQLITE
@pytest.mark.parametrize("path", ["/members", "/messages"])
@pytest.mark.parametrize(
    ("id", "status", "problem"),
    [
        ("x", 400, "is not a whole number"),
        ([], 400, "is not a whole number"),
        ([1], 400, "is not a whole number"),
        ({"$ne": 0}, 400, "is not a whole number"),
        (True, 400, "is not a whole number"),
        (0, 400, "should be greater than or equal to 1"),
        (2**40, 400, "should be less than 2147483648"),
        (2**31 - 1, 409, "is not there"),
    ],
)
def test_room_has_to_be_there(api, ann, path, id, status, problem):
    data = {"/members": {"userId": ann.id}, "/messages": {"text": "x"}}[path]

    answer = api("POST", path, {**data, "roomId": id}, ann.token)

    assert (answer[0], answer[1]["errors"]) == (status, {"roomId": problem})


@ON_SQLITE
@pytest.mark.parametrize("id", [None, ""])
def test_only_messages_need_no_room(api, ann, id):
    member = {"roomId": id, "userId": ann.id}

    refused = api("POST", "/members", member, ann.token)
    status, message = api("POST", "/messages", {"text": "x", "roomId": id}, ann.token)

    problem = {"roomId": "is not a whole number"}
    assert (refused[0], refused[1]["errors"]) == (400, problem)
    assert (status, message["roomId"]) == (201, None)


@pytest.mark.parametrize("id", [None, "", "x", 2**31 - 1, [], {"$ne": 0}, True])
def test_user_of_a_member_has_to_be_there(api, ann, room, id):
    data = {"roomId": room["id"], "userId": id}

    status, _ = api("POST", "/members", data, ann.token)

    assert status in (400, 409)
    assert members_of(api, ann, room) == [ann.id]


def test_nobody_is_in_a_room_twice(api, ann, bob, room):
    statuses = [add(api, ann, room, bob)[0] for _ in range(2)]

    assert statuses == [201, 409]
    assert members_of(api, ann, room) == [ann.id, bob.id]


def test_member_leaves(api, ann, bob, room):
    member = add(api, ann, room, bob)[1]

    status, _ = api("DELETE", f"/members/{member['id']}", None, bob.token)

    assert (status, members_of(api, ann, room)) == (200, [ann.id])


def test_owner_does_not_leave(api, ann, room):
    path = f"/members?roomId={room['id']}"
    (own,) = api("GET", path, None, ann.token)[1]["data"]

    answer = api("DELETE", f"/members/{own['id']}", None, ann.token)

    assert (kind(answer), members_of(api, ann, room)) == (NOT_FOUND, [ann.id])


def test_member_does_not_remove_others(api, ann, bob, room):
    eve = api.person()
    add(api, ann, room, bob)
    member = add(api, ann, room, eve)[1]

    answer = api("DELETE", f"/members/{member['id']}", None, bob.token)

    assert kind(answer) == NOT_FOUND
    assert members_of(api, ann, room) == [ann.id, bob.id, eve.id]


@ON_SQLITE
@pytest.mark.parametrize("verb", ["PUT", "PATCH"])
def test_members_are_not_changed(api, ann, room, verb):
    path = f"/members?roomId={room['id']}"
    (own,) = api("GET", path, None, ann.token)[1]["data"]

    answer = api(verb, f"/members/{own['id']}", {"userId": 1}, ann.token)

    assert kind(answer) == (405, "MethodNotAllowed")


@pytest.mark.parametrize("query", ["", "?id[$ne]=0", "?userId[$ne]=0"])
def test_members_are_not_removed_at_once(api, ann, bob, room, query):
    add(api, ann, room, bob)

    status, _ = api("DELETE", f"/members{query}", None, ann.token)

    assert (status, members_of(api, ann, room)) == (405, [ann.id, bob.id])


def test_list_of_members_in_a_room_is_refused(api, ann):
    data = {**new_room(), "memberIds": [1] * 1000}

    status, body = api("POST", "/rooms", data, ann.token)

    assert (status, body["errors"]) == (400, {"memberIds": "is not a field"})


def test_room_that_becomes_private_hides_its_messages(api, ann, bob):
    room = made_room(api, ann, private=False)
    ids = [write(api, person, room)[1]["id"] for person in (ann, bob)]
    path, messages = f"/rooms/{room['id']}", f"/messages?roomId={room['id']}"
    found = [seen(api, bob, messages)]

    for private in (True, False):
        assert api("PATCH", path, {"private": private}, ann.token)[0] == 200
        found.append(seen(api, bob, messages))

    assert found == [ids, [], ids]


def test_room_that_becomes_private_keeps_its_messages_for_members(api, ann, bob):
    room = made_room(api, ann, private=False)
    id = write(api, bob, room)[1]["id"]
    add(api, ann, room, bob)

    api("PUT", f"/rooms/{room['id']}", {"name": "x", "private": True}, ann.token)

    people = ann, bob, api.person()
    path = f"/messages?roomId={room['id']}"
    assert [seen(api, person, path) for person in people] == [[id], [id], []]


def test_message_is_as_private_as_the_room_it_is_moved_to(api, ann, bob, room):
    path = f"/messages/{write(api, ann, made_room(api, ann, private=False))[1]['id']}"
    bodies = [{"roomId": room["id"]}, {"roomId": None}, {"roomId": room["id"]}]
    answers = []

    for body in bodies:
        answers.append(api("PATCH", path, body, ann.token)[1]["private"])
        answers.append(api("GET", path, None, bob.token)[0])

    changed = api("PUT", path, {"text": "for all"}, ann.token)[1]

    assert answers == [True, 404, False, 200, True, 404]
    assert (changed["roomId"], changed["private"]) == (None, False)
    assert api("GET", path, None, bob.token)[0] == 200


def test_many_messages_are_as_private_as_their_rooms(api, ann, bob, room):
    other = made_room(api, ann, private=False)
    data = [{"text": "x", "roomId": id} for id in (room["id"], None, other["id"])]

    created = api("POST", "/messages", data, ann.token)[1]

    ids = ",".join(str(one["id"]) for one in created)
    path = "/messages?" + "&".join(f"id[$in]={id}" for id in ids.split(","))
    assert [one["private"] for one in created] == [True, False, False]
    assert seen(api, bob, path) == [created[1]["id"], created[2]["id"]]


def test_rooms_of_many_messages_are_read_at_once(example, api, ann):
    rooms = [made_room(api, ann, private=bool(number % 2)) for number in range(20)]
    data = [{"text": "x", "roomId": room["id"]} for room in rooms]

    with example.app.app_context(), statements_of(example.db.engine) as statements:
        created = api("POST", "/messages", data, ann.token)[1]

    assert [one["private"] for one in created] == [False, True] * 10
    assert len(statements) < 10


def test_python_writes_in_a_room_as_private_as_it_is(example, api, bob, room):
    with example.app.app_context():
        message = example.messages.create({"text": "hello", "roomId": room["id"]})

    assert message["private"] is True
    assert seen(api, bob, f"/messages?roomId={room['id']}") == []


def test_message_that_is_written_while_the_room_becomes_private_is_refused(
    example, api, ann, bob
):
    """The database tells, whatever the hook has read."""
    room = made_room(api, ann, private=False)

    def become_private(method, context):
        """Stand for another transaction, which SQLite would let wait."""
        query = sa.update(example.Room).where(example.Room.id == room["id"])

        with example.db.engine.begin() as connection:
            connection.execute(query.values(private=True))

    if "sqlite" in example.app.config["SQLALCHEMY_DATABASE_URI"]:
        pytest.skip("one call writes at a time")

    with example.messages.before.connected_to(become_private):
        answer = write(api, bob, room)

    path = f"/messages?roomId={room['id']}"
    assert kind(answer) == (409, "Conflict")
    assert [seen(api, person, path) for person in (ann, bob)] == [[], []]


@ON_SQLITE
@pytest.mark.parametrize("field", ["private", "createdAt", "id"])
@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH"])
def test_client_does_not_write_what_the_server_says_of_a_message(
    api, ann, room, verb, field
):
    message = None if verb == "POST" else write(api, ann, room)[1]
    path = f"/messages/{message['id']}" if message else "/messages"
    value = {"private": False, "createdAt": "9999-12-31T00:00:00Z", "id": 2**31 - 1}
    data = {"text": "x", "roomId": room["id"], field: value[field]}

    status, body = api(verb, path, data, ann.token)

    # An identifier in the body of a change is ignored, as everywhere, and a hook puts
    # the privacy of the room into the body, which the message has already.
    if message and field in ("id", "private"):
        assert (status, body[field]) == (200, message[field])
    else:
        assert (status, body["errors"]) == (400, {field: "is read-only"})


@pytest.mark.parametrize("field", ["id", "createdAt"])
def test_messages_keep_their_time_and_place(api, ann, room, field):
    message = write(api, ann, room)[1]
    path = f"/messages/{message['id']}"

    answers = [
        api("PATCH", path, {"text": "a"}, ann.token)[1],
        api("PUT", path, {"text": "b"}, ann.token)[1],
    ]

    assert [answer[field] for answer in answers] == [message[field]] * 2


def test_room_that_is_hidden_is_as_one_that_is_not_there(api, bob, room):
    hidden, unknown = (write(api, bob, {"id": id}) for id in (room["id"], 2**31 - 1))

    assert hidden == unknown
    assert hidden[1]["errors"] == {"roomId": "is not there"}


def test_name_of_a_room_tells_nobody_of_a_private_room(api, ann, bob, room):
    data = {"name": room["name"]}
    other = made_room(api, bob)

    answers = [
        api("POST", "/rooms", data, bob.token),
        api("PATCH", f"/rooms/{other['id']}", data, bob.token),
    ]

    assert [status for status, _ in answers] == [201, 200]
    assert seen(api, bob, f"/rooms?name={room['name'].replace(' ', '%20')}") == [
        other["id"],
        answers[0][1]["id"],
    ]


@pytest.mark.parametrize(
    ("path", "field", "length"),
    [("/messages", "text", 10_000), ("/rooms", "name", 100)],
)
def test_texts_have_a_length(api, ann, path, field, length):
    fits = api("POST", path, {field: "ß" * length}, ann.token)
    too_long = api("POST", path, {field: "ß" * (length + 1)}, ann.token)
    change = {field: "x" * (length + 1)}
    changed = api("PATCH", f"{path}/{fits[1]['id']}", change, ann.token)

    errors = {field: f"has more than {length} characters"}
    assert fits[0] == 201
    assert [(status, body["errors"]) for status, body in (too_long, changed)] == [
        (400, errors)
    ] * 2


@pytest.mark.parametrize("who", ["member", "room"])
def test_user_is_in_a_thousand_rooms_at_most(example, api, ann, bob, room, who):
    """No rule names more."""
    names = [{"name": f"{ann.id} {number}"} for number in range(1_000)]
    insert(example, example.Room, names)

    with example.app.app_context():
        query = sa.select(example.Room.id).where(example.Room.name.like(f"{ann.id} %"))
        ids = example.db.session.scalars(query).all()

    insert(
        example, example.Member, [{"roomId": id, "userId": bob.id} for id in ids[:1000]]
    )
    add_one = {
        "member": lambda: add(api, ann, room, bob),
        "room": lambda: api("POST", "/rooms", new_room(), bob.token),
    }
    full = add_one[who]()
    path = f"/members?userId={bob.id}&$limit=1"
    member = api("GET", path, None, bob.token)[1]["data"][0]
    api("DELETE", f"/members/{member['id']}", None, bob.token)

    assert (full[0], full[1]["errors"]) == (409, {"userId": "is in 1000 rooms"})
    assert add_one[who]()[0] == 201
    assert api("GET", "/messages", None, bob.token)[0] == 200


def test_room_goes_with_its_members_and_messages(example, api, ann, room):
    write(api, ann, room)

    status, _ = api("DELETE", f"/rooms/{room['id']}", None, ann.token)

    with example.app.app_context():
        left = [
            example.db.session.scalar(
                sa.select(sa.func.count()).where(model.roomId == room["id"])
            )
            for model in (example.Member, example.Message)
        ]

    assert (status, left) == (200, [0, 0])


def quickest(call, times=7):
    """Return the seconds of the fastest of some calls."""
    seconds = []

    for _ in range(times):
        start = time.perf_counter()
        status, body = call()
        seconds.append(time.perf_counter() - start)
        assert status == 200, body

    return min(seconds)


@pytest.mark.slow
def test_rooms_of_others_cost_a_caller_nothing(example, api, ann, bob):
    """66,000 private rooms, more than PostgreSQL takes values, and their members."""
    room = made_room(api, bob)
    write(api, bob, room)
    paths = "/rooms", "/messages", "/messages?$populate=room", f"/rooms/{room['id']}"
    calls = [lambda path=path: api("GET", path, None, bob.token) for path in paths]
    before = [quickest(call) for call in calls]
    hidden = {"private": True, "userId": ann.id}
    rooms = [{"name": f"other {number}", **hidden} for number in range(66_000)]
    insert(example, example.Room, rooms)

    with example.app.app_context():
        query = sa.select(example.Room.id).where(example.Room.userId == ann.id)
        ids = example.db.session.scalars(query).all()

    insert(example, example.Member, [{"roomId": id, "userId": ann.id} for id in ids])

    after = [quickest(call) for call in calls]

    # A rule that reads all of them takes 100 ms and more.
    assert [b - a < 0.05 for a, b in zip(before, after, strict=True)] == [True] * 4
    assert seen(api, bob, "/rooms?private=true") == [room["id"]]
