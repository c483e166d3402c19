"""Statements of what a caller may find."""

import pytest
import sqlalchemy as sa

from flask_records import Forbidden, NotAuthenticated, Params, restrict


def params_of(desk, id, query=None):
    user = desk.records["people"].get(id)
    return Params(query or {}, provider="rest", authenticated=True, user=user)


def rows(desk, statement):
    return [dict(row._mapping) for row in desk.db.session.execute(statement)]


def test_statement_is_of_what_the_caller_may_find(desk):
    tickets = desk.records["tickets"]
    query = {"status": "open", "assignee.organisation.id": {"$in": [1, 2]}}
    page = {**query, "$sort": {"id": -1}, "$limit": 1, "$select": ["cost"]}

    assert len(rows(desk, tickets.statement())) == 4
    params = params_of(desk, 2, query)
    assert [row["id"] for row in rows(desk, tickets.statement(params))] == [3]
    found = rows(desk, tickets.statement(params_of(desk, 1, page)))
    assert found == [{"id": 3, "cost": None}]


def test_statements_are_parts_of_others(desk):
    tickets = desk.records["tickets"]
    own = tickets.statement(params_of(desk, 2, {"status": "open"})).subquery()
    all_open = tickets.statement({"status": "open"}).subquery()
    joined = sa.select(own.c.id, sa.func.sum(all_open.c.cost).label("cost"))

    found = rows(desk, joined.join(all_open, sa.true()).group_by(own.c.id))

    assert sorted(each["id"] for each in found) == [3, 4]
    assert {int(each["cost"]) for each in found} == {15}


def test_hidden_fields_are_not_in_the_statement_of_a_client(desk):
    organisations = desk.records["organisations"]

    assert "secret" in organisations.statement().selected_columns
    columns = organisations.statement(params_of(desk, 2)).selected_columns
    assert list(columns.keys()) == ["id", "name"]


def test_field_is_null_where_the_record_does_not_show_it(desk):
    people = desk.records["people"]
    shown = rows(desk, people.statement(params_of(desk, 2, {"$sort": {"id": 1}})))

    assert [row["name"] for row in shown] == [None, "Bea", None]


def test_statement_in_a_hook_keeps_what_hooks_have_restricted(open_desk):
    numbers = []

    with open_desk() as desk:
        tickets = desk.records["tickets"]

        @tickets.before("find")
        def limit(method, context):
            restrict(context.params, {"status": "open"})
            numbers.append(len(rows(desk, tickets.statement(context.params))))

        desk.find("tickets", {"cost": {"$gt": 1}}, 2)

    assert numbers == [1]


def test_caller_who_may_not_find_has_no_statement(open_desk):
    with open_desk(tickets={"allow": {"find": lambda user: False}}) as desk:
        tickets, comments = desk.records["tickets"], desk.records["comments"]

        with pytest.raises(Forbidden):
            tickets.statement(params_of(desk, 1))

        with pytest.raises(NotAuthenticated):
            comments.statement(Params(provider="rest"))


def test_service_without_a_model_has_no_statement(desk):
    with pytest.raises(AttributeError, match="no attribute 'statement'"):
        desk.records["authentication"].statement()
