"""The JSON Schemas of values, by the types of columns. Those of tests/http/differential
check that each value which is answered is valid.
"""

import enum
from decimal import Decimal

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import mapped_column

from flask_records import Converter, SQLAlchemyService

from ..models import model_of


class Color(enum.Enum):
    red = 1
    green = 2


def schema_of(type_, **options):
    model = model_of(value=mapped_column(type_))
    scope = SQLAlchemyService(model, **options).scope_for(None)
    return dict(scope["value"].conversion.schema)


@pytest.mark.parametrize(
    ("type_", "schema"),
    [
        (sa.String(20), {"type": "string", "maxLength": 20}),
        (sa.Text(), {"type": "string"}),
        (sa.SmallInteger(), {"type": "integer", "minimum": -32768, "maximum": 32767}),
        (sa.Numeric(8, 2), {"type": "string", "format": "decimal"}),
        (sa.Numeric(8, 2, asdecimal=False), {"type": "number"}),
        (sa.Enum(Color), {"type": "string", "enum": ["red", "green"]}),
        (sa.JSON(), {}),
        (sa.DateTime(), {"type": "string", "format": "date-time"}),
        (sa.LargeBinary(), {"type": "string", "contentEncoding": "base64"}),
        (
            sa.ARRAY(sa.Boolean(), dimensions=2),
            {
                "type": "array",
                "items": {"type": "array", "items": {"type": ["boolean", "null"]}},
            },
        ),
        (postgresql.INET(), {}),
    ],
    ids=str,
)
def test_schema_of_a_type(type_, schema):
    assert schema_of(type_) == schema


def test_schema_of_a_converter():
    schema = {"type": "string", "pattern": " EUR$"}
    converter = Converter(Decimal, str, schema)

    assert schema_of(sa.Integer(), converters={"value": converter}) == schema
