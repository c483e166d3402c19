"""Rules hold for the records that a write leaves behind."""

from collections import Counter
from threading import Event, Thread

import pytest
import sqlalchemy as sa

from flask_records import (
    BadRequest,
    Change,
    Forbidden,
    FromUser,
    GeneralError,
    NotFound,
)

from ...sql import statements_of
from ...waiting import wait_until
from .office import ANN, BOB, EVE, MEMBERS, ORG, OWNERS, Task, WRITES

TASK = {"title": "x", "orgId": 2, "ownerId": BOB}

ONE = ("patch", 2, {"orgId": 2})
MANY = ("patch", None, {"orgId": 2})
PUT = ("update", 2, TASK)


@pytest.mark.parametrize("call", [ONE, MANY, PUT], ids=["one", "many", "put"])
@pytest.mark.parametrize(
    "rules",
    [
        {"allow": dict.fromkeys(WRITES, ORG)},
        {"allow": dict.fromkeys(WRITES, lambda user: {"orgId": user["orgId"]})},
        {"readable": ORG},
        {"allow": {"update": MEMBERS, "patch": MEMBERS}, "readable": ORG},
    ],
    ids=["allow", "function", "readable", "both"],
)
def test_no_record_moves_to_where_the_rule_does_not_reach(open_office, rules, call):
    office = open_office({"tasks": rules})
    before = office.stored("tasks")
    method, *arguments = call

    with pytest.raises(Forbidden, match="You may not (patch|update) it like this"):
        getattr(office.service("tasks", BOB), method)(*arguments)

    assert office.stored("tasks") == before


@pytest.mark.parametrize("call", [("patch", 2, {"projectId": 2}), PUT])
def test_no_record_moves_over_a_relation(open_office, call):
    office = open_office({"tasks": {"allow": {"update": MEMBERS, "patch": MEMBERS}}})
    tasks, (method, id, data) = office.service("tasks", BOB), call

    with pytest.raises(Forbidden):
        getattr(tasks, method)(id, {**data, "projectId": 2})

    assert getattr(tasks, method)(id, {**data, "projectId": 1})["projectId"] == 1


def test_what_hooks_write_is_asked_too(small_office):
    office = small_office({"tasks": {"allow": {"patch": ORG}}})
    hook = lambda method, context: context.data.update(orgId=2)  # noqa: E731

    with office.records["tasks"].before.connected_to(hook), pytest.raises(Forbidden):
        office.service("tasks", BOB).patch(2, {"title": "x"})

    assert office.stored("tasks")[2]["title"] == "b"


@pytest.mark.parametrize(
    ("method", "data"), [("patch", {"title": "y"}), ("update", {**TASK, "orgId": 1})]
)
def test_what_methods_of_the_application_write_is_asked_too(small_office, method, data):
    office = small_office({"tasks": {"readable": ORG}})
    target, before = office.records["tasks"].target, office.stored("tasks")
    own, user = getattr(target, method), office.service("tasks", BOB)

    def move(id, data, params):
        return own(id, {**data, "orgId": 2}, params)

    setattr(target, method, move)

    with pytest.raises(Forbidden, match=f"You may not {method} it like this"):
        getattr(user, method)(2, data)

    assert office.stored("tasks") == before


def test_hybrids_and_columns_that_change_by_themselves_are_asked(small_office):
    """A patch of another field may change what they are."""
    column = Task.__table__.c.status
    column.onupdate = sa.ColumnDefault("changed")

    try:
        office = small_office({"tasks": {"allow": {"patch": {"status": "draft"}}}})

        with pytest.raises(Forbidden):
            office.service("tasks", BOB).patch(2, {"title": "x"})
    finally:
        column.onupdate = None

    assert office.stored("tasks")[2]["title"] == "b"


def number_of_statements(office, data):
    tasks = office.service("tasks", BOB)
    tasks.patch(2, {"title": "first"})

    with office.app.app_context(), statements_of(office.db.engine) as statements:
        tasks.patch(2, {"title": "second", **data})

    return len([each for each in statements if "office_task" in each])


@pytest.mark.parametrize(("rule", "costs"), [(ORG, [1, 1]), (MEMBERS, [3, 4])])
def test_patch_that_writes_nothing_of_its_rule_costs_no_statement(
    small_office, rule, costs
):
    """Python decides by itself where the rule follows no relation."""
    office = small_office({"tasks": {"readable": ORG, "allow": {"patch": rule}}})

    assert number_of_statements(office, {"status": "x"}) == costs[0]
    assert number_of_statements(office, {"orgId": 1, "projectId": 1}) == costs[1]


def test_one_statement_asks_for_all_records(small_office):
    office = small_office({"tasks": {"allow": {"patch": MEMBERS}}})

    with statements_of(office.db.engine) as statements:
        office.service("tasks", BOB).patch(None, {"projectId": 1})

    asked = [each for each in statements if "office_member" in each]
    assert len(asked) == 2


SUBMIT = Change(of={"status": "draft", **ORG}, to=ORG)


@pytest.mark.parametrize("method", ["patch", "update"])
def test_rule_in_two_parts_tells_what_a_record_may_become(open_office, method):
    office = open_office({"tasks": {"allow": {method: SUBMIT}}})
    tasks, data = office.service("tasks", BOB), {**TASK, "orgId": 1}

    with pytest.raises(Forbidden):
        getattr(tasks, method)(2, {**data, "orgId": 2})

    changed = getattr(tasks, method)(2, {**data, "status": "done"})

    assert changed["status"] == "done"

    with pytest.raises(NotFound):
        getattr(tasks, method)(2, {**data, "status": "draft"})


