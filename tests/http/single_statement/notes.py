"""Models of notes that are made for a test, each with a database of its own."""

import sqlalchemy as sa
from sqlalchemy.orm import mapped_column, sessionmaker

from flask_records import FlaskRecords, SQLAlchemyService

from ...databases import enforce_foreign_keys
from ...models import model_of
from ...sql import statements_of
from .twins import kinds


class Notes:
    """A database of its own with the service of one model."""

    def __init__(self, model, make=sessionmaker, **options):
        self.engine = sa.create_engine("sqlite://")
        sa.event.listen(self.engine, "connect", enforce_foreign_keys)
        model.metadata.create_all(self.engine)
        self.make = make(self.engine)
        options = {"session": self.make, "multi": True} | options
        self.service = FlaskRecords().add("notes", SQLAlchemyService(model, **options))

    def methods_of_one_statement(self):
        """Return the names of create, patch and remove that take one statement."""
        calls = {
            "create": lambda: self.service.create({"text": "a"}),
            "patch": lambda: self.service.patch(1, {"text": "b"}),
            "remove": lambda: self.service.remove(1),
        }
        return {name for name, call in calls.items() if self.takes_one_statement(call)}

    def takes_one_statement(self, call):
        with statements_of(self.engine) as statements:
            call()

        ran = [each for each in statements if kinds([each])]
        return len(ran) == 1 and "RETURNING" in ran[0] and "SELECT" not in kinds(ran)


def note_of(**members):
    """Return a new model of notes with some members more."""
    default = {"__tablename__": "note", "text": mapped_column(sa.String(20))}
    return model_of(**default | members)
