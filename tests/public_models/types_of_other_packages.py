"""A mapped class for each type of some packages, in which services meet them."""

from __future__ import annotations

import advanced_alchemy.types as advanced
import citext
import pgvector.sqlalchemy as pgvector
import sqlalchemy_json
import sqlmodel
from advanced_alchemy.types.password_hash.passlib import PasslibHasher
from fastapi_users_db_sqlalchemy import generics
from passlib.context import CryptContext
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

HASHER = PasslibHasher(context=CryptContext(schemes=["pbkdf2_sha256"]))

TYPES = {
    "AutoString": sqlmodel.AutoString(),
    "BigIntIdentity": advanced.BigIntIdentity,
    "CIText": citext.CIText(),
    "DateTimeUTC": advanced.DateTimeUTC(timezone=True),
    "EncryptedString": advanced.EncryptedString(key=b"key"),
    "EncryptedText": advanced.EncryptedText(key=b"key"),
    "GUID": advanced.GUID(),
    "GUIDOfUsers": generics.GUID(),
    "JsonB": advanced.JsonB,
    "MutableJson": sqlalchemy_json.MutableJson,
    "NestedMutableJson": sqlalchemy_json.NestedMutableJson,
    "PasswordHash": advanced.PasswordHash(backend=HASHER),
    "Timestamp": generics.TIMESTAMPAware(timezone=True),
    "Vector": pgvector.Vector(3),
}


class Base(DeclarativeBase):
    pass


class Thing:
    id: Mapped[int] = mapped_column(primary_key=True)


for name, type_ in TYPES.items():
    attributes = {"__tablename__": name.lower(), "value": mapped_column(type_)}
    type(name, (Thing, Base), {**attributes, "__module__": __name__})
