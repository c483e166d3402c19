"""Whoever proves to own an address has the account alone."""

from __future__ import annotations

from threading import Thread

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    FromUser,
    hash_password,
    OAuthStrategy,
    SQLAlchemyService,
    TableTokens,
    TokenMixin,
)
from flask_records.accounts import AccountManagement
from tests.authentication import bearer
from tests.http.accounts.people import (
    act,
    email_of,
    everywhere,
    in_sqlite,
    is_valid,
    log_in,
    PASSWORD,
    register,
    renew,
    served,
    settle,
)
from tests.oauth_providers import (
    as_json,
    error_of,
    Provider,
    running_once,
    Site,
    token_of,
)

ME = {"id": FromUser("id")}
NEW = "another horse"


class Base(DeclarativeBase):
    __table_args__ = {"mysql_collate": "utf8mb4_bin", "mariadb_collate": "utf8mb4_bin"}


class Person(Base):
    __tablename__ = "person"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str | None] = mapped_column(sa.String(100), unique=True)
    password: Mapped[str | None] = mapped_column(sa.String(200))
    isVerified: Mapped[bool] = mapped_column(default=False)
    fakeId: Mapped[str | None] = mapped_column(sa.String(50), unique=True)


class Token(TokenMixin, Base):
    __tablename__ = "token"


@pytest.fixture(scope="module")
def turns():
    with running_once() as turns:
        yield turns


@pytest.fixture
def provider(turns):
    """A provider where a stranger has a login."""
    provider = turns.take(Provider({"id": "stranger"}))
    provider.options = {"emails_url": f"{provider.url}/emails"}
    provider.answers["emails"] = as_json([])
    return provider


@pytest.fixture
def verified():
    """The field that tells whether an address is confirmed."""
    return "isVerified"


@pytest.fixture
def store():
    return TableTokens(Token)


@pytest.fixture
def records(store, mails, verified):
    records = FlaskRecords(app_errors=True)
    authentication = AuthenticationService(tokens=store, refresh=True)
    records.add("authentication", authentication)
    options = {"hidden": ["password"], "write_once": ["email", "password"]}
    service = SQLAlchemyService(Person, readonly=["isVerified", "fakeId"], **options)
    users = records.add("users", service, public=["create"], readable=ME)
    users.before("create", "update", "patch")(hash_password())
    accounts = AccountManagement(authentication, send=mails.append, verified=verified)
    records.add("authManagement", accounts, public=["create"])
    users.events("created")(accounts.send_verification)
    return records


@pytest.fixture
def site(records, provider, database_url):
    oauth = {"redirect": "https://app.example", "fake": provider.settings}

    with served(records, database_url, Base, oauth=oauth) as app:
        yield Site(app)


@pytest.fixture
def client(site):
    return site.client


def connect(site, name="ann"):
    """A login of a stranger, who has registered the address and connects a profile."""
    register(site.client, name)
    login = log_in(site.client, name)
    assert error_of(site.link(login["accessToken"])) is None
    return login


def verify(client, mails, headers=None):
    act(client, "resendVerifySignup", {"email": email_of("ann")})
    return act(client, "verifySignupLong", mails[-1].token, headers)


def reset(client, mails, headers=None):
    act(client, "sendResetPwd", {"email": email_of("ann")})
    value = {"token": mails[-1].token, "password": NEW}
    return act(client, "resetPwdLong", value, headers)


proofs = pytest.mark.parametrize("prove", [verify, reset])


@everywhere
@proofs
def test_stranger_loses_all_when_the_owner_proves_the_address(
    site, client, mails, prove
):
    login = connect(site)
    by_provider = token_of(site.log_in())

    response = prove(client, mails)

    [user] = site.users()
    assert response.status_code == 201
    assert (user["isVerified"], user["fakeId"]) == (True, None)
    assert not is_valid(client, login["accessToken"])
    assert not is_valid(client, by_provider)
    assert renew(client, login["refreshToken"]).status_code == 401
    assert error_of(site.log_in()) is None
    assert [each["fakeId"] for each in site.users()] == [None, "stranger"]


