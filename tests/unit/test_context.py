from werkzeug.datastructures import Headers

from flask_records import HookContext, Params
from flask_records.authentication.tokens import Tokens
from flask_records.realtime import Connection

SECRET = "told-to-nobody"


def test_calls_are_shown_without_values_of_clients(messages):
    """Reports of errors show the variables of functions."""
    values = {"password": SECRET}
    params = Params(
        query=values,
        provider="rest",
        headers=Headers({"Authorization": SECRET}),
        authentication={"accessToken": SECRET},
        user=values,
        user_id=7,
        extra=values,
    )
    context = HookContext(messages, "create", params, data=values)
    context.result = context.dispatch = [values]

    assert SECRET not in repr(context)
    assert "service=<Service 'messages'>, method='create'" in repr(context)
    assert "provider='rest'" in repr(context)
    assert "user_id=7" in repr(context)


def test_connections_are_shown_without_credentials():
    connection = Connection("1", Headers({"Cookie": SECRET}), 10)
    connection.authentication = {"accessToken": SECRET}
    connection.login = Params(authentication={"accessToken": SECRET})

    assert SECRET not in repr(connection)


def test_tokens_are_shown_without_keys():
    assert SECRET not in repr(Tokens(SECRET, (SECRET,)))