def test_record_is_given_away_by_the_second_part(small_office):
    own = {"ownerId": FromUser("id")}
    rules = {"readable": own, "allow": {"patch": Change(of=True, to=True)}}
    office = small_office({"tasks": rules})

    assert office.service("tasks", BOB).patch(2, {"ownerId": ANN})["ownerId"] == ANN
    assert office.service("tasks", BOB).find() == []


@pytest.mark.parametrize(
    ("allow", "error"),
    [
        ({"create": Change(of=ORG, to=ORG)}, "is a Change, which no 'create' makes"),
        ({"patch": Change(of=ORG, to=5)}, "must be a function of the user"),
        ({"patch": Change(of=ORG, to={"orgid": 1})}, "does not fit 'Task': 'orgid'"),
        ({"patch": Change(of={"orgid": 1}, to=ORG)}, "does not fit 'Task': 'orgid'"),
    ],
)
def test_wrong_parts_are_refused_at_the_start(small_office, allow, error):
    with pytest.raises((TypeError, ValueError), match=error):
        small_office({"tasks": {"allow": allow}})


def test_rule_that_fails_after_the_write_undoes_it(small_office, caplog):
    to = lambda user: {"orgid": 1}  # noqa: E731
    office = small_office({"tasks": {"allow": {"patch": Change(of=True, to=to)}}})

    with pytest.raises(GeneralError):
        office.service("tasks", BOB).patch(2, {"title": "x"})

    assert "'orgid' is not a field" in caplog.text
    assert office.stored("tasks")[2]["title"] == "b"


NEW = {"projectId": 1, "userId": EVE, "role": "owner"}


@pytest.mark.parametrize("rule", ["allow", "writable"])
@pytest.mark.parametrize("data", [NEW, [NEW], [NEW, {**NEW, "role": "member"}]])
def test_new_record_does_not_prove_its_own_right(open_office, rule, data):
    rules = {"members": {"allow": {"create": OWNERS}}} if rule == "allow" else {}
    options = {"members": {"writable": {"role": OWNERS}}} if rule == "writable" else {}
    office = open_office(rules, options)
    before = office.stored("members")

    with pytest.raises((Forbidden, BadRequest)):
        office.service("members", EVE).create(data)

    assert office.stored("members") == before
    assert office.service("members", ANN).create(NEW)["userId"] == EVE


def test_membership_does_not_prove_its_own_move(open_office):
    office = open_office({"members": {"allow": dict.fromkeys(WRITES, MEMBERS)}})
    members = office.service("members", EVE)

    with pytest.raises(Forbidden):
        members.patch(3, {"projectId": 1})

    with pytest.raises(Forbidden):
        members.patch(None, {"projectId": 1, "userId": EVE})

    assert office.stored("members")[3]["projectId"] == 2
    assert members.patch(3, {"nickname": "E"})["nickname"] == "E"


@pytest.mark.parametrize("method", ["patch", "update"])
def test_record_that_is_sent_back_keeps_its_right(small_office, method):
    """A member sends the whole record, of which the project can't be changed."""
    rules = {"readable": MEMBERS, "allow": dict.fromkeys(WRITES, MEMBERS)}
    options = {"write_once": ["projectId"]}
    office = small_office({"members": rules}, {"members": options})
    members = office.service("members", EVE)
    member = {**members.get(3), "nickname": "E"}

    assert getattr(members, method)(3, member)["nickname"] == "E"

    with pytest.raises(BadRequest, match="'projectId'"):
        getattr(members, method)(3, {**member, "projectId": 1})


class Board:
    """A service of plain objects that looks at its query."""

    record = {"id": 1, "orgId": 1}

    def get(self, id, params):
        if params.query.items() <= self.record.items():
            return self.record

        raise NotFound("no record")

    def patch(self, id, data, params):
        self.record = {**self.get(id, params), **data}
        return self.record


def test_rules_hold_for_what_objects_leave(small_office):
    office = small_office()
    office.records.add("board", Board(), allow={"patch": ORG}, methods=["get", "patch"])
    board = office.service("board", BOB)

    assert board.patch(1, {"text": "x"})["text"] == "x"

    with pytest.raises(Forbidden):
        board.patch(1, {"orgId": 2})


def test_no_write_begins_after_its_right_has_ended(open_office):
    """Twenty writers at once, one of whose rules another call changes."""
    office = open_office({"tasks": {"allow": {"patch": MEMBERS}}})
    ended, late, answers = Event(), [], Counter()

    def write(number):
        with office.app.app_context():
            tasks = office.service("tasks", BOB)

            for _ in range(10):
                is_late = ended.is_set()

                try:
                    tasks.patch(2, {"title": f"{number}", "projectId": 1})
                    answers["written"] += 1
                    late.extend([number] * is_late)
                except (Forbidden, NotFound):
                    answers["refused"] += 1

    threads = [Thread(target=write, args=[number]) for number in range(20)]

    for thread in threads:
        thread.start()

    wait_until(lambda: answers["written"])

    with office.app.app_context():
        office.records["members"].remove(2)

    ended.set()

    for thread in threads:
        thread.join()

    assert late == []
    assert sum(answers.values()) == 200
