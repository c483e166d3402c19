"""An application with services, and routes of its own beside them."""

from __future__ import annotations

from flask import Flask

from flask_records import FlaskRecords


class Echo:
    """Answers the identifier and the placeholders that it gets."""

    def find(self, params):
        return [{"route": params.route}]

    def get(self, id, params):
        return {"id": id, "route": params.route}


def create_app():
    app = Flask("tests")
    records = FlaskRecords()
    records.add("users", Echo(), public=True)
    records.add("users/<user_id>/posts", Echo(), public=True)
    records.init_app(app)
    app.add_url_rule("/users/<id>/avatar", "avatar", lambda id: f"avatar of {id}")
    app.add_url_rule("/files/<path:name>", "files", lambda name: f"file {name}")
    app.add_url_rule("/notes/<name>/", "notes", lambda name: f"note {name}")
    app.add_url_rule("/admin", "admin", lambda: "admin")
    return app
