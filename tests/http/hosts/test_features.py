"""An application of feature packages, before and after it serves records."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
import requests

from ...listening import running
from .features import create_app
from .features import db


@pytest.fixture
def serve(database_url):
    """Serves the application, and returns a function that calls it."""
    with ExitStack() as stack:

        def serve(**options):
            app = create_app(database_url, **options)
            stack.callback(drop_tables, app)
            address = stack.enter_context(running(app))

            def call(method, path, **options):
                answer = requests.request(method, address + path, **options)
                return answer.status_code, answer.json()

            return call

        yield serve


def drop_tables(app):
    with app.app_context():
        db.session.remove()
        db.drop_all()
        db.engine.dispose()


@pytest.mark.parametrize("has_records", [False, True])
def test_views_of_the_features(serve, has_records):
    call = serve(has_records=has_records)

    assert call("GET", "/orders") == (200, [])


def test_records_of_features_refer_to_each_other(serve):
    call = serve()
    customer = call("POST", "/api/customers", json={"name": "Ann"})[1]
    order = {"title": "Tea", "customer_id": customer["id"]}
    status, order = call("POST", "/api/orders", json=order)

    assert status == 201
    assert call("GET", f"/customers/{customer['id']}/orders") == (200, ["Tea"])
    populated = call("GET", f"/api/orders/{order['id']}?$populate=customer")[1]
    assert populated == {**order, "customer": customer}
    populated = call("GET", f"/api/customers/{customer['id']}?$populate=orders")[1]
    assert populated == {**customer, "orders": [order]}
