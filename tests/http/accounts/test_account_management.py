"""Addresses that are confirmed, and passwords and addresses that change."""

from __future__ import annotations

import logging
import secrets
from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import pytest
from flask import Flask
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from pydantic import BaseModel, Field

from flask_records import (
    AuthenticationService,
    BadRequest,
    FlaskRecords,
    Forbidden,
    SQLAlchemyService,
    TableTokens,
    TokenMixin,
)
from flask_records.accounts import AccountManagement, Mail, mailed_tokens, print_mail
from flask_records.openapi import document
from tests.authentication import ANY_LOGIN, bearer, SECRET
from tests.http.accounts.people import (
    act,
    Base,
    clock,
    email_of,
    everywhere,
    in_sqlite,
    is_valid,
    log_in,
    make_records,
    PASSWORD,
    register,
    renew,
    served,
    settle,
    Token,
    User,
)

NEW = "another horse"

INVALID = BadRequest(
    "The token is not valid. Ask for a new one.", errors={"$className": "invalidToken"}
).to_dict()


def verify_token(client, mails):
    """The token that confirms the address of Ann."""
    act(client, "resendVerifySignup", {"email": email_of("ann")})
    return mails[-1].token


def reset_token(client, mails):
    """The token that sets a new password of Ann."""
    act(client, "sendResetPwd", {"email": email_of("ann")})
    return mails[-1].token


def change_token(client, mails):
    """The token that confirms a new address of Ann."""
    value = {"password": PASSWORD, "changes": {"email": "New@Example.com"}}
    act(client, "identityChange", value, bearer(log_in(client)["accessToken"]))
    return mails[-1].token


def use_verify(client, token):
    return act(client, "verifySignupLong", token)


def use_reset(client, token):
    return act(client, "resetPwdLong", {"token": token, "password": NEW})


USES = {verify_token: use_verify, reset_token: use_reset, change_token: use_verify}

each_kind = pytest.mark.parametrize("make", USES)


def user_of(client, name="ann", password=PASSWORD):
    return log_in(client, name, password)["user"]


@everywhere
def test_new_user_confirms_the_address(client, ann, mails):
    [mail] = mails
    before = user_of(client)["isVerified"]

    response = use_verify(client, mail.token)

    assert (mail.kind, mail.address) == ("verify", email_of("ann"))
    assert mail.user == {"id": ann, "email": email_of("ann"), "isVerified": False}
    assert (response.status_code, response.json) == (201, {})
    assert (before, user_of(client)["isVerified"]) == (False, True)


@everywhere
def test_mail_of_a_job_is_sent_before_its_end(client, mails):
    """Workers of some queues end without their threads."""
    users = client.application.extensions["records"]["users"]

    with client.application.app_context():
        users.create({"email": email_of("bob"), "password": PASSWORD})
        sent = [mail.address for mail in mails]

    assert sent == [email_of("bob")]


def test_mail_is_sent_as_the_process_ends(client, mails, monkeypatch):
    """Threads take no more work then."""
    ended = ThreadPoolExecutor()
    ended.shutdown()
    monkeypatch.setattr(mailed_tokens, "mail_threads", lambda: ended)

    user = {"email": email_of("ann"), "password": PASSWORD}
    answer = client.post("/users", json=user)

    assert answer.status_code == 201
    assert [mail.address for mail in mails] == [user["email"]]


@in_sqlite
def test_user_whose_address_no_event_shows_confirms_it(client, records, mails):
    @records["users"].after("create")
    def leave_out(method, context):
        context.dispatch = {"id": context.result.pop("id")}
        context.result.clear()
        context.result["id"] = context.dispatch["id"]

    register(client, "ann")

    assert [mail.address for mail in mails] == [email_of("ann")]


@in_sqlite
def test_new_user_whose_address_is_confirmed_gets_no_mail(client, records, mails):
    user = {"email": email_of("bob"), "password": PASSWORD, "isVerified": True}

    with client.application.app_context():
        records["users"].create(user)

    assert mails == []


@everywhere
def test_forgotten_password_is_set_anew(client, ann, mails):
    login = log_in(client)
    token = reset_token(client, mails)

    response = use_reset(client, token)

    assert (response.status_code, response.json) == (201, {})
    assert user_of(client, password=NEW)["isVerified"]
    assert not is_valid(client, login["accessToken"])
    assert renew(client, login["refreshToken"]).status_code == 401
    assert [mail.kind for mail in mails] == ["verify", "reset", "changed"]


