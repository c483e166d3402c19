"""Services in each place of an application: below a prefix, or in a blueprint."""

from __future__ import annotations

import pytest
from flask import Blueprint


class Things:
    """A service that has all methods."""

    def find(self, params):
        return params.route

    def get(self, id, params):
        return {"id": id, **params.route}

    def create(self, data, params):
        return data

    def update(self, id, data, params):
        return data

    def patch(self, id, data, params):
        return data

    def remove(self, id, params):
        return {"id": id}


class Placed:
    """An extension with a prefix of the application's choice."""

    def __init__(self, records, place):
        self.services = {}
        self._records = records
        self._place = place

    def init_app(self, app):
        self._place(self._records, app)


def below_prefix(records, app):
    records.init_app(app, url_prefix="/api")


def in_blueprint(records, app):
    blueprint = Blueprint("api", __name__, url_prefix="/api")
    records.init_app(blueprint)
    app.register_blueprint(blueprint)


def in_nested_blueprint(records, app):
    outer = Blueprint("outer", __name__, url_prefix="/api")
    inner = Blueprint("inner", __name__)
    records.init_app(inner)
    outer.register_blueprint(inner)
    app.register_blueprint(outer)


PLACES = [below_prefix, in_blueprint, in_nested_blueprint]

placed = pytest.mark.parametrize("place", PLACES)
