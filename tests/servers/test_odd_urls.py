"""No bytes in a URL break a server."""

from __future__ import annotations

import http.client
import re

import pytest
from flask_sqlalchemy import SQLAlchemy
from hypothesis import given
from hypothesis import strategies as st

from flask_records import FlaskRecords, SQLAlchemyService

from ..databases import served
from ..http.invariants.app import Answer, Base, Thing
from ..http.invariants.strategies import ids, query_strings
from ..http.invariants.test_requests import check_answer
from ..listening import running


@pytest.fixture(scope="module")
def host():
    records = FlaskRecords(app_errors=True)
    service = SQLAlchemyService(Thing, hidden=["password"])
    records.add("things", service, public=True)

    with served(SQLAlchemy(model_class=Base), records, "sqlite://") as app:
        with running(app) as address:
            yield address.removeprefix("http://")


odd = st.binary(max_size=12) | query_strings.map(str.encode)
targets = st.builds(b"/things%b?%b".__mod__, st.tuples(ids.map(str.encode), odd))


@given(target=targets | odd.map(b"/things/%b".__mod__))
def test_no_bytes_in_a_url_break_the_server(host, target):
    # A URL ends at a blank. That is not ours to look at.
    target = re.sub(rb"[\0- \x7f]", b"", target)

    check_answer(send_bytes(host, target), target)


def send_bytes(host, target):
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.connect()
    connection.sock.sendall(b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % target)
    response = http.client.HTTPResponse(connection.sock)
    response.begin()
    data = response.read()
    response.close()
    connection.close()
    return Answer(response.status, response.headers["Content-Type"], data)
