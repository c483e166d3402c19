"""An application of feature packages, which a factory puts together.

Each feature has its models and services, and refers to models of others by name.
"""

from __future__ import annotations

from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_records import FlaskRecords

db = SQLAlchemy()


def create_app(url, *, has_records=True):
    """The application, with empty tables.

    :param has_records: Serve the records of the features.
    """
    from . import customers
    from . import orders

    app = Flask(__name__)
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    db.init_app(app)
    records = FlaskRecords(url_prefix="/api")

    for feature in (orders, customers):
        app.register_blueprint(feature.views)
        records.add(feature.views.name, feature.service, public=True)

    if has_records:
        records.init_app(app)

    with app.app_context():
        db.create_all()

    return app
