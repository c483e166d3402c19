"""Rules that compare fields of a record, its own ones and those of related records."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.ext.declarative import ConcreteBase
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import (
    BadRequest,
    Change,
    FlaskRecords,
    Forbidden,
    FromRecord,
    FromUser,
    GeneralError,
    NotFound,
    restrict,
    SQLAlchemyService,
)

from ... import realtime
from ...models import Message
from ...realtime import in_memory, make_live_records
from .office import BOB, EVE, ORG

SAME_ORG = {"project.orgId": FromRecord("orgId")}
"""The project belongs to the organisation of the task."""

OF_ORG = {**ORG, **SAME_ORG}
TASK = {"title": "x", "orgId": 1}


def with_tasks(open_office, rules, *tasks, **options):
    """An office with more tasks than there are in the beginning."""
    office = open_office({"tasks": rules}, options)
    office.records["tasks"].create(
        [
            {"id": 10 + index, "title": "x", "orgId": 1, **task}
            for index, task in enumerate(tasks)
        ]
    )
    return office


def ids(office, path, user, query=()):
    return [each["id"] for each in office.service(path, user).find({**dict(query)})]


@pytest.mark.parametrize(
    "rule", [OF_ORG, lambda user: {"orgId": user["orgId"], **SAME_ORG}]
)
def test_reads_follow_a_rule_that_compares_two_fields(open_office, rule):
    tasks = {"projectId": 1}, {"projectId": 2}, {"projectId": None}
    office = with_tasks(open_office, {"readable": rule}, *tasks)

    assert ids(office, "tasks", BOB) == [1, 2, 10]
    assert ids(office, "tasks", EVE) == [3]
    assert ids(office, "tasks", BOB, {"title": "x"}) == [10]
    assert office.service("tasks", BOB).get(10)["projectId"] == 1

    with pytest.raises(NotFound):
        office.service("tasks", BOB).get(11)


@pytest.mark.parametrize("method", ["create", "patch", "update"])
def test_no_write_leaves_a_record_that_refers_to_another_tenant(open_office, method):
    writes = {"create": SAME_ORG, "update": SAME_ORG, "patch": SAME_ORG}
    office = open_office({"tasks": {"allow": writes}})
    before, tasks = office.stored("tasks"), office.service("tasks", BOB)
    write = getattr(tasks, method)
    id = () if method == "create" else (2,)

    for wrong in ({"projectId": 2}, {"orgId": 2, "projectId": 1}, {"projectId": None}):
        with pytest.raises(Forbidden):
            write(*id, {**TASK, **wrong})

    assert office.stored("tasks") == before
    assert write(*id, {**TASK, "projectId": 1})["orgId"] == 1
    assert write(*id, {**TASK, "orgId": 2, "projectId": 2})["orgId"] == 2


def test_rule_is_asked_after_a_write_of_the_field_that_it_takes(open_office):
    office = open_office({"tasks": {"allow": {"patch": SAME_ORG}}})
    tasks = office.service("tasks", BOB)

    with pytest.raises(Forbidden, match="You may not patch it like this"):
        tasks.patch(2, {"orgId": 2})

    with pytest.raises(Forbidden, match="You may not patch it like this"):
        tasks.patch(None, {"orgId": 2})

    assert [each["orgId"] for each in tasks.find()] == [1, 1, 2]
    assert len(tasks.patch(None, {"title": "y"})) == 3


def test_visible_and_writable_compare_fields(open_office):
    rules = {"status": {"project.orgId": FromRecord("orgId")}}
    options = {"visible": rules, "writable": rules}
    office = with_tasks(
        open_office, {}, {"projectId": 1}, {"projectId": 2}, tasks=options
    )
    tasks = office.service("tasks", BOB)

    assert [each["id"] for each in tasks.find() if "status" in each] == [1, 2, 3, 10]
    assert [each["id"] for each in tasks.find({"status": "draft"})] == [1, 2, 3, 10]
    assert "status" not in tasks.get(11)
    assert tasks.patch(10, {"status": "done"})["status"] == "done"
    created = tasks.create({**TASK, "projectId": 1, "status": "new"})
    assert created["status"] == "new"

    for write in (
        lambda: tasks.patch(11, {"status": "done"}),
        lambda: tasks.create({**TASK, "projectId": 2, "status": "new"}),
    ):
        with pytest.raises(BadRequest, match="'status' is read-only"):
            write()


def test_some_record_of_a_list_has_the_value(open_office):
    rule = {"project.members.userId": FromRecord("ownerId")}
    tasks = {"projectId": 1, "ownerId": EVE}, {"projectId": 1, "ownerId": None}
    office = with_tasks(open_office, {"readable": rule}, *tasks)

    assert ids(office, "tasks", BOB) == [1, 2, 3]


def test_rule_takes_any_of_some_fields(open_office):
    taken = [FromRecord("ownerId"), FromRecord("orgId")]
    rule = {"project.members.userId": {"$in": taken}}
    tasks = {"projectId": 2, "orgId": 3}, {"projectId": 2, "orgId": 1}
    office = with_tasks(open_office, {"readable": rule}, *tasks)

    assert ids(office, "tasks", BOB) == [1, 2, 3, 10]


@pytest.mark.parametrize("operand", [FromRecord("orgId"), {"$in": FromRecord("orgId")}])
def test_fields_of_the_record_itself_are_compared(open_office, operand):
    tasks = {"ownerId": 1}, {"ownerId": None}, {"ownerId": 2}
    office = with_tasks(open_office, {"readable": {"ownerId": operand}}, *tasks)

    assert ids(office, "tasks", BOB) == [1, 10]


def test_null_equals_nothing(open_office):
    rule = {"nickname": FromRecord("nickname")}
    office = open_office(
        {"members": {"readable": rule}}, {"members": {"whitelist": ["$not"]}}
    )
    office.records["members"].patch(1, {"nickname": "a"})

    assert ids(office, "members", BOB) == [1]

    office.records["members"].patch(1, {"nickname": None})
    assert ids(office, "members", BOB) == []


def test_new_record_without_both_values_is_refused(open_office):
    rule = {"ownerId": FromRecord("projectId")}
    office = open_office({"tasks": {"allow": {"create": rule}}})
    tasks = office.service("tasks", BOB)

    assert tasks.create({**TASK, "ownerId": 1, "projectId": 1})["ownerId"] == 1

    for values in ({}, {"ownerId": 1}, {"projectId": 1}):
        with pytest.raises(Forbidden):
            tasks.create({**TASK, **values})


def test_rules_of_services_that_a_query_passes_take_fields_of_their_records(
    open_office,
):
    rules = {
        "tasks": {"readable": SAME_ORG},
        "members": {"readable": {"user.orgId": FromRecord("projectId")}},
    }
    options = {"projects": {"relations": ["tasks", "members"]}}
    office = open_office(rules, options)
    office.records["tasks"].patch(2, {"orgId": 2})

    query = {"tasks.title": "a"}
    assert ids(office, "projects", BOB, query) == [1]
    assert ids(office, "projects", BOB, {"tasks.title": "b"}) == []
    # The organisation of a member has the number of the project.
    assert ids(office, "projects", BOB, {"members.role": "member"}) == [1]
    assert (
        ids(office, "projects", BOB, {"tasks.title": "a", "members.userId": EVE}) == []
    )


def test_hook_restricts_by_fields_of_the_record(open_office):
    office = with_tasks(open_office, {}, {"projectId": 2})
    hook = lambda method, context: restrict(context.params, SAME_ORG)  # noqa: E731
    office.records["tasks"].before("find")(hook)

    assert ids(office, "tasks", BOB) == [1, 2, 3]


def test_no_client_compares_fields(small_office):
    office = small_office()
    tasks = office.service("tasks", BOB)

    with pytest.raises(BadRequest):
        tasks.find({"ownerId": {"field": "orgId"}})

    hook = lambda method, context: context.params.query.update(SAME_ORG)  # noqa: E731
    office.records["tasks"].before("find")(hook)
    own = lambda method, context: context.params.query.update(  # noqa: E731
        ownerId=FromRecord("orgId")
    )
    office.records["members"].before("find")(own)

    with pytest.raises((GeneralError, BadRequest)):
        tasks.find()


def test_no_record_proves_its_own_right(open_office):
    rule = {"project.members.userId": FromRecord("userId")}
    office = open_office({"members": {"allow": {"create": rule, "patch": rule}}})
    members = office.service("members", BOB)

    with pytest.raises(Forbidden):
        members.create({"projectId": 1, "userId": EVE, "role": "owner"})

    assert members.create({"projectId": 1, "userId": BOB, "role": "owner"})["id"]


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ({"project.orgId": FromRecord("nothing")}, "'nothing' is not a field"),
        ({"project.nothing": FromRecord("orgId")}, "'project.nothing' is not a field"),
        ({"project.name": FromRecord("orgId")}, "'project.name' equals, or is"),
        ({"project.orgId": {"$gt": FromRecord("orgId")}}, "'project.orgId' equals"),
        ({"ownerId": {"$ne": FromRecord("orgId")}}, "'ownerId' equals, or is"),
        ({"ownerId": {"$in": [1, FromRecord("orgId")]}}, "'ownerId' equals, or is"),
        ({"$or": [{"title": FromRecord("orgId")}]}, "'title' equals, or is"),
    ],
)
def test_rule_is_checked_at_the_start(small_office, rule, error):
    for rules in ({"readable": rule}, {"allow": {"patch": Change(of=True, to=rule)}}):
        with pytest.raises((ValueError, RuntimeError), match=error):
            small_office({"tasks": rules})

    with pytest.raises((ValueError, RuntimeError)):
        small_office(None, {"tasks": {"visible": {"status": rule}}})


def test_path_on_the_right_is_refused():
    with pytest.raises(
        ValueError, match="is a path. Name a field of the record itself"
    ):
        FromRecord("project.orgId")


OWN = {"user_id": FromUser("id"), "user.age": FromRecord("rank")}


@pytest.mark.parametrize(
    "rule",
    [
        OWN,
        lambda user: user and {"user_id": user["id"], "user.age": FromRecord("rank")},
    ],
)
def test_events_follow_a_rule_that_compares_two_fields(tmp_path, rule):
    records = make_live_records()
    notes = records.add("notes", SQLAlchemyService(Message), readable=rule)

    with in_memory(records, tmp_path) as site, site.app.app_context():
        site.register(realtime.BOB)
        records["users"].patch(2, {"age": 30})
        ann, bob = site.connect(realtime.ANN), site.connect(realtime.BOB)
        note = {"text": "x", "user_id": 2}
        others = [{"rank": 31}, {"rank": None}, {"rank": 30, "user_id": 1}]

        for each in ({"rank": 30}, *others):
            notes.create({**note, **each})

        notes.patch(2, {"rank": 30})
        notes.patch(1, {"rank": 31})
        notes.remove(1)
        notes.remove(2)

        assert [(name, record["id"]) for name, record in bob.events()] == [
            *(("notes created", 1), ("notes patched", 2), ("notes removed", 2))
        ]
        assert ann.events() == []


def test_hidden_field_is_taken_for_events_of_removed_records(tmp_path):
    records = make_live_records()
    service = SQLAlchemyService(Message, hidden=["rank"], multi=True)
    notes = records.add("notes", service, readable=OWN)

    with in_memory(records, tmp_path) as site, site.app.app_context():
        site.register(realtime.BOB)
        records["users"].patch(2, {"age": 30})
        bob = site.connect(realtime.BOB)
        notes.create([{"text": "x", "user_id": 2, "rank": e} for e in (30, 31)])
        bob.events()

        notes.remove(1)
        notes.remove(2)

        [(name, record)] = bob.events()
        assert (name, record["id"], "rank" in record) == ("notes removed", 1, False)


def test_records_of_several_tables_are_compared_each_with_its_own():
    class Base(DeclarativeBase):
        pass

    class Group(Base):
        __tablename__ = "group"
        id: Mapped[int] = mapped_column(primary_key=True)
        org: Mapped[int]

    class Employee(ConcreteBase, Base):
        __tablename__ = "employee"
        __mapper_args__ = {"polymorphic_identity": "employee", "concrete": True}
        id: Mapped[int] = mapped_column(primary_key=True)
        org: Mapped[int]
        groupId: Mapped[int] = mapped_column(sa.ForeignKey("group.id"))
        group: Mapped[Group] = relationship()

    class Manager(Employee):
        __tablename__ = "manager"
        __mapper_args__ = {"polymorphic_identity": "manager", "concrete": True}
        id: Mapped[int] = mapped_column(primary_key=True)
        org: Mapped[int]
        groupId: Mapped[int] = mapped_column(sa.ForeignKey("group.id"))
        group: Mapped[Group] = relationship()

    db, records = SQLAlchemy(model_class=Base), FlaskRecords()
    rule = {"group.org": FromRecord("org")}
    service = SQLAlchemyService(Employee)
    records.add("employees", service, readable=rule, public=True)
    app = Flask(__name__)
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    db.init_app(app)
    records.init_app(app)

    with app.app_context():
        db.create_all()
        rows = {
            Group: [{"id": 1, "org": 1}, {"id": 2, "org": 2}],
            Employee: [
                {"id": 1, "org": 1, "groupId": 1},
                {"id": 2, "org": 1, "groupId": 2},
            ],
            Manager: [
                {"id": 3, "org": 2, "groupId": 2},
                {"id": 4, "org": 2, "groupId": 1},
            ],
        }

        for model, each in rows.items():
            db.session.execute(sa.insert(model.__table__), each)

        db.session.commit()
        found = app.test_client().get("/employees").json

    assert [each["id"] for each in found] == [1, 3]


def test_service_of_another_object_takes_no_fields():
    class Weather:
        def find(self, params):
            return []

    records = FlaskRecords()
    records.add("weather", Weather(), readable={"a": FromRecord("b")}, public=True)

    with pytest.raises(
        ValueError, match="FromRecord, which is for services over models"
    ):
        records.init_app(Flask(__name__))
