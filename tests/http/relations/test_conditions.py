"""Conditions and sorts that follow relationships."""

import pytest

from flask_records import BadRequest, NotAuthenticated


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({"organisation.name": "Bolt"}, [3, 4]),
        ({"assignee.name": {"$like": "%a"}}, [3]),
        ({"assignee.organisation.name": "Acme"}, [1, 2]),
        ({"parent.parent.id": 1}, [4]),
        ({"organisation.name": "Acme", "status": "open"}, [1]),
        ({"$or": [{"organisation.name": "Bolt"}, {"tags.color": "r"}]}, [1, 3, 4]),
        ({"tags.name": ["red", "green"]}, [1, 2]),
        ({"comments.text": "hi"}, [1, 3]),
    ],
)
def test_condition_on_a_related_record(desk, query, ids):
    assert desk.find("tickets", query) == ids


def test_one_related_record_meets_all_conditions_on_a_path(desk):
    together = {"tags.name": "red", "tags.color": "b"}
    apart = {"tags.name": "red", "$and": [{"tags.color": "b"}]}

    assert desk.find("tickets", together) == [2]
    assert desk.find("tickets", apart) == [1, 2]


def test_negated_path_finds_records_without_such_a_related_record(desk):
    assert desk.find("tickets", {"tags.name": {"$ne": "red"}}) == [1]
    assert desk.find("tickets", {"$not": {"tags.name": "red"}}) == [3, 4]
    assert desk.find("tickets", {"assignee.name": {"$ne": "Bea"}}) == [1, 2]
    assert desk.find("tickets", {"parent.id": {"$null": True}}) == []


def test_sort_by_a_related_record_has_those_without_one_first(desk):
    assert desk.find("tickets", {"$sort": {"assignee.name": 1}}) == [4, 1, 3, 2]
    assert desk.find("tickets", {"$sort": {"assignee.name": -1}}) == [2, 3, 1, 4]
    by_organisation = {"assignee.organisation.name": -1, "id": -1}
    assert desk.find("tickets", {"$sort": by_organisation}) == [3, 2, 1, 4]
    skipped = {"$sort": {"assignee.name": 1}, "$skip": 1, "$limit": 2}
    assert desk.find("tickets", skipped) == [1, 3]


def test_condition_holds_for_the_other_methods(desk):
    tickets = desk.client(1).service("tickets")

    assert tickets.get(1, {"organisation.name": "Acme"})["id"] == 1
    patched = tickets.patch(3, {"cost": 4}, {"organisation.name": "Bolt"})
    assert patched["cost"] == 4
    assert desk.client(1).http.delete("/tickets/1?tags.name=green").status_code == 404


@pytest.mark.parametrize(
    "name",
    [
        "organisation.secret",
        "organisation.nothing",
        "nothing.name",
        "organisation.",
        ".name",
        "status.name",
        "organisation.name.x",
        "organisation.$or",
        "parent.parent.parent.parent.id",
        "tickets.id",
    ],
)
def test_name_that_the_caller_may_not_follow_is_not_a_field(desk, name):
    for query in ({name: "1"}, {"$sort": {name: 1}}):
        with pytest.raises(BadRequest) as error:
            desk.find("tickets", query)

        assert error.value.description == f"'{name}' is not a field."
        assert error.value.errors == {name: "is not a field"}


def test_relationship_that_is_not_listed_is_for_python_only(open_desk):
    query = {"organisation.name": "Acme"}

    with open_desk(tickets={"relations": ["assignee"]}) as desk:
        with pytest.raises(BadRequest, match="'organisation.name' is not a field"):
            desk.find("tickets", query)

        assert desk.records["tickets"].find({**query, "$limit": 0}).total == 2


def test_value_that_does_not_fit_is_told_with_its_path(desk):
    with pytest.raises(BadRequest) as error:
        desk.find("tickets", {"assignee.organisationId": "x"})

    assert "'x' is not a valid 'assignee.organisationId'" in error.value.description
    assert list(error.value.errors) == ["assignee.organisationId"]


def test_sort_by_several_related_records_is_refused(desk):
    with pytest.raises(BadRequest, match="'tags.name' can't be sorted by"):
        desk.find("tickets", {"$sort": {"tags.name": 1}})


def test_related_records_that_the_caller_does_not_see_are_not_found_by(desk):
    assert desk.find("tickets", {"comments.text": "psst"}, 1) == [1, 3]
    assert desk.find("tickets", {"comments.text": "psst"}, 2) == []
    assert desk.find("tickets", {"comments.text": "hi"}, 2) == [3]
    # The parents are tickets of the other organisation.
    assert desk.find("tickets", {"parent.id": {"$gt": 0}}, 2) == []
    assert desk.find("tickets", {"$sort": {"parent.cost": -1}}, 2) == [4, 3]
    assert desk.find("tickets", {"$sort": {"parent.cost": -1, "id": 1}}, 1)[0] == 4


def test_related_field_that_the_caller_sees_in_some_records(desk):
    assert desk.find("tickets", {"assignee.name": "Bea"}, 2) == [3]
    assert desk.find("tickets", {"assignee.name": "Cas"}, 2) == []
    assert desk.find("tickets", {"assignee.name": "Cas"}, 3) == [2]

    with pytest.raises(BadRequest, match="'assignee.name' is not visible in every"):
        desk.find("tickets", {"$sort": {"assignee.name": 1}}, 2)


def test_caller_who_may_not_find_the_related_records_may_not_name_them(open_desk):
    with open_desk(
        tickets={"public": ["find"], "readable": None},
        organisations={"allow": {"find": lambda user: False}},
    ) as desk:
        anonymous = desk.client()
        url = "/tickets?assignee.id=1"
        assert anonymous.http.get("/tickets").status_code == 200
        assert anonymous.http.get(url).status_code == NotAuthenticated.code
        forbidden = desk.client(1).http.get("/tickets?organisation.name=Acme")
        assert forbidden.status_code == 403


def test_key_that_the_caller_does_not_see_hides_the_relationship(open_desk):
    with open_desk(tickets={"hidden": ["organisationId"]}) as desk:
        with pytest.raises(BadRequest, match="'organisation.name' is not a field"):
            desk.find("tickets", {"organisation.name": "Acme"})

    with open_desk(comments={"visible": {"ticketId": lambda user: False}}) as desk:
        with pytest.raises(BadRequest, match="'comments.text' is not a field"):
            desk.find("tickets", {"comments.text": "hi"})


def test_number_of_paths_of_a_client_is_bounded(desk):
    query = {"$or": [{"parent.parent.id": n} for n in range(6)]}

    with pytest.raises(BadRequest, match="more than 10 paths to related records"):
        desk.find("tickets", query)

    assert desk.records["tickets"].find(query)


def test_relations_that_are_not_of_the_model_are_refused(open_desk):
    with pytest.raises(ValueError, match="'relations' names 'room'"):
        with open_desk(tickets={"relations": ["room"]}):
            pass
