"""A mapped class for each type of sqlalchemy-utils."""

from __future__ import annotations

import enum

import sqlalchemy as sa
import sqlalchemy_utils as utils
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy_utils.types.encrypted.encrypted_type import StringEncryptedType


class Level(enum.Enum):
    low = 1
    high = 2


TYPES = {
    "Arrow": utils.ArrowType(),
    "Choice": utils.ChoiceType([("running", "Running"), ("done", "Done")]),
    "ChoiceOfIntegers": utils.ChoiceType([(1, "One"), (2, "Two")], impl=sa.Integer()),
    "ChoiceOfEnum": utils.ChoiceType(Level, impl=sa.Integer()),
    "Color": utils.ColorType(),
    "Country": utils.CountryType(),
    "Currency": utils.CurrencyType(),
    "DateRange": utils.DateRangeType(),
    "DateTimeRange": utils.DateTimeRangeType(),
    "Email": utils.EmailType(),
    "EnrichedDate": utils.EnrichedDateType(),
    "EnrichedDateTime": utils.EnrichedDateTimeType(),
    "Encrypted": StringEncryptedType(sa.String, "key", length=200),
    "EncryptedInteger": StringEncryptedType(sa.Integer, "key", length=200),
    "IPAddress": utils.IPAddressType(),
    "IntRange": utils.IntRangeType(),
    "Document": utils.JSONType(),
    "LTree": utils.LtreeType(),
    "Locale": utils.LocaleType(),
    "NumericRange": utils.NumericRangeType(),
    "Password": utils.PasswordType(schemes=["pbkdf2_sha512"]),
    "PhoneNumber": utils.PhoneNumberType(),
    "ScalarList": utils.ScalarListType(),
    "ScalarListOfIntegers": utils.ScalarListType(int),
    "TSVector": utils.TSVectorType(),
    "Timezone": utils.TimezoneType(backend="zoneinfo"),
    "URL": utils.URLType(),
    "UUID": utils.UUIDType(),
    "UUIDText": utils.UUIDType(binary=False),
    "WeekDays": utils.WeekDaysType(),
}


class Base(DeclarativeBase):
    pass


class Thing:
    id: Mapped[int] = mapped_column(primary_key=True)


for name, type_ in TYPES.items():
    attributes = {"__tablename__": name.lower(), "value": mapped_column(type_)}
    type(name, (Thing, Base), {**attributes, "__module__": __name__})
