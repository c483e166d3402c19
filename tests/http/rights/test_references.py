"""A client that can't see a record can't refer to it."""

import pytest

from flask_records import BadRequest

from ...sql import statements_of
from .office import ANN, BOB, EVE, ORG

RULES = {"projects": {"readable": ORG}}
TASK = {"title": "x", "orgId": 1}
PROBLEM = "The data is not valid: '{}projectId' refers to a record that is not there."

HIDDEN, ABSENT = 2, 9


def answer(call, *arguments):
    with pytest.raises(BadRequest) as raised:
        call(*arguments)

    return raised.value.to_dict()


@pytest.mark.parametrize(
    "rules",
    [
        RULES,
        {"projects": {"allow": {"find": ORG}}},
        {"projects": {"readable": lambda user: {"orgId": user["orgId"]}}},
        {"projects": {"allow": {"find": False}}},
    ],
)
def test_hidden_records_and_absent_ones_are_the_same(open_office, rules):
    office = open_office(rules)
    tasks, before = office.service("tasks", BOB), office.stored("tasks")
    data = {**TASK, "projectId": HIDDEN}
    other = {**data, "projectId": ABSENT}

    answers = [
        answer(tasks.create, data),
        answer(tasks.update, 2, data),
        answer(tasks.patch, 2, data),
        answer(tasks.patch, None, data),
    ]

    assert {each["message"] for each in answers} == {PROBLEM.format("")}
    assert answers == [
        answer(tasks.create, other),
        answer(tasks.update, 2, other),
        answer(tasks.patch, 2, other),
        answer(tasks.patch, None, other),
    ]
    assert answer(tasks.create, [TASK, data])["message"] == PROBLEM.format("1.")
    assert office.stored("tasks") == before


def test_record_that_the_caller_finds_is_referred_to(open_office):
    office = open_office(RULES)

    created = office.service("tasks", BOB).create({**TASK, "projectId": 1})

    assert created["projectId"] == 1
    assert office.service("tasks", EVE).patch(1, {"projectId": None})["id"] == 1


def test_value_that_the_record_has_already_is_no_problem(open_office):
    """Front ends send whole records back."""
    office = open_office(RULES)
    tasks = office.service("tasks", BOB)
    task = tasks.get(3)

    assert tasks.patch(3, {**task, "title": "y"})["title"] == "y"
    assert tasks.update(3, task)["projectId"] == HIDDEN
    assert answer(tasks.patch, 2, {"projectId": HIDDEN})["code"] == 400


def test_value_that_the_client_does_not_see_can_not_be_guessed(small_office):
    office = small_office(RULES, {"tasks": {"hidden": ["projectId"]}})

    assert answer(office.service("tasks", BOB).patch, 3, {"projectId": HIDDEN})


def test_find_that_refuses_finds_nothing(small_office):
    office = small_office(RULES)

    @office.records["projects"].before("find")
    def refuse(method, context):
        raise BadRequest("Name an organisation.")

    data = {**TASK, "projectId": 1}
    created = answer(office.service("tasks", BOB).create, data)
    assert created["message"] == PROBLEM.format("")


def test_what_hooks_set_is_their_own(small_office):
    office = small_office(RULES)

    @office.records["tasks"].before("create")
    def move(method, context):
        context.data["projectId"] = HIDDEN

    assert office.service("tasks", BOB).create(TASK)["projectId"] == HIDDEN
    assert office.records["tasks"].create({**TASK, "projectId": HIDDEN})["id"]


def test_services_without_rules_are_not_asked(small_office):
    """A foreign key needs no relationship, and several take one statement each."""
    office = small_office({"people": {"readable": ORG}})
    tasks = office.service("tasks", BOB)

    with statements_of(office.db.engine) as statements:
        tasks.create([{**TASK, "projectId": 1, "ownerId": ANN}, {**TASK, "ownerId": 1}])

    assert len([each for each in statements if "FROM office_project" in each]) == 0
    asked = [each for each in statements if "office_person.id IN" in each]
    assert len(asked) == 1
    assert (
        "'ownerId' refers" in answer(tasks.create, {**TASK, "ownerId": EVE})["message"]
    )
