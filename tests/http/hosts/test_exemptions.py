"""Exemptions of views from checks of a host, by the names of the views."""

import pytest
from flask import Flask
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from flask_seasurf import SeaSurf
from flask_wtf.csrf import CSRFProtect

from flask_records import FlaskRecords


class Things:
    def create(self, data, params):
        return data


@pytest.fixture
def host():
    """A host with two services."""
    app = Flask("host")
    app.config.update(SECRET_KEY="s" * 32)
    app.records = FlaskRecords()

    for path in ("a", "b"):
        app.records.add(path, Things(), public=True)

    app.records.init_app(app)
    return app


def statuses(app, number=1):
    """The statuses of calls of both services, without a token."""
    client = app.test_client()
    calls = [client.post(f"/{path}", json={}) for path in "ab" for _ in range(number)]
    return [call.status_code for call in calls]


def test_views_have_names_of_their_own(host):
    views = [v for n, v in host.view_functions.items() if "records:" in n]

    assert len({f"{view.__module__}.{view.__name__}" for view in views}) == 4
    assert len({f"{view.__module__}.{view.__qualname__}" for view in views}) == 4


@pytest.mark.parametrize("extension", [CSRFProtect, SeaSurf])
def test_exempt_view_is_one_of_a_service(host, extension):
    extension(host).exempt(host.view_functions["records:a.many"])

    assert statuses(host) == [201, 400 if extension is CSRFProtect else 403]


def test_exempt_blueprint_is_one_of_a_service(host):
    CSRFProtect(host).exempt(host.records.blueprint(host.records["a"]))

    assert statuses(host) == [201, 400]


def test_exempt_view_has_no_limit(host):
    limiter = Limiter(
        get_remote_address, default_limits=["2/minute"], storage_uri="memory://"
    )
    limiter.init_app(host)
    limiter.exempt(host.view_functions["records:a.many"])

    assert statuses(host, 4) == [*[201] * 4, 201, 201, 429, 429]
