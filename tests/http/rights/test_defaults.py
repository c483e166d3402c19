"""Default rules, and applications that are not open to every login by an oversight."""

import pytest

from flask_records import Change, Forbidden, FromUser, NotFound

from .office import ANN, EVE, ORG, WRITES

OPEN = {"people": {"readable": True}, "members": {"readable": True}}


def test_default_rule_makes_a_tenant_of_all_services(open_office):
    office = open_office(OPEN, readable=ORG)
    tasks, before = office.service("tasks", EVE), office.stored("tasks")

    assert [each["id"] for each in tasks.find()] == [3]
    assert [each["id"] for each in office.service("projects", EVE).find()] == [2]

    with pytest.raises(Forbidden):
        tasks.create({"title": "x", "orgId": 1})

    with pytest.raises(Forbidden):
        tasks.patch(3, {"orgId": 1})

    with pytest.raises(NotFound):
        tasks.remove(1)

    assert office.stored("tasks") == before
    assert tasks.create({"title": "x", "orgId": 2})["title"] == "x"


def test_rules_of_a_service_replace_default_ones(small_office):
    anything = {"allow": dict.fromkeys(WRITES, True), "readable": True}
    rules = {"projects": {"readable": True}, "tasks": {"allow": {"patch": True}}}
    rules |= dict.fromkeys(["people", "members"], anything)
    office = small_office(rules, readable=ORG, allow=dict.fromkeys(WRITES, ORG))
    projects, tasks = office.service("projects", EVE), office.service("tasks", EVE)

    assert [each["id"] for each in projects.find()] == [1, 2]

    with pytest.raises(NotFound):
        projects.patch(1, {"name": "x"})

    with pytest.raises(NotFound):
        tasks.patch(1, {"title": "x"})

    with pytest.raises(Forbidden):
        tasks.create({"title": "x", "orgId": 1})


@pytest.mark.parametrize("closed", [False, lambda user: None])
def test_false_closes_what_is_not_opened(small_office, closed):
    office = small_office({"members": {"readable": True}}, readable=closed)
    tasks = office.service("tasks", ANN)

    assert tasks.find() == []
    assert len(office.service("members", ANN).find()) == 3
    assert office.service("members", ANN).remove(1)["id"] == 1
    assert len(office.service("people", ANN).find()) == 0

    with pytest.raises(Forbidden):
        tasks.create({"title": "x", "orgId": 1})

    with pytest.raises(NotFound):
        tasks.patch(1, {"title": "x"})


def test_default_rules_are_for_models_and_their_methods_alone(small_office):
    class Clock:
        def find(self, params):
            return [{"time": 1}]

    office = small_office({**OPEN, "tasks": {"methods": ["find"]}}, readable=ORG)
    office.records.add("clock", Clock())

    assert office.service("clock", ANN).find() == [{"time": 1}]
    assert len(office.service("tasks", ANN).find()) == 2


TO = Change(of=ORG, to={"userid": 1})


@pytest.mark.parametrize(
    ("defaults", "error"),
    [
        ({"readable": ORG}, "'readable' does not fit 'Member': 'orgId'.*members.*read"),
        (
            {"allow": {"patch": ORG}},
            r"'patch' in 'allow' does not fit .*: 'orgId'.*allow={",
        ),
        (
            {"allow": {"patch": TO}},
            "'patch' in 'allow' does not fit .*: '(orgId|userid)'",
        ),
        ({"allow": {"serve": ORG}}, "'serve', which is not a method"),
        ({"readable": {}}, "without conditions"),
    ],
)
def test_default_rule_that_can_not_hold_is_refused_at_the_start(
    small_office, defaults, error
):
    with pytest.raises((TypeError, ValueError), match=error):
        small_office(**defaults)


def test_misspelt_rule_of_a_service_is_not_blamed_on_a_default(small_office):
    with pytest.raises(ValueError, match="'Task': 'orgid' is not a field.$"):
        small_office({**OPEN, "tasks": {"readable": {"orgid": 1}}}, readable=ORG)


UNRULED = """\
Any login may update, remove all users of 'people'. Give it rules, or True in their \
place:

    own = {"id": FromUser("id")}
    records.add("people", ..., allow=dict.fromkeys(['update', 'remove'], own))
"""


def test_users_whom_any_login_may_change_do_not_start(small_office):
    with pytest.raises(RuntimeError) as raised:
        small_office({"people": {"allow": {"patch": {"id": FromUser("id")}}}})

    assert str(raised.value) == UNRULED


@pytest.mark.parametrize(
    "rules",
    [
        {"allow": dict.fromkeys(WRITES, True)},
        {"readable": {"id": FromUser("id")}, "allow": None},
        {"methods": ["find", "get", "create"], "allow": None},
    ],
)
def test_users_with_rules_start(small_office, rules):
    small_office({"people": rules})


@pytest.mark.parametrize("default", [{"readable": ORG}, {"allow": {"patch": False}}])
def test_start_names_services_that_any_login_may_write(small_office, caplog, default):
    small_office({"tasks": {"readable": ORG}})

    [warning] = caplog.messages
    assert "change or remove all records of 'projects', 'members'." in warning

    caplog.clear()
    small_office(OPEN, **default)

    assert caplog.messages == []
