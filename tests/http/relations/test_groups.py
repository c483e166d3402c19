"""Groups and sums of records."""

from __future__ import annotations

import pytest

from flask_records import BadRequest

from .conftest import opened
from .desk import of_organisation


def groups(desk, query, id=1):
    return desk.client(id).service("tickets").find(query)["data"]


def test_counts_and_sums_of_groups(desk):
    query = {"$group": ["status"], "$count": ["id", "cost"], "$sum": "cost"}

    assert groups(desk, query) == [
        {"status": "closed", "$count": {"id": 1, "cost": 1}, "$sum": {"cost": 7}},
        {"status": "open", "$count": {"id": 3, "cost": 2}, "$sum": {"cost": 15}},
    ]


def test_values_of_all_records_without_groups(desk):
    query = {"$avg": "cost", "$min": ["cost", "status"], "$max": "createdAt"}

    assert groups(desk, query) == [
        {
            "$avg": {"cost": pytest.approx(22 / 3)},
            "$min": {"cost": 5, "status": "closed"},
            "$max": {"createdAt": "2024-02-03T23:30:00.000Z"},
        }
    ]
    assert groups(desk, {"$sum": "cost", "status": "new"}) == [{"$sum": {"cost": None}}]


def test_query_string_of_groups(desk):
    url = "/tickets?$group[]=status&$group[createdAt]=month&$sum=cost&$limit=1"

    assert desk.client(1).http.get(url).json == {
        "total": 3,
        "limit": 1,
        "skip": 0,
        "data": [{"status": "closed", "createdAt": "2024-01", "$sum": {"cost": 7}}],
    }


def test_order_and_part_of_the_groups(desk):
    query = {"$group": "organisationId", "$sum": "cost", "$sort": {"$sum.cost": -1}}

    assert [group["organisationId"] for group in groups(desk, query)] == [1, 2]
    ascending = {**query, "$sort": {"$sum.cost": 1}, "$skip": 1}
    assert [group["organisationId"] for group in groups(desk, ascending)] == [1]
    page = desk.client(1).service("tickets").find({**ascending, "$limit": 0})
    assert page == {"total": 2, "limit": 0, "skip": 1, "data": []}


def test_conditions_and_rules_hold(desk):
    query = {"$group": "organisationId", "$count": "id"}
    red = {**query, "tags.name": "red"}

    assert groups(desk, query, 2) == [{"organisationId": 2, "$count": {"id": 2}}]
    assert groups(desk, red) == [{"organisationId": 1, "$count": {"id": 2}}]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"$group": "assigneeId"}, "'assigneeId' has no groups or sums."),
        ({"$sum": "nothing"}, "'nothing' is not a field."),
        ({"$sum": "status"}, "'status' has no such value."),
        ({"$group": {"status": "day"}}, "'status' has no such value."),
        ({"$group": {"createdAt": "minute"}}, "'createdAt' is grouped by hour, day"),
        ({"$group": {"createdAt": {"x": 1}}}, "'createdAt' is grouped by hour, day"),
        ({"$group": [["status"]]}, r"'\$group' takes names"),
        ({"$group": "assignee.name"}, "'assignee.name' is not a field."),
        ({"$group": "status", "$sort": {"cost": 1}}, "'cost' is not in the groups."),
        ({"$group": "status", "$sort": "cost"}, r"'\$sort' takes fields"),
        ({"$group": "status", "$select": ["status"]}, r"'\$select' has no meaning"),
        ({"$group": "status", "$populate": ["tags"]}, r"'\$populate' has no meaning"),
        ({"$group": "status", "$having": "1"}, "Invalid query parameter"),
    ],
)
def test_what_is_not_understood_is_refused(desk, query, message):
    with pytest.raises(BadRequest, match=message):
        desk.client(1).service("tickets").find(query)


@pytest.mark.parametrize("query", [{"$group": []}, {"$count": [], "$sum": []}])
def test_groups_of_nothing_are_refused(desk, query):
    with pytest.raises(BadRequest, match=r"'\$group' takes names"):
        desk.records["tickets"].find(query)


def test_fields_that_the_caller_does_not_see_in_all_records(open_desk):
    def agents(user):
        return user["agent"] or {"status": "open"}

    options = {"visible": {"cost": agents}, "hidden": ["organisationId"]}

    with open_desk(tickets={**options, "readable": None, "relations": []}) as desk:
        query = {"$group": "status", "$sum": "cost"}
        assert groups(desk, query)[0]["$sum"] == {"cost": 7}

        with pytest.raises(BadRequest, match="'cost' has no groups or sums"):
            groups(desk, query, 2)

        with pytest.raises(BadRequest, match="'organisationId' is not a field"):
            groups(desk, {"$group": "organisationId"})

        assert groups(desk, {"$group": "status"}, 2) == [
            *({"status": "closed"}, {"status": "open"})
        ]


def test_groups_are_for_find_and_for_services_that_allow_them(desk):
    agent = desk.client(1)

    for path in ("/tickets/1?$group=status", "/people?$group=name"):
        answer = agent.http.get(path)
        assert answer.status_code == 400
        assert answer.json["message"] == "Invalid query parameter $group"

    assert agent.http.delete("/tickets?$count=id").status_code in (400, 405)
    assert desk.records["people"].find({"$group": "agent", "$count": "id"}) == [
        {"agent": False, "$count": {"id": 2}},
        {"agent": True, "$count": {"id": 1}},
    ]


