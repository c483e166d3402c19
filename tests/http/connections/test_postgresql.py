"""Reads see the settings of PostgreSQL's transactions, and begin none needlessly."""

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from flask_records import Transaction

from ...databases import url_of
from .services import IDLE, Note, READS, served_by, SET_TENANT, Setting, TenantBase


@pytest.fixture
def tenants(make_engine, server_urls):
    """Services over a session of PostgreSQL, with one setting."""
    engine = make_engine(url_of("postgresql", server_urls))
    TenantBase.metadata.create_all(engine)

    with engine.begin() as connection:
        connection.execute(sa.delete(Setting))
        connection.execute(sa.insert(Setting), {"id": 1})

    with Session(engine) as session:
        yield served_by(engine, session)


def test_a_setting_of_a_session_holds_for_its_reads(tenants):
    @sa.event.listens_for(tenants.session, "after_begin")
    def begin(session, transaction, connection):
        connection.exec_driver_sql(SET_TENANT)

    assert tenants.find("settings") == [{"id": 1, "tenant": "Acme"}]
    assert tenants["settings"].get(1) == {"id": 1, "tenant": "Acme"}
    assert tenants.in_use() == IDLE


@pytest.mark.parametrize("setting", [SET_TENANT, "SET records.tenant = 'Acme'"])
def test_a_transaction_that_a_checkout_opens_holds_for_reads(tenants, setting):
    @sa.event.listens_for(tenants.engine, "checkout")
    def check_out(connection, record, proxy):
        connection.execute(setting)

    reads = [tenants.find("settings") for _ in range(3)]
    created = tenants["notes"].create({"text": "new"})

    assert reads == [[{"id": 1, "tenant": "Acme"}]] * 3
    assert tenants.texts(id=created["id"]) == ["new"]
    assert tenants.in_use() == IDLE


@pytest.mark.parametrize("is_open", [False, True])
def test_a_read_begins_no_transaction_and_joins_an_open_one(tenants, is_open):
    autocommits = set()

    if is_open:
        tenants.session.execute(sa.select(1))

    @sa.event.listens_for(tenants.engine, "after_cursor_execute")
    def look(connection, *rest):
        autocommits.add(connection.connection.dbapi_connection.autocommit)

    for read in READS:
        read(tenants)

    assert autocommits == {not is_open}


def test_a_connection_begins_transactions_again_after_a_read(make_engine, server_urls):
    url = url_of("postgresql", server_urls)
    engine = make_engine(url, pool_size=1, max_overflow=0)

    with Session(engine) as session:
        served = served_by(engine, session)
        served.find()

        with engine.connect() as connection:
            connection.execute(sa.insert(Note), {"text": "undone"})
            connection.rollback()

        with pytest.raises(ZeroDivisionError), Transaction():
            served["notes"].create({"text": "undone"})
            raise ZeroDivisionError

        assert served.texts() == ["note 1", "note 2", "note 3"]
