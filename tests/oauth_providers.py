"""OAuth providers, an application whose users log in there, and their browser."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from contextlib import contextmanager
from urllib.parse import parse_qsl, urlencode

import jwt
import requests
import sqlalchemy as sa
from cryptography.hazmat.primitives.asymmetric import rsa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from werkzeug.wrappers import Request, Response

from flask_records import SQLAlchemyService, TokenMixin

from .authentication import bearer, CHEAP, make_records, SECRET
from .databases import leave
from .listening import running

KEY = "key-of-the-application"

CLIENT_SECRET = "secret-of-the-application-at-the-provider"

HOME = "https://app.example/home"
"""The page that users return to."""

ADA = {
    "id": "p-1001",
    "name": "Ada Lovelace",
    "email": "ada@example.com",
    "avatar_url": "https://img.example/ada.png",
}
"""A profile, and below the user that becomes of it."""

ADA_USER = {
    "id": 1,
    "email": "ada@example.com",
    "name": "Ada Lovelace",
    "avatar": "https://img.example/ada.png",
    "fakeId": "p-1001",
    "otherId": None,
}

SIGNING_KEY = rsa.generate_private_key(65537, 2048)

ABSENT = object()
"""A value that a provider leaves out."""


class AnySecret(jwt.algorithms.HMACAlgorithm):
    """Signs with a public key, too."""

    def prepare_key(self, key):
        return key if isinstance(key, bytes) else key.encode()


JWS = jwt.PyJWS()
JWS.unregister_algorithm("HS256")
JWS.register_algorithm("HS256", AnySecret(AnySecret.SHA256))


class Base(DeclarativeBase):
    __table_args__ = {"mysql_collate": "utf8mb4_bin", "mariadb_collate": "utf8mb4_bin"}


class Member(Base):
    """A user with an identifier at each of two providers."""

    __tablename__ = "member"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str | None] = mapped_column(sa.String(100), unique=True)
    password: Mapped[str | None] = mapped_column(sa.String(200))
    name: Mapped[str | None] = mapped_column(sa.String(50))
    avatar: Mapped[str | None] = mapped_column(sa.String(200))
    fakeId: Mapped[str | None] = mapped_column("fake_id", sa.String(50), unique=True)
    otherId: Mapped[str | None] = mapped_column("other_id", sa.String(50), unique=True)


class Token(TokenMixin, Base):
    __tablename__ = "token"


class Provider:
    """An OAuth 2.0 provider without OpenID. It lets everybody in as one profile, and
    checks what applications send.
    """

    def __init__(self, profile=ADA):
        self.url = ""
        """The address of the server."""
        self.options = {}
        """More settings of an application for it."""
        self.claims = profile
        """The profile of the user who logs in."""
        self.answers = {}
        """The answers of endpoints that are replaced, by name: a response, or a
        function of the request.
        """
        self.codes = []
        """The codes that were given."""
        self._granted = {}

    @property
    def settings(self):
        """The settings of an application for it."""
        return {
            "key": KEY,
            "secret": CLIENT_SECRET,
            "scope": "profile email",
            "authorize_url": f"{self.url}/authorize",
            "access_url": f"{self.url}/token",
            "profile_url": f"{self.url}/profile",
            **self.options,
        }

    @Request.application
    def __call__(self, request):
        endpoint = request.path.split("/")[-1].replace("-", "_")
        answer = self.answers.get(endpoint) or getattr(self, endpoint)
        return answer if isinstance(answer, Response) else answer(request)

    def authorize(self, request):
        asked = request.args
        expected = {
            "client_id": KEY,
            "response_type": "code",
            "code_challenge_method": "S256",
        }

        if expected.items() - asked.items() or not asked.get("state"):
            return as_json({"error": "invalid_request"}, 400)

        code = secrets.token_urlsafe(24)
        self.codes.append(code)
        self._granted[code] = asked
        answer = urlencode({"code": code, "state": asked["state"]})
        return moved(f"{asked['redirect_uri']}?{answer}")

    def token(self, request):
        sent = request.form
        login = request.authorization or {}
        key = login.get("username", sent.get("client_id"))
        secret = login.get("password", sent.get("client_secret"))

        if (key, secret) != (KEY, CLIENT_SECRET):
            return as_json({"error": "invalid_client"}, 401)

        # A code is good for one use.
        asked = self._granted.pop(sent.get("code"), {})
        is_right = (
            sent.get("grant_type") == "authorization_code"
            and sent.get("redirect_uri") == asked.get("redirect_uri")
            and challenge_of(sent.get("code_verifier")) == asked.get("code_challenge")
        )

        if not is_right:
            return as_json({"error": "invalid_grant"}, 400)

        return as_json(self.grant(asked))

    def grant(self, asked):
        """Return what an application gets for a code."""
        return {"access_token": "token-of-the-provider", "token_type": "Bearer"}

    def profile(self, request):
        if request.headers.get("Authorization") != "Bearer token-of-the-provider":
            return as_json({"error": "invalid_token"}, 401)

        return as_json(self.claims)


class OpenIDProvider(Provider):
    """A provider with OpenID Connect, whose ID tokens can be forged."""

    def __init__(self, **claims):
        super().__init__({"sub": "s-1"})
        self.forged = claims
        """The claims of its ID tokens that are replaced."""
        self.header = {"kid": "1"}
        """The header of its ID tokens."""
        self.key = SIGNING_KEY
        """The key that signs."""
        self.algorithm = "RS256"
        """The algorithm that signs."""
        self.published = {"1": SIGNING_KEY}
        """The keys that it tells of."""
        self.metadata = {}
        """The parts of its configuration that are replaced."""

    @property
    def settings(self):
        url = f"{self.url}/.well-known/openid-configuration"
        said = {"key": KEY, "secret": CLIENT_SECRET, "discovery_url": url}
        return {**said, **self.options}

    def openid_configuration(self, request):
        said = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "userinfo_endpoint": f"{self.url}/profile",
            "jwks_uri": f"{self.url}/keys",
            "id_token_signing_alg_values_supported": ["RS256"],
        }
        return as_json(present({**said, **self.metadata}))

    def keys(self, request):
        keys = [public_key(kid, key) for kid, key in self.published.items()]
        return as_json({"keys": keys})

    def grant(self, asked):
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": KEY,
            "iat": now,
            "exp": now + 60,
            "nonce": asked["nonce"],
            **self.claims,
            **self.forged,
        }
        text = JWS.encode(
            json.dumps(present(claims)).encode(), self.key, self.algorithm, self.header
        )
        return {**super().grant(asked), "id_token": text}


class Site:
    """An application whose users log in at providers, and a browser."""

    url = "http://localhost"

    prefix = ""
    """The path that all services and logins are below."""

    def __init__(self, app):
        self.app = app
        self.client = app.test_client()
        self._elsewhere = requests.Session()
        # It looks for proxies in all of the environment before each request.
        self._elsewhere.trust_env = False

    def get(self, path, **options):
        """Return the answer to a request of the browser, which goes nowhere else."""
        return self.client.get(f"{self.prefix}{path}", **options)

    def start(self, query="", provider="fake", **options):
        """Return where a login begins: the redirect to the provider."""
        return self.get(f"/oauth/{provider}{query}", **options)

    def visit(self, address, **options):
        """Return the answer of an address, which may be elsewhere."""
        if address.startswith((self.url, "/")):
            return self.client.get(address, **options)

        return self._elsewhere.get(address, allow_redirects=False)

    def post(self, address, data):
        """Return the answer to a form that is sent elsewhere."""
        return self._elsewhere.post(address, data=data, allow_redirects=False)

    def authorize(self, started):
        """Return the address that the provider sends the browser back to."""
        return self.follow(started).headers["Location"]

    def follow(self, answer):
        """Return the answer to where a redirect leads."""
        return self.visit(answer.headers["Location"])

    def log_in(self, query="", provider="fake", **options):
        """Return the answer that a login at a provider ends with."""
        return self.finish(self.start(query, provider, **options))

    def connect(self, token, query=""):
        """Return where a login begins that the user of a token connects."""
        headers = {"Sec-Fetch-Site": "same-origin"}
        return self.start(f"?feathers_token={token}{query}", headers=headers)

    def link(self, token, query=""):
        """Return the end of a login that the user of a token connects."""
        return self.finish(self.connect(token, query))

    def finish(self, answer):
        """Return the answer that a login ends with that has begun."""
        while "#" not in answer.headers.get("Location", "#"):
            answer = self.follow(answer)

        return answer

    def users(self):
        """Return all users as they are in the database."""
        with self.app.app_context():
            return [
                {k: v for k, v in user.items() if k != "password"}
                for user in self.app.extensions["records"]["users"].find()
            ]

    def caller(self, token):
        """Return who a closed service takes the sender of a token for."""
        return self.get("/secrets", headers=bearer(token)).json["user"]

    def register(self, **user):
        """Return the id and the token of a new user with a password."""
        login = {"password": "correct horse", **user}
        id = self.client.post("/users", json=login).json["id"]
        answer = self.client.post(
            "/authentication", json={"strategy": "local", **login}
        )
        return id, answer.json["accessToken"]


@contextmanager
def running_once():
    """Run a server that lets providers take turns at one address."""
    turns = Turns()

    with running(turns) as turns.url:
        yield turns


class Turns:
    """Answers as one provider after another."""

    def take(self, provider):
        """Return a provider, which answers from now on."""
        self.app, provider.url = provider, self.url
        return provider

    def __call__(self, environ, start_response):
        return self.app(environ, start_response)


@contextmanager
def serving_logins(providers, oauth=None, **options):
    """An application whose users log in at providers, by their names."""
    app = make_app(providers, oauth, **options)
    db = app.extensions["sqlalchemy"]

    with app.app_context():
        db.create_all()

    try:
        yield Site(app)
    finally:
        with app.app_context():
            leave(db)


def make_app(
    providers, oauth=None, *, records=None, url="sqlite://", settings=None, **config
):
    """An application whose users log in at providers, by their names. They come home
    unless it is told otherwise.
    """
    app = Flask("tests")
    oauth = {"redirect": HOME} if oauth is None else oauth
    said = {name: provider.settings for name, provider in providers.items()}
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    app.config["RECORDS_AUTHENTICATION"] = {
        "secret": SECRET,
        "passwords": CHEAP,
        "oauth": {**oauth, **said},
        **(settings or {}),
    }
    app.config.update({"SECRET_KEY": SECRET, **config})
    SQLAlchemy(app, model_class=Base)
    records = records or make_members()
    records.init_app(app)
    return app


def make_members(model=Member, **options):
    """An extension with users who have profiles, and with closed services."""
    return make_records(users=SQLAlchemyService(model, hidden=["password"]), **options)


def answer_of(response):
    """Return where a browser is sent, and what stands behind the ``#``."""
    target, _, fragment = response.headers.get("Location", "").partition("#")
    return target, dict(parse_qsl(fragment))


def error_of(response):
    """Return the message that a failed login ends with."""
    return answer_of(response)[1].get("error")


def token_of(response):
    """Return the access token that a login ends with."""
    return answer_of(response)[1]["access_token"]


def present(said):
    """Return what is said, without what is absent."""
    return {name: value for name, value in said.items() if value is not ABSENT}


def as_json(value, status=200):
    return Response(json.dumps(value), status, mimetype="application/json")


def moved(url):
    return Response(status=302, headers={"Location": url})


def challenge_of(verifier):
    digest = hashlib.sha256((verifier or "").encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def public_key(kid, key):
    """Return the public half of a key as providers publish it."""
    said = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**said, "kid": kid, "use": "sig", "alg": "RS256"}
