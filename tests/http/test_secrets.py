"""Fields named like secrets that clients may read are told at the start."""

from __future__ import annotations

import datetime as dt
import typing as t

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import FlaskRecords, SQLAlchemyService


class Base(DeclarativeBase):
    pass


class Door(Base):
    __tablename__ = "secrets_door"

    id: Mapped[int] = mapped_column(primary_key=True)
    token: Mapped[str]
    pin_hash: Mapped[str]
    privateKey: Mapped[str]
    key: Mapped[str]
    tokens: Mapped[int]
    has_password: Mapped[bool]
    password_changed: Mapped[dt.datetime]
    otp_kind: Mapped[t.Literal["app", "mail"]] = mapped_column(sa.Enum("app", "mail"))
    secretSeed: Mapped[bytes] = mapped_column(sa.LargeBinary)


TOLD = """\
Clients can read 'token', 'pin_hash', 'privateKey', 'secretSeed' of 'Door', named \
like secrets. Hide them, SQLAlchemyService(Door, hidden=['token', 'pin_hash', \
'privateKey', 'secretSeed']), or let clients read them: \
visible=dict.fromkeys(['token', 'pin_hash', 'privateKey', 'secretSeed'], True).\
"""

SECRETS = """\
api_key auth_token backup_codes client_secret_hash email_otp_secret encrypted_value \
fido_credentials fs_uniquifier jti masterpass_check oauth_client_secret \
otp_recovery_codes passwordHash passwd_hash reset_key session_key token_hash \
totp_secret user_pass wrapped_dek"""

HARMLESS = """\
bookmark_key cache_key compass hash hash_count input_hash key lease_key lock_key \
name_key param_key passenger password_policy public_key recovery_email secret_name \
secretary sort_key tag_key token_type tokenizer version_prerelease_sort_key"""


NAMED = ["token", "pin_hash", "privateKey", "secretSeed"]


@pytest.mark.parametrize(
    ("options", "methods", "told"),
    [
        ({}, ["find"], TOLD),
        ({}, ["create"], None),
        ({"fields": ["token"]}, ["find"], None),
        ({"visible": dict.fromkeys(NAMED, True)}, ["find"], None),
        (
            {
                "hidden": ["pin_hash", "privateKey", "secretSeed"],
                "visible": {"token": lambda user: False},
            },
            ["find"],
            None,
        ),
    ],
)
def test_names_like_those_of_secrets_are_told(caplog, options, methods, told):
    records = FlaskRecords()
    session = sa.orm.Session
    service = SQLAlchemyService(Door, session=session, **options)
    records.add("doors", service, public=True, methods=methods)

    records.init_app(Flask("tests"))

    assert [each.message for each in caplog.records] == ([told] if told else [])


def test_fields_that_all_may_see_need_no_rule():
    visible = dict.fromkeys(NAMED, True)
    service = SQLAlchemyService(Door, session=sa.orm.Session, visible=visible)

    assert not service.field_rules.visible


@pytest.mark.parametrize(
    ("name", "is_told"),
    [*[(n, True) for n in SECRETS.split()], *[(n, False) for n in HARMLESS.split()]],
)
def test_words_of_a_name_tell_a_secret(caplog, name, is_told):
    columns = sa.Column("id", sa.Integer, primary_key=True), sa.Column(name, sa.Text)
    table = sa.Table("secrets_words", sa.MetaData(), *columns)
    model = type("Words", (), {})
    sa.orm.registry().map_imperatively(model, table)

    SQLAlchemyService(model, session=sa.orm.Session).check(Flask("tests"))

    assert bool(caplog.records) is is_told
