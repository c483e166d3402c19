"""Lists of related records whose foreign key is theirs need the right to patch them."""

from __future__ import annotations

import pytest

from flask_records import BadRequest, Change, Forbidden, FromUser, NotAuthenticated

from .office import BOB, EVE, ORG

OWN = {"ownerId": FromUser("id")}
LISTS = {"projects": {"writable_relations": ["tasks"]}}


@pytest.mark.parametrize(
    ("rules", "options"),
    [
        ({"allow": {"patch": OWN}}, {}),
        ({"allow": {"patch": False}}, {}),
        ({"methods": ["find", "create"]}, {}),
        ({}, {"writable": {"projectId": OWN}}),
        ({}, {"readonly": ["projectId"]}),
        ({}, {"write_once": ["projectId"]}),
        ({}, {"writable": {"projectId": False}}),
        ({"allow": {"patch": Change(of=True, to={"projectId": 1})}}, {}),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        ("patch", 2, {"tasks": [1, 3]}),
        ("patch", 2, {"tasks": [1]}),
        ("patch", None, {"tasks": [1]}),
        ("create", {"name": "x", "orgId": 2, "tasks": [1]}),
        ("update", 2, {"name": "x", "orgId": 2, "tasks": [1, 3]}),
    ],
    ids=str,
)
def test_records_join_by_the_rules_of_their_service(small_office, rules, options, call):
    office = small_office({"tasks": rules}, {**LISTS, "tasks": options})
    before = office.stored("tasks"), office.stored("projects")
    method, *arguments = call

    with pytest.raises(Forbidden, match="(?i)you may not (patch|call 'patch')"):
        getattr(office.service("projects", EVE), method)(*arguments)

    assert (office.stored("tasks"), office.stored("projects")) == before


def test_records_that_the_caller_may_patch_join_and_leave(open_office):
    office = open_office({"tasks": {"allow": {"patch": OWN}}}, LISTS)
    projects = office.service("projects", BOB)

    def tasks_of(project):
        tasks = office.stored("tasks").values()
        return [each["id"] for each in tasks if each["projectId"] == project]

    projects.patch(1, {"tasks": [1]})
    assert tasks_of(1) == [1]

    projects.patch(1, {"tasks": [1, 2]})
    assert tasks_of(1) == [1, 2]

    created = projects.create({"name": "x", "orgId": 1, "tasks": [2]})
    assert tasks_of(created["id"]) == [2]

    with pytest.raises(Forbidden):
        projects.patch(1, {"tasks": []})

    assert projects.patch(1, {"tasks": [1], "name": "y"})["name"] == "y"
    assert tasks_of(1) == [1]


def test_records_do_not_move_out_of_their_rule(open_office):
    """The project of another organisation takes the task out of that of its rule."""
    rule = {"project.orgId": FromUser("orgId")}
    office = open_office({"tasks": {"allow": {"patch": rule}}}, LISTS)

    with pytest.raises(Forbidden):
        office.service("projects", BOB).patch(2, {"tasks": [2]})

    assert office.stored("tasks")[2]["projectId"] == 1


def test_records_that_the_caller_does_not_find_are_not_there(open_office):
    office = open_office({"tasks": {"readable": ORG}}, LISTS)

    with pytest.raises(BadRequest, match="names '3', which is not there"):
        office.service("projects", BOB).patch(1, {"tasks": [3]})

    assert office.service("projects", EVE).patch(1, {"tasks": []})["id"] == 1
    assert office.stored("tasks")[2]["projectId"] == 1


@pytest.mark.parametrize("tasks", [[], [1], [9]])
def test_who_may_not_find_the_records_learns_nothing(small_office, tasks):
    rules = {"tasks": {"readable": ORG}, "projects": {"public": True}}
    office = small_office(rules, LISTS)
    anonymous = office.records.client(office.app).service("projects")

    for project in (1, 2):
        with pytest.raises(NotAuthenticated):
            anonymous.patch(project, {"tasks": tasks})