@everywhere
def test_stranger_who_is_on_the_way_back_from_the_provider_loses_all(
    site, client, mails
):
    """The token is checked, and the login is not yet connected."""
    register(client, "ann")
    back = site.authorize(site.connect(log_in(client)["accessToken"]))
    act(client, "resendVerifySignup", {"email": email_of("ann")})
    owner = site.app.test_client()
    proof = Thread(target=act, args=(owner, "verifySignupLong", mails[-1].token))

    @site.app.extensions["records"]["users"].before("patch")
    def prove(method, context):
        if "isVerified" not in context.data:
            proof.start()
            proof.join(0.5)

    site.visit(back)
    proof.join()

    [user] = site.users()
    assert (user["isVerified"], user["fakeId"]) == (True, None)


@everywhere
@proofs
def test_login_of_a_confirmed_user_stays_connected(site, client, mails, prove):
    register(client, "ann")
    verify(client, mails)
    login = log_in(client)
    site.link(login["accessToken"])

    reset(client, mails)

    assert site.users()[0]["fakeId"] == "stranger"


@everywhere
def test_user_who_confirms_the_own_address_stays_logged_in(site, client, mails):
    login = connect(site)

    verify(client, mails, bearer(login["accessToken"]))

    [user] = site.users()
    assert (user["isVerified"], user["fakeId"]) == (True, "stranger")
    assert renew(client, login["refreshToken"]).status_code == 201


@everywhere
def test_owner_of_a_new_address_has_the_account_alone(site, client, mails):
    register(client, "eve")
    act(client, "resendVerifySignup", {"email": email_of("eve")})
    act(client, "verifySignupLong", mails[-1].token)
    login = log_in(client, "eve")
    site.link(login["accessToken"])
    value = {"password": PASSWORD, "changes": {"email": email_of("ann")}}
    act(client, "identityChange", value, bearer(login["accessToken"]))

    act(client, "verifySignupLong", mails[-1].token)

    assert site.users()[0]["fakeId"] is None
    assert not is_valid(client, login["accessToken"])


@everywhere
@pytest.mark.parametrize("verified", [None], ids=["nothing records it"])
def test_reset_ends_logins_if_nothing_records_who_is_confirmed(site, client, mails):
    connect(site)

    reset(client, mails)

    assert site.users()[0]["fakeId"] is None


@in_sqlite
@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"email_verified": True}, ("ann@example.com", True)),
        ({"email_verified": "true"}, ("ann@example.com", True)),
        ({"email_verified": False}, (None, False)),
        ({}, ("ann@example.com", False)),
        ({"sub": "s"}, (None, False)),
        ({"email_verified": True, "email": "a,b@example.com"}, (None, False)),
        ({"email_verified": True, "email": "x" * 100 + "@example.com"}, (None, False)),
    ],
    ids=str,
)
def test_provider_that_has_verified_the_address_confirms_it(
    site, provider, mails, claims, expected
):
    provider.claims = {"id": "1", "email": "ann@example.com", **claims}

    assert error_of(site.log_in()) is None
    settle()

    [user] = site.users()
    assert (user["email"], user["isVerified"]) == expected
    assert bool(mails) == (expected == ("ann@example.com", False))


@in_sqlite
@pytest.mark.parametrize("is_verified", [True, False])
def test_emails_of_their_own_address_confirm_it(site, provider, is_verified):
    emails = [{"email": "ann@example.com", "primary": True, "verified": is_verified}]
    provider.claims = {"id": "1", "email": "ann@example.com"}
    provider.answers["emails"] = as_json(emails)
    settings = site.app.extensions["records"].authentication().settings_of(site.app)
    assert settings.oauth.providers["fake"].emails_url

    site.log_in()

    assert site.users()[0]["isVerified"] == is_verified


class AtWork(OAuthStrategy):
    def user_data(self, login, profile, user):
        return {**super().user_data(login, profile, user), "email": "ann@work.example"}


@in_sqlite
def test_provider_confirms_no_address_that_the_application_sets(
    site, records, provider
):
    records.authentication().strategies["fake"] = AtWork()
    provider.claims = {"id": "1", "email": email_of("ann"), "email_verified": True}

    assert error_of(site.log_in()) is None
    [user] = site.users()
    assert (user["email"], user["isVerified"]) == ("ann@work.example", False)


@in_sqlite
def test_provider_confirms_no_address_of_a_user_who_is_there(site, client, provider):
    register(client, "ann")
    provider.claims = {"id": "1", "email": email_of("ann"), "email_verified": True}

    refused = site.log_in()
    linked = site.link(log_in(client)["accessToken"])

    assert error_of(refused) and error_of(linked) is None
    assert site.users()[0]["isVerified"] is False
