"""Groups and sums of records."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import BadRequest, SQLAlchemyService

from ...databases import serving_models


class Base(DeclarativeBase):
    pass


class Site(Base):
    __tablename__ = "groups_site"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))


class Visit(Base):
    __tablename__ = "groups_visit"

    id: Mapped[int] = mapped_column(primary_key=True)
    siteId: Mapped[int | None] = mapped_column(sa.ForeignKey(Site.id))

    @hybrid_property
    def siteName(self):
        raise NotImplementedError

    @siteName.inplace.expression
    @classmethod
    def _siteName(cls):
        name = sa.select(Site.name).where(Site.id == cls.siteId)
        return name.scalar_subquery()


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


def test_days_and_months(desk):
    by_month = {"$group": {"createdAt": "month"}, "$count": "id"}
    by_day = {"$group": {"0": "status", "createdAt": "day"}, "status": "closed"}

    assert groups(desk, by_month) == [
        {"createdAt": "2024-01", "$count": {"id": 2}},
        {"createdAt": "2024-02", "$count": {"id": 2}},
    ]
    assert groups(desk, by_day) == [{"status": "closed", "createdAt": "2024-01-02"}]


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
        ({"$group": {"createdAt": "minute"}}, "'createdAt' is grouped by hour, day"),
        ({"$group": {"status": "day"}}, "'status' has no such value."),
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


def test_groups_of_a_hybrid_property_that_is_a_subquery(database_url):
    visits = SQLAlchemyService(Visit, multi=True, aggregates=["siteName"])
    services = {"sites": SQLAlchemyService(Site, multi=True), "visits": visits}

    with serving_models(database_url, services) as client:
        client.post("/sites", json=[{"name": "Acme"}, {"name": "Bolt"}])
        client.post("/visits", json=[{"siteId": each} for each in (2, 1, 2, None)])
        found = client.get("/visits?$group[]=siteName&$count=siteName")
        refused = client.get("/visits?$group[]=site.name")

    assert found.json == [
        {"siteName": None, "$count": {"siteName": 0}},
        {"siteName": "Acme", "$count": {"siteName": 1}},
        {"siteName": "Bolt", "$count": {"siteName": 2}},
    ]
    assert refused.json["errors"] == {"site.name": "is not a field"}