@everywhere
def test_new_address_is_confirmed_before_it_is_used(client, ann, mails):
    token = change_token(client, mails)
    before = user_of(client)["email"]

    use_verify(client, token)

    login = {"strategy": "local", "email": "new@example.com", "password": PASSWORD}
    user = client.post("/authentication", json=login).json["user"]
    assert (mails[-2].kind, mails[-2].address) == ("change", "new@example.com")
    assert (before, user["email"]) == (email_of("ann"), "new@example.com")
    assert user["isVerified"]


@everywhere
def test_user_who_changes_the_password_is_logged_out(client, ann, mails):
    here, there = log_in(client), log_in(client)
    value = {"oldPassword": PASSWORD, "password": NEW, "user": {"email": ""}}
    value["user"]["email"] = email_of("ann")

    response = act(client, "passwordChange", value, bearer(here["accessToken"]))

    assert response.json == {}

    for login in (here, there):
        assert not is_valid(client, login["accessToken"])
        assert renew(client, login["refreshToken"]).status_code == 401

    assert is_valid(client, log_in(client, password=NEW)["accessToken"])
    assert (mails[-1].kind, mails[-1].token) == ("changed", None)


@everywhere
@each_kind
def test_token_is_used_once(client, ann, mails, make):
    token = make(client, mails)

    used = [USES[make](client, token) for _ in range(2)]

    assert (used[0].status_code, used[1].json) == (201, INVALID)


@everywhere
@each_kind
def test_of_twenty_uses_at_once_one_wins(app, client, ann, mails, make):
    token, data = make(client, mails), {"action": "verifySignupLong"}
    data["value"] = token

    if make is reset_token:
        data = {"action": "resetPwdLong", "value": {"token": token, "password": NEW}}

    def use(_):
        return app.test_client().post("/authManagement", json=data).status_code

    with ThreadPoolExecutor(20) as pool:
        done = list(pool.map(use, range(20)))

    assert sorted(done) == [201, *[400] * 19]


@everywhere
@each_kind
def test_token_expires(client, ann, mails, make):
    token = make(client, mails)

    with clock(2 * 60 * 60 if make is reset_token else 5 * 24 * 60 * 60):
        assert USES[make](client, token).json == INVALID


@everywhere
@each_kind
@pytest.mark.parametrize("change", [{"password": NEW}, {"email": "else@example.com"}])
def test_change_of_the_password_or_the_address_ends_a_token(
    app, client, records, ann, mails, make, change
):
    token = make(client, mails)

    with app.app_context():
        records["users"].patch(ann, dict(change))

    assert USES[make](client, token).json == INVALID


@in_sqlite
@each_kind
@pytest.mark.parametrize(
    "guess",
    [
        lambda token: token[:-1] + chr(ord(token[-1]) ^ 1),
        lambda token: secrets.token_hex(16) + token[32:],
        str.swapcase,
        lambda token: "",
        lambda token: None,
        lambda token: {"$ne": ""},
        lambda token: "\0\ud800",
    ],
)
def test_guessed_token_is_refused(client, ann, mails, make, guess):
    response = USES[make](client, guess(make(client, mails)))

    assert (response.status_code, response.json) == (400, INVALID)


@in_sqlite
def test_tokens_of_one_kind_are_not_tokens_of_another(client, ann, mails):
    refresh = log_in(client)["refreshToken"]

    answers = [
        use_verify(client, reset_token(client, mails)),
        use_reset(client, verify_token(client, mails)),
        use_reset(client, refresh),
        renew(client, reset_token(client, mails)),
    ]

    assert [answer.status_code for answer in answers] == [400, 400, 400, 401]


class StaffToken(TokenMixin, Base):
    __tablename__ = "staff_token"


@in_sqlite
def test_sessions_of_all_logins_end_with_the_proof_of_an_address(
    store, mails, database_url
):
    records = make_records(store, mails, staff=TableTokens(StaffToken))
    login = {"strategy": "local", "email": email_of("ann"), "password": PASSWORD}

    with served(records, database_url) as app:
        client = app.test_client()
        register(client, "ann")
        token = client.post("/staff-login", json=login).json["refreshToken"]
        renewal = {"strategy": "refresh", "refreshToken": token}
        before = client.post("/staff-login", json=renewal).status_code
        use_verify(client, mails[-1].token)
        after = client.post("/staff-login", json=renewal).status_code

    assert (before, after) == (201, 401)


