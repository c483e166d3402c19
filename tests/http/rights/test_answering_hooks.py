"""Before hooks that answer for a method of a call that rules limit."""

import pytest

from flask_records import (
    Forbidden,
    FromUser,
    GeneralError,
    HookContext,
    MethodNotAllowed,
    NotFound,
    Params,
)

from .office import ANN, BOB, EVE, ORG, WRITES

OWN = {"ownerId": FromUser("id")}
RULES = {"tasks": {"readable": ORG, "allow": dict.fromkeys(WRITES, OWN)}}

BY_ID = [("get", 2), ("update", 2, {}), ("patch", 2, {}), ("remove", 2)]
MANY = [("find",), ("patch", None, {}), ("remove", None)]


@pytest.fixture
def office(small_office):
    return small_office(RULES)


def keep(office):
    """Mark removed tasks in place of removing them."""
    tasks = office.records["tasks"]

    @tasks.before("remove")
    def mark_removed(method, context):
        context.result = context.load()
        ids = [each["id"] for each in context.records]
        tasks.patch(None, {"status": "removed"}, {"id": {"$in": ids}})

    return tasks


@pytest.mark.parametrize("call", [*BY_ID, *MANY], ids=str)
def test_hook_that_has_not_asked_the_rules_is_an_error(office, caplog, call):
    """The record of another user, from a cache."""
    method, *arguments = call

    @office.records["tasks"].before(method)
    def answer_from_cache(method, context):
        context.result = {"id": 2, "title": "Bob's"}

    with pytest.raises(GeneralError):
        getattr(office.service("tasks", ANN), method)(*arguments)

    assert "answer_from_cache' answers for" in caplog.text
    assert "context.load()" in caplog.text


@pytest.mark.parametrize("call", BY_ID, ids=str)
def test_hook_gets_the_record_that_the_caller_reaches(open_office, call):
    office, loaded = open_office(RULES), []
    method, *arguments = call
    data = [{"title": "x", "orgId": 1, "ownerId": BOB}] * (len(call) - 2)

    @office.records["tasks"].before(method)
    def answer(method, context):
        context.result = context.load()
        loaded.append(context.result)

    def answered(user):
        tasks = office.service("tasks", user)
        return getattr(tasks, method)(arguments[0], *data)

    assert answered(BOB) == dict(loaded[0]) == office.stored("tasks")[2]

    with pytest.raises(NotFound):
        answered(EVE)

    if method != "get":
        with pytest.raises(NotFound):
            answered(ANN)

    assert len(loaded) == 1


def test_soft_delete_is_three_lines(open_office):
    office = open_office(RULES)
    keep(office)
    removed = office.service("tasks", BOB).remove(2)

    assert (removed["id"], removed["status"]) == (2, "draft")

    with pytest.raises(NotFound):
        office.service("tasks", ANN).remove(2)

    assert [each["id"] for each in office.service("tasks", ANN).remove(None)] == [1]
    statuses = {id: each["status"] for id, each in office.stored("tasks").items()}
    assert statuses == {1: "removed", 2: "removed", 3: "draft"}


def test_records_of_a_find_are_those_of_the_caller(office):
    @office.records["tasks"].before("find")
    def answer(method, context):
        context.result = context.load()

    tasks = office.service("tasks", EVE)

    assert [each["id"] for each in tasks.find({"$select": ["id"]})] == [3]


def test_many_records_need_what_the_method_needs(small_office):
    office = small_office(RULES, {"tasks": {"multi": False}})
    keep(office)

    with pytest.raises(MethodNotAllowed):
        office.service("tasks", BOB).remove(None)


def test_calls_without_rules_and_in_python_are_as_before(office):
    answered = {"id": 1}

    @office.records.before("get")
    def answer(method, context):
        context.result = answered

    assert office.records["tasks"].get(2) == answered
    assert office.service("projects", EVE).get(1) == answered


def test_new_record_of_a_hook_meets_the_rule_of_create(office):
    @office.records["tasks"].before("create")
    def answer(method, context):
        context.result = office.records["tasks"].get(2)

    assert office.service("tasks", BOB).create({"title": "x", "orgId": 1})["id"] == 2

    with pytest.raises(Forbidden):
        office.service("tasks", ANN).create({"title": "x", "orgId": 1})


def test_create_has_no_record_to_load(office):
    context = HookContext(office.records["tasks"], "create", Params())

    with pytest.raises(RuntimeError, match="'create' has no record"):
        context.load()
