"""Connections lose their login when the session of their token ends."""

import pytest

from flask_records import NotAuthenticated, TableTokens
from flask_records.realtime import Realtime
from tests.authentication import bearer
from tests.http.accounts.people import (
    clock,
    log_in,
    make_records,
    register,
    renew,
    served,
    Token,
)


def log_out_by_a_newer_token(client, login, renewed):
    client.delete("/authentication", headers=bearer(renewed["accessToken"]))


def log_out_by_the_refresh_token(client, login, renewed):
    client.delete(f"/authentication/{renewed['refreshToken']}")


def use_again(client, login, renewed):
    with clock(31):
        assert renew(client, login["refreshToken"]).status_code == 401


@pytest.mark.parametrize(
    "end", [log_out_by_a_newer_token, log_out_by_the_refresh_token, use_again]
)
def test_connection_of_a_session_that_ends_is_logged_out(end):
    records = make_records(TableTokens(Token), [])
    realtime = Realtime(records)

    with served(records, "sqlite://") as app:
        realtime.init_app(app)
        client = app.test_client()
        register(client, "ann")
        login, other = log_in(client), log_in(client)
        renewed = renew(client, login["refreshToken"]).json
        mine, second = [
            realtime.test_client(app, headers=bearer(each["accessToken"]))
            for each in (login, other)
        ]

        end(client, login, renewed)

        assert ("loggedOut", {"message": "jwt revoked"}) in mine.events()
        assert not any(name == "loggedOut" for name, _ in second.events())

        with pytest.raises(NotAuthenticated):
            mine.call("find", "users", {})

        assert second.call("find", "users", {})