@in_sqlite
def test_token_changes_nobody_else(client, ann, ben, mails):
    use_reset(client, reset_token(client, mails))

    assert user_of(client, "ben")["email"] == email_of("ben")


@in_sqlite
@pytest.mark.parametrize("action", ["passwordChange", "identityChange"])
def test_change_is_for_the_caller_who_knows_the_password(client, ann, ben, action):
    headers = bearer(log_in(client)["accessToken"])

    def change(password, user, headers):
        value = {"oldPassword": password, "password": password, "user": user}
        value["changes"] = {"email": "new@example.com"}

        if action == "passwordChange":
            value["password"] = NEW

        response = act(client, action, value, headers)
        return response.status_code, response.json["message"]

    own, other = {"email": email_of("ann")}, {"email": email_of("ben")}
    wrong = "Current password is incorrect."
    stranger = "This is not the user who is logged in."
    assert change("a wrong horse", own, headers) == (400, wrong)
    assert change(PASSWORD, other, headers) == (403, stranger)
    assert change(PASSWORD, own, None) == (401, "Not authenticated")
    assert user_of(client), user_of(client, "ben")


@in_sqlite
@pytest.mark.parametrize("action", ["sendResetPwd", "resendVerifySignup"])
def test_answer_tells_nobody_whether_there_is_an_account(client, ann, mails, action):
    mails.clear()

    known = act(client, action, {"email": email_of("ANN")})
    unknown = act(client, action, {"email": email_of("nobody")})

    assert (known.status_code, known.json) == (201, {})
    assert (unknown.status_code, unknown.json) == (201, {})
    assert {*known.headers} == {*unknown.headers}
    assert [mail.address for mail in mails] == [email_of("ann")]


@in_sqlite
def test_new_address_of_somebody_else_is_refused_in_silence(client, ann, ben, mails):
    mails.clear()
    value = {"password": PASSWORD, "changes": {"email": email_of("ben")}}

    response = act(
        client, "identityChange", value, bearer(log_in(client)["accessToken"])
    )

    assert (response.status_code, response.json, mails) == (201, {}, [])


@in_sqlite
def test_address_that_was_taken_meanwhile_is_not_confirmed(client, ann, mails):
    token = change_token(client, mails)
    client.post("/users", json={"email": "new@example.com", "password": PASSWORD})

    assert use_verify(client, token).json == INVALID


@in_sqlite
def test_address_that_is_confirmed_gets_no_mail(client, ann, mails):
    use_verify(client, mails.pop().token)

    act(client, "resendVerifySignup", {"email": email_of("ann")})

    assert mails == []


@in_sqlite
def test_unique_address_is_told(client, ann, ben):
    """The caller's own address is left out for the caller's own ``ownId``."""

    def check(name, **options):
        value = {"email": email_of(name)}
        response = act(client, "checkUnique", value, **options)
        return response.status_code, response.json.get("errors")

    taken, unique = (400, {"email": "Already taken."}), (201, None)
    assert check("nobody") == unique
    assert check("Ann", ownId=ann) == taken
    headers = bearer(log_in(client)["accessToken"])
    assert check("ann", headers=headers, ownId=ann) == unique
    assert check("ann", headers=headers, ownId=f"{ann}") == unique
    assert check("ben", headers=headers, ownId=ben) == taken
    assert check("ann", headers=headers, ownId=ben) == taken
    assert check("ann", headers=headers) == taken


NO_ADDRESSES = [
    *("evil@evil.test,x@corp.example", "evil@evil.test;x@corp.example", "no address"),
    *("evil@evil.test\r\nBcc: many@x.example", "a@x.example\x00b", "a@b@x.example"),
    *("a b@x.example", "a@x.example\n", "<a@x.example>", '"a"@x.example', "a@", "@x"),
    *("a@x.exam\u200bple", "a@x.example\u2028", "\u00a0a@x.example", "(x)a@x.example"),
]


@in_sqlite
@pytest.mark.parametrize("address", NO_ADDRESSES, ids=ascii)
def test_text_that_is_not_one_address_is_refused(client, ann, mails, address):
    mails.clear()
    headers = bearer(log_in(client)["accessToken"])
    value = {"password": PASSWORD, "changes": {"email": address}}

    answers = [
        act(client, "identityChange", value, headers),
        client.post("/users", json={"email": address, "password": PASSWORD}),
        client.put(f"/users/{ann}", json={"email": address}, headers=headers),
    ]

    assert [each.status_code for each in answers] == [400] * 3
    assert [[*each.json["errors"]] for each in answers[:2]] == [["email"]] * 2
    assert mails == []


