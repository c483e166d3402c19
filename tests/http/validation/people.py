"""People, and a class that checks their bodies."""

from __future__ import annotations

import datetime as dt
import enum
from decimal import Decimal

import sqlalchemy as sa
from pydantic import BaseModel
from pydantic import ConfigDict
from pydantic import Field
from pydantic import field_validator
from pydantic import HttpUrl
from pydantic import model_validator
from pydantic import SecretStr
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column

from flask_records import Problem


class Base(DeclarativeBase):
    pass


class Color(enum.Enum):
    red = "red"
    green = "green"


class Person(Base):
    __tablename__ = "person"

    id: Mapped[int] = mapped_column(primary_key=True)
    full_name: Mapped[str] = mapped_column(sa.String(20))
    role: Mapped[str] = mapped_column(sa.String(20), default="guest")
    born: Mapped[dt.date | None]
    seen: Mapped[dt.datetime | None]
    salary: Mapped[Decimal | None] = mapped_column(sa.Numeric(8, 2))
    color: Mapped[Color | None]
    picture: Mapped[bytes | None]
    site: Mapped[str | None] = mapped_column(sa.String(100))
    password: Mapped[str | None] = mapped_column(sa.String(100))
    address = mapped_column(sa.JSON)
    stars: Mapped[int] = mapped_column(default=1)
    fixed: Mapped[str] = mapped_column(sa.String(9), default="kept")


class Address(BaseModel):
    model_config = ConfigDict(extra="forbid")

    zip: str = Field(alias="zipCode", pattern="^[0-9]{5}$")
    since: dt.date | None = None


class PersonBody(BaseModel):
    full_name: str = Field(alias="fullName", min_length=2)
    born: dt.date | None = None
    seen: dt.datetime | None = None
    salary: Decimal | None = Field(default=None, ge=0)
    color: Color | None = None
    picture: bytes | None = None
    site: HttpUrl | None = None
    password: SecretStr | None = None
    address: Address | None = None
    stars: int = Field(default=3, le=5)

    @field_validator("full_name")
    @classmethod
    def trim(cls, name):
        return name.strip()

    @model_validator(mode="after")
    def check_order(self):
        if self.born and self.seen and self.seen.date() < self.born:
            raise ValueError(Problem("is before 'born'", "order", field="seen"))

        return self


ANN = {"fullName": " Ann "}


def problems_of(answer):
    status, body = answer
    assert status == 400, body
    return {name: each["code"] for name, each in body["errors"].items()}
