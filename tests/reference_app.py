"""An application whose names and texts are full of markup, with a strict policy."""

from __future__ import annotations

from flask import Flask, Response
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Enum, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import BadRequest, FlaskRecords, SQLAlchemyService

MARKUP = (
    "<img src=x onerror=\"document.body.id='bad'\"><script>document.body.id='bad'"
    "</script> **bold** [link](javascript:alert(1)) ![image](https://evil.example/a.png)"
)


class Base(DeclarativeBase):
    pass


class Note(Base):
    __tablename__ = "note"
    __doc__ = MARKUP

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(comment=MARKUP)
    kind: Mapped[str] = mapped_column(Enum("<b>big</b>", "small"), default="small")


setattr(Note, "<i>size</i>", mapped_column("size", String, nullable=True))


def create_app():
    app = Flask("<u>shop</u>")
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    app.config["RECORDS_OPENAPI"] = {"enabled": True}
    db = SQLAlchemy(app, model_class=Base)
    records = FlaskRecords(url_prefix="/api")
    notes = records.add("notes", SQLAlchemyService(Note), public=True)
    records.init_app(app)

    @notes.before("remove")
    def refuse(method, context):
        raise BadRequest(MARKUP)

    @app.after_request
    def restrict(response):
        response.headers["Content-Security-Policy"] = (
            "default-src 'self'; img-src 'self' data:"
        )
        return response

    with app.app_context():
        db.create_all()
        db.session.add(Note(text=MARKUP))
        db.session.commit()

    # A proxy serves it below a path.
    inner = app.wsgi_app

    def below_path(environ, start_response):
        if not environ["PATH_INFO"].startswith("/shop/"):
            return Response(status=404)(environ, start_response)

        environ["SCRIPT_NAME"] = "/shop"
        environ["PATH_INFO"] = environ["PATH_INFO"].removeprefix("/shop")
        return inner(environ, start_response)

    app.wsgi_app = below_path
    return app