@in_sqlite
@pytest.mark.parametrize(
    "address", ["o'neill+x@x.example", "jürgen@bücher.example", "a@localhost"]
)
def test_address_may_have_any_letters(client, ann, mails, address):
    value = {"password": PASSWORD, "changes": {"email": address}}

    act(client, "identityChange", value, bearer(log_in(client)["accessToken"]))

    assert mails[-1].address == address


@everywhere
def test_no_mail_goes_to_what_is_not_an_address(app, client, records, mails):
    """Users of before, or of a script."""
    user = {"email": "a@x.example,b@x.example", "password": PASSWORD}

    with app.app_context():
        records["users"].create(dict(user))

    act(client, "sendResetPwd", {"email": user["email"]})

    assert mails == []


class CompanyUser(BaseModel):
    email: str = Field(pattern=r"@example\.com$")


@in_sqlite
@pytest.mark.parametrize("method", ["create", "patch"])
@pytest.mark.parametrize(
    ("address", "problem"),
    [("ann@evil.test", "example"), ("a" * 100 + "@example.com", "100 characters")],
)
def test_schemas_are_asked_before_a_mail_is_sent(
    store, mails, database_url, method, address, problem
):
    records = make_records(store, mails, schemas={method: CompanyUser})

    with served(records, database_url) as app:
        client = app.test_client()

        with app.app_context():
            ann = {"email": email_of("ann"), "password": PASSWORD}
            records["users"].create(ann)

        settle()
        mails.clear()
        value = {"password": PASSWORD, "changes": {"email": address}}
        headers = bearer(log_in(client)["accessToken"])
        response = act(client, "identityChange", value, headers)

    assert (response.status_code, mails) == (400, [])
    assert problem in response.json["errors"]["email"]


@everywhere
def test_old_address_hears_of_a_new_one(client, ann, mails):
    use_verify(client, change_token(client, mails))

    mail = mails[-1]
    assert (mail.kind, mail.address, mail.token) == ("changed", email_of("ann"), None)
    assert mail.user["email"] == "new@example.com"


@everywhere
def test_invited_user_sets_a_password_and_confirms_the_address(
    app, client, records, mails
):
    with app.app_context():
        records["users"].create({"email": email_of("ann"), "password": None})

    settle()
    value = {"token": mails[-1].token, "password": PASSWORD}
    responses = [act(client, "verifySignupSetPasswordLong", value) for _ in range(2)]

    assert [each.status_code for each in responses] == [201, 400]
    assert user_of(client)["isVerified"]


@everywhere
def test_token_for_a_new_address_sets_no_password(client, ann, mails):
    token = change_token(client, mails)
    value = {"token": token, "password": NEW}

    response = act(client, "verifySignupSetPasswordLong", value)

    assert response.json == INVALID
    assert use_verify(client, token).status_code == 201


@in_sqlite
@pytest.mark.parametrize(
    "data",
    [
        {},
        [],
        [{"action": "sendResetPwd"}],
        {"action": ["sendResetPwd"], "value": {}},
        {"action": "options"},
        {"action": "sendResetPwd"},
        {"action": "sendResetPwd", "value": "ann@example.com"},
        {"action": "sendResetPwd", "value": {"email": {"$ne": ""}}},
        {"action": "sendResetPwd", "value": {"email": ""}},
        {"action": "sendResetPwd", "value": {"email": "x" * 321}},
        {"action": "checkUnique", "value": {"password": "x"}},
        {"action": "checkUnique", "value": {"email": "a"}, "meta": 5, "ownId": {}},
        {"action": "resetPwdLong", "value": None},
        {"action": "passwordChange", "value": []},
    ],
)
def test_odd_action_is_refused(client, ann, data):
    response = client.post("/authManagement", json=data)

    is_plain = data == {"action": "checkUnique", "value": {"email": "a"}} | {
        "meta": 5,
        "ownId": {},
    }
    assert response.status_code == (201 if is_plain else 400), response.json


