"""All models and rules that can't be served are told at one start."""

from __future__ import annotations

import os
import pickle
import sys
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import FlaskRecords, FromUser, SQLAlchemyService


class Base(DeclarativeBase):
    pass


class Line(Base):
    """A key of two columns beside a column ``id``."""

    __tablename__ = "refused_line"

    id: Mapped[int] = mapped_column(primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True)


class Setting(Base):
    __tablename__ = "refused_setting"

    id: Mapped[int] = mapped_column(primary_key=True)
    value: Mapped[object] = mapped_column(sa.PickleType(pickler=pickle))
    other: Mapped[object] = mapped_column(sa.PickleType(pickler=pickle))


class Post(Base):
    __tablename__ = "refused_post"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]
    post_count: Mapped[int] = mapped_column(default=0)


def add(records, path, model, options=None, **rules):
    service = SQLAlchemyService(model, session=sa.orm.Session, **(options or {}))
    records.add(path, service, public=True, **rules)


def test_all_refusals_are_told_at_once():
    records = FlaskRecords()
    add(records, "lines", Line)
    add(records, "settings", Setting)
    names = {"hidden": ["txt", "content"], "writable": {"count": False}}
    add(records, "posts", Post, names)
    own = {"authorId": FromUser("id")}
    add(records, "drafts", Post, readable=own, allow={"patch": own})

    with pytest.raises(ValueError) as caught:
        records.init_app(Flask("host"))

    parts = [
        "'Line.id' identifies no record",
        "'Setting.value' is",
        "'Setting.other' is",
    ]
    parts += ["names 'txt'", "names 'content'", "a rule for 'count'"]
    parts += ["'readable' of 'drafts'", "'patch' in 'allow' of 'drafts'"]
    lines = str(caught.value).splitlines()
    assert len(lines) == len(parts)
    assert all(part in line for part, line in zip(parts, lines, strict=True))


def test_host_leaves_out_what_is_refused_later():
    app, records = Flask("host"), FlaskRecords()
    records.init_app(app)
    refused = []

    for model in (Line, Setting, Post):
        try:
            add(records, model.__tablename__, model)
        except ValueError:
            refused.append(model)

    assert refused == [Line, Setting]
    assert [*records.services] == ["refused_post"]
    assert app.test_client().get("/refused_line").status_code == 404


# Servers


def uwsgi(processes=2, worker=0, master=0):
    return SimpleNamespace(
        numproc=processes, worker_id=lambda: worker, masterpid=lambda: master
    )


@pytest.mark.parametrize("master", [0, os.getpid()], ids=["alone", "master"])
def test_uwsgi_has_to_load_the_application_in_each_worker(monkeypatch, master):
    monkeypatch.setitem(sys.modules, "uwsgi", uwsgi(master=master))

    with pytest.raises(RuntimeError, match="lazy-apps = true"):
        FlaskRecords(Flask("forked"))


@pytest.mark.parametrize(
    "server", [uwsgi(processes=1), uwsgi(worker=1, master=1)], ids=["one", "lazy"]
)
def test_uwsgi_that_forks_nothing_serves_the_application(monkeypatch, server):
    monkeypatch.setitem(sys.modules, "uwsgi", server)

    FlaskRecords(Flask("alone"))


def test_extension_without_engines_is_in_nobodys_way():
    app = Flask("other")
    app.extensions["sqlalchemy"] = object()

    FlaskRecords(app)
