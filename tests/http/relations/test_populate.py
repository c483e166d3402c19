"""``$populate`` over several relationships."""

import pytest

from flask_records import BadRequest

from ...sql import statements_of


def comments(desk, names, id=1):
    query = {"$populate": names, "$sort": {"id": 1}}
    return desk.client(id).service("comments").find(query)


def test_relationships_of_related_records_are_loaded(desk):
    found = comments(desk, ["ticket.organisation", "ticket.tags", "ticket"])

    ticket = found[0]["ticket"]
    assert ticket["organisation"] == {"id": 1, "name": "Acme"}
    assert [tag["name"] for tag in ticket["tags"]] == ["red", "blue"]
    assert found[2]["ticket"]["organisation"]["name"] == "Bolt"


@pytest.mark.parametrize(
    "name",
    [
        "ticket.nothing",
        "nothing.ticket",
        "ticket.",
        "ticket.assignee.password",
        "ticket.parent.parent.parent",
    ],
)
def test_path_that_can_not_be_populated_is_refused_also_without_records(desk, name):
    query = {"$populate": [name], "id": 99}

    with pytest.raises(BadRequest) as error:
        desk.client(1).service("comments").find(query)

    [refused] = error.value.errors
    assert name.startswith(refused)


def test_service_of_the_path_allows_populate(open_desk):
    with open_desk(tickets={"whitelist": []}) as desk:
        assert comments(desk, ["ticket"])[0]["ticket"]["id"] == 1

        with pytest.raises(BadRequest, match="'ticket.organisation' is not a relation"):
            comments(desk, ["ticket.organisation"])


def test_number_of_statements_does_not_depend_on_the_number_of_records(desk):
    names = ["ticket.organisation", "ticket.assignee.organisation"]
    numbers = []

    for limit in (1, 4):
        query = {"$populate": names, "$limit": limit}

        with statements_of(desk.db.engine) as statements:
            desk.records["comments"].find(query)

        numbers.append(len(statements))

    assert numbers == [5, 5]


def test_number_of_paths_to_populate_is_bounded(desk):
    names = [f"ticket.parent.{name}" for name in ("tags", "parent", "comments")] * 2

    with pytest.raises(BadRequest, match="more than 10 paths"):
        comments(desk, names)