@in_sqlite
@pytest.mark.parametrize("password", ["", None, 5, "x" * 1025])
def test_new_password_has_to_be_one(client, ann, mails, password):
    token = reset_token(client, mails)

    value = {"token": token, "password": password}
    response = act(client, "resetPwdLong", value)

    assert (response.status_code, [*response.json["errors"]]) == (400, ["password"])
    assert use_reset(client, token).status_code == 201


@in_sqlite
@each_kind
def test_token_is_in_no_log_event_answer_or_table(
    app, client, records, ann, mails, caplog, make
):
    events = []
    records.events()(lambda event, record, context: events.append(record))
    caplog.set_level(logging.INFO)
    token = make(client, mails)

    with app.app_context():
        db = app.extensions["sqlalchemy"]
        rows = db.session.execute(db.select(Token.__table__)).all()

    assert rows
    assert token not in f"{events} {caplog.text} {rows} {mails}"


@in_sqlite
def test_call_that_fails_sends_no_mail(client, records, ann, mails):
    mails.clear()

    @records["authManagement"].after("create")
    def fail(method, context):
        raise Forbidden("No.")

    response = act(client, "sendResetPwd", {"email": email_of("ann")})

    assert (response.status_code, mails) == (403, [])


class FailingMails(list):
    def append(self, mail):
        super().append(mail)
        raise OSError("The server of mails is down.")


@in_sqlite
@pytest.mark.parametrize("mails", [FailingMails()])
def test_mail_that_fails_is_logged_without_its_token(client, ann, mails):
    log = StringIO()
    logger, handler = logging.getLogger("flask_records"), logging.StreamHandler(log)
    logger.addHandler(handler)

    response = act(client, "sendResetPwd", {"email": email_of("ann")})

    logger.removeHandler(handler)
    assert (response.status_code, response.json) == (201, {})
    assert "A mail could not be sent.\nTraceback" in log.getvalue()
    assert mails[-1].token not in log.getvalue()


@in_sqlite
def test_actions_are_described(app):
    with app.test_request_context():
        schemas = document()["components"]["schemas"]

    name = "AuthManagementCreateResetPwdLong"
    reset, text = schemas[name], {"type": "string"}
    named = {"$ref": f"#/components/schemas/{name}"}
    assert named in schemas["AuthManagementCreate"]["anyOf"]
    assert reset["properties"]["action"] == {**text, "const": "resetPwdLong"}
    assert reset["properties"]["value"] == {
        "type": "object",
        "properties": {"token": text, "password": text},
        "required": ["token", "password"],
    }


@pytest.mark.parametrize(
    ("verified", "readonly", "message"),
    [
        ("isVerified", [], r"Clients of 'users' can write 'isVerified'"),
        ("confirmed", [], "no field 'confirmed'"),
        (
            "isVerified",
            ["isVerified"],
            r"Clients of 'users' can change 'email' without a confirmation",
        ),
    ],
)
def test_application_does_not_start(verified, readonly, message):
    app = Flask("tests")
    app.config["RECORDS_AUTHENTICATION"] = {"secret": SECRET}
    records = FlaskRecords()
    authentication = AuthenticationService(
        tokens=TableTokens(Token), custom_hashing=True
    )
    records.add("authentication", authentication)
    users = SQLAlchemyService(User, hidden=["password"], readonly=readonly)
    records.add("users", users, public=True, allow=ANY_LOGIN)
    accounts = AccountManagement(authentication, send=print, verified=verified)
    records.add("accounts", accounts, public=["create"])

    with pytest.raises(RuntimeError, match=message):
        records.init_app(app)


def test_accounts_need_a_store():
    with pytest.raises(ValueError, match=r"tokens=TableTokens\(Token\)"):
        AccountManagement(AuthenticationService(), send=print)


def test_mails_are_printed(capsys):
    print_mail(Mail("reset", "ann@example.com", {}, "token"))

    assert capsys.readouterr().out == "Mail to ann@example.com: reset token\n"


@pytest.mark.parametrize("name", ["ann", "nobody"])
def test_mails_to_one_address_are_limited(name):
    records = make_records(TableTokens(Token), [], limiter=Limiter(get_remote_address))

    with served(records, "sqlite://") as app:
        client = app.test_client()
        register(client, "ann")
        values = [{"email": email_of(spelt)} for spelt in [name, name.upper()] * 3]
        done = [act(client, "sendResetPwd", value).status_code for value in values]

    assert done == [201] * 5 + [429]
