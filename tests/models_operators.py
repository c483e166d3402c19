"""A model that operators are tried on."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

ALWAYS = "$eq $ne $in $nin $lt $lte $gt $gte".split()
"""The operators that every service has."""
WHITELIST = "$like $notLike $ilike $regex $search $null $between".split()
"""The operators that a service has if its whitelist names them."""


class Base(DeclarativeBase):
    pass


class Person(Base):
    __tablename__ = "person"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None]
    age: Mapped[int | None]
    extra: Mapped[dict | None] = mapped_column(sa.JSON)
