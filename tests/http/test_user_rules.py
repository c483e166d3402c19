"""Rules as queries with values of the user."""

import pytest
from flask import Flask

from flask_records import FlaskRecords, FromUser, Params, restrict, SQLAlchemyService
from flask_records.query.rules import UserRule

from ..databases import served
from ..models import Message

ID = FromUser("id")
TEAMS = FromUser("teams")
USER = {"id": 7, "teams": [1, 2], "none": None}


def query_for(query, user=USER):
    return UserRule(query, "'readable'")(user)


@pytest.mark.parametrize(
    ("query", "filled"),
    [
        ({"user_id": ID}, {"user_id": 7}),
        ({"team": TEAMS}, {"team": [1, 2]}),
        ({"team": {"$in": TEAMS}}, {"team": {"$in": [1, 2]}}),
        ({"team": {"$in": ID, "$ne": 3}}, {"team": {"$in": 7, "$ne": 3}}),
        ({"user_id": FromUser("none")}, {"user_id": []}),
        (
            {"$or": [{"user_id": ID}, {"read": True}]},
            {"$or": [{"user_id": 7}, {"read": True}]},
        ),
        (
            {"$and": ({"user_id": ID}, {"$or": [{"team": TEAMS}]})},
            {"$and": [{"user_id": 7}, {"$or": [{"team": [1, 2]}]}]},
        ),
        ({"read": True}, {"read": True}),
    ],
    ids=str,
)
def test_values_of_the_user_stand_in_the_query(query, filled):
    assert query_for(query) == filled


@pytest.mark.parametrize("user", [None, {"id": None}], ids=str)
def test_without_a_value_no_record_is_the_users(user):
    assert query_for({"user_id": ID}, user) == {"user_id": []}


@pytest.mark.parametrize("teams", [[1, None], (1,), {1}, 1], ids=str)
def test_lists_have_no_nulls(teams):
    assert query_for({"team": TEAMS}, {"teams": teams}) == {"team": 1}


@pytest.mark.parametrize(
    "query",
    [
        {"user_id": {"$ne": ID}},
        {"user_id": {"$gt": ID}},
        {"user_id": [ID]},
        {"$nor": [{"user_id": ID}]},
        {"$not": {"user_id": ID}},
        {"user_id": {"$not": {"$in": ID}}},
        {"$or": ID},
        {"$limit": ID},
    ],
    ids=str,
)
def test_value_of_the_user_in_another_place_is_refused(query):
    with pytest.raises(TypeError, match="use a function of the user"):
        FlaskRecords().add(
            "messages", SQLAlchemyService(Message), readable=query, public=True
        )


async def nobody(user):
    return False


@pytest.mark.parametrize("rule", ["user_id", 5, ["id"], nobody])
def test_rule_that_is_neither_function_nor_query_is_refused(rule):
    with pytest.raises(
        TypeError, match="must be a function of the user, .* or a query"
    ):
        FlaskRecords().add("messages", SQLAlchemyService(Message), readable=rule)

    with pytest.raises(TypeError, match="rule of 'text' in 'visible' must be"):
        SQLAlchemyService(Message, visible={"text": rule})


@pytest.mark.parametrize("value", [{"$ne": 0}, [{"$ne": 0}], [[1]]], ids=str)
def test_value_that_would_be_read_as_operators_is_refused(value):
    with pytest.raises(TypeError, match="must be a value, or a list of values"):
        query_for({"user_id": ID}, {"id": value})


@pytest.mark.parametrize("user", [{"name": "Ann"}, object()], ids=["dict", "object"])
def test_user_without_the_field_is_an_error(user):
    with pytest.raises((KeyError, TypeError), match="FromUser|not subscriptable"):
        query_for({"user_id": ID}, user)


RED = {"id": 1, "teams": ["red"]}


def test_calls_reach_the_records_of_the_rule(records, db):
    rule = {"$or": [{"user_id": ID}, {"text": TEAMS}]}
    visible = {"rank": {"user_id": ID}}
    writable = {"read": {"user_id": ID}}
    service = SQLAlchemyService(Message, visible=visible, writable=writable)
    notes = records.add("notes", service, readable=rule, public=True)

    with served(db, records, "sqlite://") as app, app.app_context():
        notes._create({"text": "red", "rank": 1})
        notes._create({"text": "blue", "rank": 2, "user_id": None})

        def found(user):
            records = notes.find(Params(provider="rest", user=user))
            return [(each["text"], each.get("rank")) for each in records]

        assert found(RED) == [("red", None)]
        assert found({"id": 2, "teams": []}) == found(None) == []


@pytest.mark.parametrize(
    ("query", "condition", "expected"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1, "$limit": 3}, {"a": 2}, {"$limit": 3, "a": 2, "$and": [{"a": 1}]}),
        (
            {"b": 1, "$and": [{"a": 1}]},
            {"$and": [{"a": 2}]},
            {"b": 1, "$and": [{"$and": [{"a": 1}]}, {"a": 2}]},
        ),
        # Paths of one query would be about the same related record.
        ({"a.b": 1}, {"a.c": 2}, {"a.c": 2, "$and": [{"a.b": 1}]}),
    ],
)
def test_condition_is_beside_a_query(query, condition, expected):
    params = Params(query=query)
    restrict(params, condition)

    assert params.query == expected


class Notes:
    """An object that knows no special parameters."""

    def find(self, params):
        named = {name: params.query[name] for name in params.query if name[0] != "$"}
        notes = [{"id": 1, "userId": "1"}, {"id": 2, "userId": "2"}]
        return [note for note in notes if named.items() <= note.items()]


@pytest.mark.parametrize(
    "query", ["", "?userId=2", "?$or[0][userId]=2", "?$and[0][userId]=2&userId=2"]
)
def test_query_does_not_hide_the_rule_from_an_object(query):
    app, records = Flask("notes"), FlaskRecords()
    records.add("notes", Notes(), readable={"userId": "1"}, public=True)
    records.init_app(app)

    assert app.test_client().get(f"/notes{query}").json == [{"id": 1, "userId": "1"}]
