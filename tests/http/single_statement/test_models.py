"""A single statement writes a model only if nothing of the model is passed over."""

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, mapped_column, relationship, validates

from .notes import note_of
from .twins import nothing

ALL = {"create", "patch", "remove"}


def listened(name):
    def make():
        model = note_of()
        sa.event.listen(model, name, nothing)
        return model

    make.__name__ = name
    return make


def related(name, **options):
    """Notes with a relationship to their children."""

    def make():
        model = note_of(children=relationship(lambda: child, **options))
        members = {
            "__tablename__": "child",
            "id": mapped_column(sa.Integer, primary_key=True),
            "note_id": mapped_column(sa.ForeignKey("note.id")),
        }
        child = type("Child", (model.__base__,), members)
        return model

    make.__name__ = name
    return make


def plain():
    return note_of()


def with_defaults():
    return note_of(
        one=mapped_column(sa.Integer, default=1),
        two=mapped_column(sa.Integer, server_default="2"),
        three=mapped_column(sa.Integer, default=sa.literal_column("3")),
    )


def validated():
    def validate(self, key, value):
        return value

    return note_of(validate=validates("text")(validate))


def own_constructor():
    def __init__(self, text=None, id=None):
        self.text, self.id = text, id

    return note_of(__init__=__init__)


def versioned():
    version = mapped_column(sa.Integer)
    return note_of(version=version, __mapper_args__={"version_id_col": version})


def updated_in_python():
    return note_of(editor=mapped_column(sa.String(20), onupdate="nobody"))


def computed():
    return note_of(long=mapped_column(sa.String(20), sa.Computed("text || text")))


def without_implicit_returning():
    return note_of(__table_args__={"implicit_returning": False})


def single_table_base():
    kind = mapped_column(sa.String(20))
    args = {"polymorphic_on": kind, "polymorphic_identity": "note"}
    model = note_of(kind=kind, __mapper_args__=args)
    args = {"polymorphic_identity": "memo"}
    # A mapper holds those of subclasses weakly.
    model.memo = type("Memo", (model,), {"__mapper_args__": args})
    return model


def joined_table_subclass():
    kind = mapped_column(sa.String(20))
    args = {"polymorphic_on": kind, "polymorphic_identity": "note"}
    model = note_of(kind=kind, __mapper_args__=args)
    members = {
        "__tablename__": "memo",
        "id": mapped_column(sa.ForeignKey("note.id"), primary_key=True),
        "__mapper_args__": {"polymorphic_identity": "memo"},
    }
    return type("Memo", (model,), members)


def many_to_many():
    base = type("NoteBase", (DeclarativeBase,), {})
    table = sa.Table(
        "between",
        base.metadata,
        sa.Column("one", sa.ForeignKey("note.id"), primary_key=True),
        sa.Column("two", sa.ForeignKey("note.id"), primary_key=True),
    )

    class Note(base):
        __tablename__ = "note"

        id = mapped_column(sa.Integer, primary_key=True)
        text = mapped_column(sa.String(20))
        others = relationship(
            "Note",
            secondary=table,
            primaryjoin=lambda: Note.id == table.c.one,
            secondaryjoin=lambda: Note.id == table.c.two,
        )

    return Note


VARIANTS = [
    (plain, ALL),
    (with_defaults, ALL),
    # Something listens.
    (listened("before_insert"), {"patch", "remove"}),
    (listened("before_update"), {"create", "remove"}),
    (listened("before_delete"), {"create", "patch"}),
    (listened("load"), set()),
    (validated, set()),
    # Instances are made or written in a way of their own.
    (own_constructor, set()),
    # More than a row changes, or it changes in more ways.
    (versioned, set()),
    (updated_in_python, {"create", "remove"}),
    (computed, {"create", "remove"}),
    (without_implicit_returning, set()),
    (single_table_base, set()),
    (joined_table_subclass, set()),
    (many_to_many, {"create", "patch"}),
    (related("children"), {"create", "patch"}),
    (related("cascading", cascade="all, delete-orphan"), {"create", "patch"}),
    (related("left to the database", passive_deletes=True), ALL),
    (related("viewed only", viewonly=True), ALL),
]
"""Models, and which of create, patch and remove are one statement for them."""


@pytest.mark.parametrize(
    ("make", "methods"), [pytest.param(*each, id=each[0].__name__) for each in VARIANTS]
)
def test_a_model_with_nothing_to_honour_is_written_by_one_statement(
    make_notes, make, methods
):
    assert make_notes(make()).methods_of_one_statement() == methods
