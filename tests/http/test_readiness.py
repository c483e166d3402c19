"""The readiness of an application, and the command that checks it."""

from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_records import FlaskRecords, ready, SQLAlchemyService
from flask_records.realtime import Realtime

from ..models import Base, Message
from ..processes import free_port


def make(url="sqlite://", queue=None):
    app, db = Flask("tests"), SQLAlchemy(model_class=Base)
    records = FlaskRecords()
    records.add("messages", SQLAlchemyService(Message), public=True)
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    db.init_app(app)
    records.init_app(app)

    if queue is not None:
        app.config["RECORDS_REALTIME"] = {"message_queue": queue}
        Realtime(records).init_app(app)

    app.add_url_rule("/ready", view_func=ready)
    return app


def test_application_whose_parts_answer_is_ready():
    answer = make().test_client().get("/ready")

    assert (answer.status_code, answer.json) == (200, {})


def test_parts_that_are_away_are_named(tmp_path, caplog):
    queue = f"redis://127.0.0.1:{free_port()}"
    answer = make(f"sqlite:///{tmp_path}/no/x.db", queue).test_client().get("/ready")

    away = {"database": "not available", "messageQueue": "not available"}
    assert (answer.status_code, answer.json) == (503, away)
    assert "database is not available (OperationalError:" in caplog.text


def check(app):
    result = app.test_cli_runner().invoke(args=["records", "check"])
    return result.exit_code, result.output


def test_check_of_an_application_that_is_well():
    assert check(make()) == (0, "All is well.\n")


def test_check_names_what_is_wrong():
    queue = f"redis://127.0.0.1:{free_port()}"
    code, text = check(make("sqlite://", queue))

    assert code == 1
    assert text.startswith("The message queue is away:")
