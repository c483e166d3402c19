"""A connection whose user's password changes is logged out, without a store."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from flask_records import hash_password, SQLAlchemyService

from ...authentication import bearer, make_records
from ...models import Message, User
from ...realtime import live
from ...waiting import wait_until


@pytest.fixture
def site(tmp_path):
    records = make_records()
    records.add("messages", SQLAlchemyService(Message))
    service = SQLAlchemyService(User, hidden=["password"], id="email")
    people = records.add("people", service)
    people.before("create", "update", "patch")(hash_password())

    with live(records, tmp_path) as site:
        yield site


def through_users(site, token):
    site.http.patch("/users/1", json={"password": "new"}, headers=bearer(token))


def through_another_service(site, token):
    body = {"password": "new"}
    site.http.patch("/people/ann@example.com", json=body, headers=bearer(token))


def past_all_services(site, token):
    with site.app.app_context():
        session = site.app.extensions["sqlalchemy"].session
        session.execute(sa.update(User).values(password=None))
        session.commit()


@pytest.mark.parametrize(
    "change", [through_users, through_another_service, past_all_services]
)
def test_changed_password_ends_the_login_of_a_connection(site, change):
    token = site.token()
    client = site.connect(**bearer(token))
    [connection] = site.connections
    assert connection.is_logged_in

    change(site, token)
    wait_until(lambda: not connection.is_logged_in)
    client.events()

    with site.app.app_context():
        site.records["messages"].create({"text": "Hi"})

    assert client.names() == []
    assert client.error("find", "secrets") == (401, "jwt revoked")
