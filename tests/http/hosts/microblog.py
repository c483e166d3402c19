"""An application as tutorials build it: pages, forms and sessions.

Flask-Login keeps its sessions, Werkzeug hashes its passwords, a mixin keeps its index
when a session commits, and pages of its own show its errors. It knows no records.
"""

from __future__ import annotations

import datetime as dt

import sqlalchemy as sa
from flask import (
    Blueprint,
    current_app,
    Flask,
    redirect,
    render_template_string,
    request,
    url_for,
)
from flask_login import (
    current_user,
    login_required,
    login_user,
    LoginManager,
    logout_user,
    UserMixin,
)
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import orm
from sqlalchemy.orm import WriteOnlyMapped
from werkzeug.security import check_password_hash, generate_password_hash

from ...databases import enforce_foreign_keys

db = SQLAlchemy()
login = LoginManager()
login.login_view = "auth.log_in"
auth = Blueprint("auth", __name__, url_prefix="/auth")
main = Blueprint("main", __name__)

NOT_FOUND = "<h1>No such page here</h1>", 404
FAILED = "<h1>An unexpected error</h1>", 500

INDEX = """
<form method="post"><input name="body"></form>
{% for post in posts %}<p>{{ post.author.username }}: {{ post.body }}</p>{% endfor %}
"""

followers = sa.Table(
    "followers",
    db.metadata,
    sa.Column("follower_id", sa.ForeignKey("user.id"), primary_key=True),
    sa.Column("followed_id", sa.ForeignKey("user.id"), primary_key=True),
)


class SearchableMixin:
    """Keeps an index of the texts of a model, as the session flushes and commits."""

    @classmethod
    def after_flush(cls, session, context):
        changes = session.info.setdefault("changes", {"kept": [], "deleted": []})
        changes["kept"] += [*session.new, *session.dirty]
        changes["deleted"] += session.deleted

    @classmethod
    def after_commit(cls, session):
        index = current_app.extensions["index"]
        changes = session.info.pop("changes", {"kept": [], "deleted": []})

        for each in changes["kept"]:
            if isinstance(each, SearchableMixin):
                index[each.id] = each.body

        for each in changes["deleted"]:
            if isinstance(each, SearchableMixin):
                index.pop(each.id, None)


sa.event.listen(db.session, "after_flush", SearchableMixin.after_flush)
sa.event.listen(db.session, "after_commit", SearchableMixin.after_commit)


class User(UserMixin, db.Model):
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    username: orm.Mapped[str] = orm.mapped_column(sa.String(64), unique=True)
    email: orm.Mapped[str] = orm.mapped_column(sa.String(120), unique=True)
    password_hash: orm.Mapped[str | None] = orm.mapped_column(sa.String(256))
    about_me: orm.Mapped[str | None] = orm.mapped_column(sa.String(140))
    last_seen: orm.Mapped[dt.datetime | None]
    posts: WriteOnlyMapped[Post] = orm.relationship(
        back_populates="author", passive_deletes=True
    )
    following: WriteOnlyMapped[User] = orm.relationship(
        secondary=followers,
        primaryjoin=lambda: followers.c.follower_id == User.id,
        secondaryjoin=lambda: followers.c.followed_id == User.id,
        back_populates="followers",
        passive_deletes=True,
    )
    followers: WriteOnlyMapped[User] = orm.relationship(
        secondary=followers,
        primaryjoin=lambda: followers.c.followed_id == User.id,
        secondaryjoin=lambda: followers.c.follower_id == User.id,
        back_populates="following",
        passive_deletes=True,
    )

    def set_password(self, password):
        self.password_hash = generate_password_hash(password, "pbkdf2:sha256:1")

    def check_password(self, password):
        return check_password_hash(self.password_hash, password)


class Post(SearchableMixin, db.Model):
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    body: orm.Mapped[str] = orm.mapped_column(sa.String(140))
    timestamp: orm.Mapped[dt.datetime] = orm.mapped_column(
        index=True, default=lambda: dt.datetime.now(dt.UTC).replace(tzinfo=None)
    )
    user_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey(User.id), index=True)
    author: orm.Mapped[User] = orm.relationship(back_populates="posts")


@login.user_loader
def load_user(id):
    return db.session.get(User, int(id))


@main.before_app_request
def note_last_seen():
    if current_user.is_authenticated:
        current_user.last_seen = dt.datetime.now(dt.UTC).replace(tzinfo=None)
        db.session.commit()


@auth.post("/register")
def register():
    user = User(username=request.form["username"], email=request.form["email"])
    user.set_password(request.form["password"])
    db.session.add(user)
    db.session.commit()
    return redirect(url_for("auth.log_in"))


@auth.route("/login", methods=["GET", "POST"])
def log_in():
    if request.method == "GET":
        return "<form method='post'></form>"

    query = sa.select(User).where(User.username == request.form["username"])
    user = db.session.scalar(query)

    if user is None or not user.check_password(request.form["password"]):
        return redirect(url_for("auth.log_in"))

    login_user(user)
    return redirect(url_for("main.index"))


@auth.get("/logout")
def log_out():
    logout_user()
    return redirect(url_for("main.index"))


@main.route("/", methods=["GET", "POST"])
@login_required
def index():
    if request.method == "POST":
        db.session.add(Post(body=request.form["body"], author=current_user))
        db.session.commit()
        return redirect(url_for("main.index"))

    posts = db.session.scalars(sa.select(Post).order_by(Post.timestamp, Post.id))
    return render_template_string(INDEX, posts=posts)


@main.get("/search")
@login_required
def search():
    index = current_app.extensions["index"].values()
    return "\n".join(body for body in index if request.args["q"] in body)


@main.get("/broken")
def broken():
    raise RuntimeError("broken")


@main.app_errorhandler(404)
def not_found(error):
    return NOT_FOUND


@main.app_errorhandler(500)
def failed(error):
    db.session.rollback()
    return FAILED


def create_app(url, *, prepare=lambda app: None):
    """The application, with empty tables.

    :param prepare: Adds to it what a test tries.
    """
    app = Flask(__name__)
    app.config.update(SECRET_KEY="5e" * 32, SQLALCHEMY_DATABASE_URI=url)
    app.extensions["index"] = {}
    db.init_app(app)
    login.init_app(app)
    app.register_blueprint(auth)
    app.register_blueprint(main)

    with app.app_context():
        # Without foreign keys, SQLite removes a user and leaves the posts.
        sa.event.listen(db.engine, "connect", enforce_foreign_keys)
        db.create_all()

    prepare(app)
    return app