def test_aggregates_that_are_not_fields_are_refused(open_desk):
    with pytest.raises(ValueError, match="'aggregates' names 'size'"):
        with open_desk(tickets={"aggregates": ["size"]}):
            pass


PATHS = ["id", "cost", "organisation.name", "organisation.id", "assignee.name"]


@pytest.fixture
def grouping_desk(database_url):
    """A help desk whose clients group by fields of related records. Nobody sees people
    of other organisations, but for agents.
    """
    readable = of_organisation("organisationId")
    people = {"readable": readable, "visible": None}

    with opened(database_url, tickets={"aggregates": PATHS}, people=people) as desk:
        desk.fill()
        yield desk


def test_groups_of_a_related_field(grouping_desk):
    query = {"$group": "organisation.name", "$count": "id", "$sum": "cost"}
    acme = {"organisation.name": "Acme", "$count": {"id": 2}, "$sum": {"cost": 12}}
    bolt = {"organisation.name": "Bolt", "$count": {"id": 2}, "$sum": {"cost": 10}}

    assert groups(grouping_desk, query) == [acme, bolt]
    assert groups(grouping_desk, query, 2) == [bolt]
    assert groups(grouping_desk, {**query, "$sort": {"organisation.name": -1}}) == [
        *(bolt, acme)
    ]
    page = grouping_desk.client(1).http.get(
        "/tickets?$group[]=organisation.id&$count=id&$limit=1&$skip=1"
    )
    assert page.json == {
        **{"total": 2, "limit": 1, "skip": 1},
        "data": [{"organisation.id": 2, "$count": {"id": 2}}],
    }


def test_related_records_that_the_caller_does_not_see_are_in_no_group(grouping_desk):
    """Bea sees the ticket of her organisation that somebody of another one has."""
    tickets = grouping_desk.records["tickets"]
    tickets.patch(4, {"assigneeId": 1})
    query = {"$group": ["assignee.name"], "$count": "id"}

    assert groups(grouping_desk, query, 2) == [
        {"assignee.name": None, "$count": {"id": 1}},
        {"assignee.name": "Bea", "$count": {"id": 1}},
    ]
    # The rule has another value for each caller.
    assert groups(grouping_desk, query, 3) == [
        *({"assignee.name": name, "$count": {"id": 1}} for name in ("Agent", "Cas"))
    ]
    assert [group["assignee.name"] for group in groups(grouping_desk, query)] == [
        *("Agent", "Bea", "Cas")
    ]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"$group": "organisation.secret"}, "'organisation.secret' is not a field."),
        ({"$group": "assignee.agent"}, "'assignee.agent' is not a field."),
        ({"$group": "parent.status"}, "'parent.status' is not a field."),
        ({"$group": "tags.name"}, "'tags.name' is not a field."),
        ({"$group": "assignee.organisation.name"}, "is not a field."),
        ({"$sum": "organisation.id"}, "'organisation.id' is not a field."),
        ({"$group": {"organisation.name": "day"}}, "has no groups or sums."),
    ],
)
def test_paths_that_are_not_offered_are_refused(grouping_desk, query, message):
    with pytest.raises(BadRequest, match=message):
        grouping_desk.client(1).service("tickets").find(query)


def test_a_related_field_that_is_hidden_at_times_has_no_groups(open_desk):
    with open_desk(tickets={"aggregates": PATHS}) as desk:
        desk.fill()

        assert groups(desk, {"$group": "assignee.name"})[0] == {"assignee.name": None}

        with pytest.raises(BadRequest, match="'assignee.name' is not visible in every"):
            groups(desk, {"$group": "assignee.name"}, 2)


@pytest.mark.parametrize("path", ["organisation.size", "tags.name", "nothing.name"])
def test_aggregates_that_are_not_paths_are_refused(open_desk, path):
    with pytest.raises(ValueError, match=f"'aggregates' names '{path}'"):
        with open_desk(tickets={"aggregates": [path]}):
            pass


def test_aggregates_over_relationships_need_the_right_to_follow_them(open_desk):
    options = {"aggregates": ["assignee.name"], "relations": ["organisation"]}

    with pytest.raises(ValueError, match="'aggregates' names 'assignee.name'"):
        with open_desk(tickets={**options, "readable": None}):
            pass


def test_calls_in_python_group_by_every_path_of_one_step(desk):
    tickets = desk.records["tickets"]

    found = tickets.find({"$group": ["parent.status"], "$count": "id"})

    assert found.data == [
        {"parent.status": None, "$count": {"id": 1}},
        {"parent.status": "closed", "$count": {"id": 1}},
        {"parent.status": "open", "$count": {"id": 2}},
    ]


def test_documents_have_the_paths_and_periods_of_groups(grouping_desk):
    with grouping_desk.app.test_request_context():
        schemas = grouping_desk.records["tickets"].capabilities.schemas_for(None)

    assert "organisation.name" in schemas.query["properties"]["$group"]["items"]["enum"]
    assert schemas.groups["properties"]["organisation.name"] == {
        "type": ["string", "null"]
    }
