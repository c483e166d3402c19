from __future__ import annotations

import re
import shutil
from itertools import product
from urllib.parse import parse_qs
from urllib.parse import quote
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from werkzeug.urls import iri_to_uri

from flask_records import BadRequest
from flask_records.authentication.redirects import Redirects
from flask_records.authentication.redirects import with_answer
from flask_records.http.origins import origin_of
from tests.oauth_providers import make_app
from tests.oauth_providers import Provider
from tests.redirects import ALMOST
from tests.redirects import browser
from tests.redirects import CHARACTERS
from tests.redirects import EVIL
from tests.redirects import FORMS
from tests.redirects import HOSTS
from tests.redirects import STARTS

OWN = "https://records.example"

APP = "https://app.example"

PLACES = [
    ({"redirect": "/"}, {OWN}),
    ({"redirect": "/after-login"}, {OWN}),
    ({"redirect": APP}, {APP}),
    ({"redirect": f"{APP}/"}, {APP}),
    ({"redirect": f"{APP}/login"}, {APP}),
    ({"redirect": f"{APP}:8443"}, {f"{APP}:8443"}),
    (
        {"redirect": "/", "origins": [APP, "http://localhost:3000"]},
        {OWN, APP, "http://localhost:3000"},
    ),
    (
        {"redirect": "https://www.example", "origins": [f"{APP}:8443/"]},
        {"https://www.example", f"{APP}:8443"},
    ),
]
"""The settings of redirects, and the origins that they allow."""


@pytest.fixture(scope="module")
def clients():
    """A client of an application for each place."""
    return [make_client(place) for place, _ in PLACES]


@pytest.fixture(scope="module")
def follow():
    """A function that tells where a browser gets to by a location."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")

    with browser() as follow:
        yield follow


def make_client(oauth):
    provider = Provider()
    provider.url = "https://provider.example"
    return make_app({"fake": provider}, oauth).test_client()


def end(client, redirect):
    """Return the answer of a login that fails at once, with a token that is none."""
    text = quote(redirect, safe="", errors="replace")
    url = f"/oauth/fake?feathers_token=none&redirect={text}"
    return client.get(url, headers={"Sec-Fetch-Site": "same-origin"})


def place_of(answer):
    """Return where a login that failed ends, without the message."""
    location, _, message = answer.headers["Location"].rpartition("#")

    assert answer.status_code == 302
    assert message.startswith("error=Your%20login%20is%20not%20valid")
    return location


def target_of(text, oauth):
    """Return where a login ends that went well, or nothing if that is refused."""
    origins = tuple(map(origin_of, oauth.get("origins", ())))

    try:
        target = Redirects(oauth["redirect"], origins).target(text)
    except BadRequest:
        return None

    # Werkzeug does this with every location.
    return iri_to_uri(with_answer(target, access_token="T"))


def refusal(message):
    return {
        "name": "BadRequest",
        "message": message,
        "code": 400,
        "className": "bad-request",
        "errors": {},
    }


@pytest.mark.parametrize("text", [*EVIL, *ALMOST])
def test_redirect_to_another_site_is_refused_in_every_form(clients, text):
    answers = {
        form: end(clients[number % len(clients)], disguise(text)).status_code
        for number, (form, disguise) in enumerate(FORMS.items())
    }

    assert answers == dict.fromkeys(FORMS, 400)


@pytest.mark.parametrize("place", [place for place, _ in PLACES], ids=str)
def test_every_place_refuses_another_site(place):
    texts = {form(text) for form in FORMS.values() for text in [*EVIL, *ALMOST]}

    accepted = [text for text in texts if target_of(text, place) is not None]

    assert accepted == []


def test_refusal_has_a_reason_and_begins_no_login(clients):
    answer = clients[0].get("/oauth/fake?redirect=//evil.test")

    assert answer.json == refusal("The redirect leads to another site.")
    assert not {"Location", "Set-Cookie"} & set(answer.headers.keys())


@pytest.mark.parametrize(
    "text",
    [
        *("#", "/#", "/page#part", "/page?x=1#?y=2", "/page#access_token=evil"),
        *("https://app.example#part", "https://app.example/page#access_token=evil"),
    ],
)
def test_redirect_says_nothing_behind_the_hash_in_any_form(clients, text):
    """A page would take the token of an attacker from there."""
    answers = [end(clients[6], disguise(text)) for disguise in FORMS.values()]

    assert [answer.status_code for answer in answers] == [400] * len(FORMS)
    assert end(clients[6], text).json["message"] in (
        "The redirect can't set anything after the '#'.",
        "The redirect leads to another site.",
    )


@pytest.mark.parametrize(
    "text", ["/x&access_token=evil", "/x%26access_token%3Devil", "/x&error=Call%20us"]
)
def test_redirect_adds_no_parameter_to_a_configured_hash(text):
    redirects = Redirects("https://app.example/#/login")

    with pytest.raises(BadRequest, match="after the '#'"):
        redirects.target(text)

    assert redirects.target("/x") == "https://app.example/#/login/x"


@pytest.mark.parametrize("text", ["/page", "//evil.test", "https://app.example"])
def test_redirect_is_refused_where_none_is_configured(text):
    client = make_client({})

    answer = client.get(f"/oauth/fake?redirect={text}")

    assert answer.status_code == 400
    assert answer.json == refusal("There is no redirect to append to.")


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("/page", "/page"),
        ("/page/", "/page/"),
        ("/a/b.html", "/a/b.html"),
        ("/a//b", "/a//b"),
        ("/page?next=/other&x=1", "/page?next=/other&x=1"),
        ("/page?next=//other.example", "/page?next=//other.example"),
        (
            "/page?next=https%3A%2F%2Fother.example%2F%3Fa%3D1%26b",
            "/page?next=https%3A%2F%2Fother.example%2F%3Fa%3D1%26b",
        ),
        (
            "/page?redirect=/page&feathers_token=x",
            "/page?redirect=/page&feathers_token=x",
        ),
        ("/search?q=a+b", "/search?q=a+b"),
        ("/search?q=a%2Bb", "/search?q=a%2Bb"),
        ("/search?q=a%20b", "/search?q=a%20b"),
        ("/read%20me.txt", "/read%20me.txt"),
        ("/@ann/~b;c=1,d:e!$'()*", "/@ann/~b;c=1,d:e!$'()*"),
        ("/a%2Fb%3Fc%26e", "/a%2Fb%3Fc%26e"),
        ("/100%25", "/100%25"),
        ("/100%", "/100%"),
        ("/caf%E9", "/caf%E9"),
        ("/straße", "/stra%C3%9Fe"),
        ("/stra%C3%9Fe?q=%E2%82%AC", "/stra%C3%9Fe?q=%E2%82%AC"),
        ("/日本?ö=ä", "/%E6%97%A5%E6%9C%AC?%C3%B6=%C3%A4"),
        ("/e\u0301", "/e%CC%81"),
        ("/%C2%B4n", "/%C2%B4n"),
        ("/\U0001f600", "/%F0%9F%98%80"),
        ("/a[0]|{b}", "/a%5B0%5D%7C%7Bb%7D"),
        ('/"<script>`^', "/%22%3Cscript%3E%60%5E"),
    ],
)
def test_path_arrives_below_the_configured_address(clients, text, location):
    locations = [place_of(end(client, text)) for client in clients[:6]]

    assert locations == [
        location,
        f"/after-login{location}",
        f"https://app.example{location}",
        f"https://app.example{location}",
        f"https://app.example/login{location}",
        f"https://app.example:8443{location}",
    ]


def test_without_a_redirect_users_come_to_the_configured_address(clients):
    locations = [place_of(end(client, "")) for client in clients]

    assert locations == [place["redirect"] for place, _ in PLACES]


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://app.example", "https://app.example"),
        ("https://app.example/", "https://app.example"),
        ("https://app.example/a?b=c&next=//evil.test", "https://app.example"),
        ("https://app.example?x", "https://app.example"),
        ("https://app.example/@evil.test", "https://app.example"),
        ("https://app.example:443/", "https://app.example"),
        ("HTTPS://APP.Example/Page", "https://app.example"),
        ("https://app.example/straße", "https://app.example"),
        ("http://localhost:3000/page", "http://localhost:3000"),
    ],
)
def test_whole_address_of_an_allowed_origin_is_taken_as_it_is(
    clients, follow, text, origin
):
    ended = follow(place_of(end(clients[6], text)))

    assert ended["origin"] == origin
    assert ended["href"] == follow(text)["href"]


@pytest.mark.parametrize(
    ("origin", "text", "location"),
    [
        ("http://[::1]:3000", "http://[::1]:3000/x", "http://[::1]:3000/x"),
        ("http://[2001:DB8::1]", "http://[2001:db8::1]/", "http://[2001:db8::1]/"),
        ("https://APP.example", "https://app.EXAMPLE/x", "https://app.example/x"),
        ("https://app.example:443", "https://app.example", "https://app.example/"),
        ("https://app.example", "https://app.example:443", "https://app.example/"),
        ("http://app.example:80/", "http://app.example/x", "http://app.example/x"),
        (
            "https://münchen.example",
            "https://münchen.example/",
            "https://xn--mnchen-3ya.example/",
        ),
        (
            "https://münchen.example",
            "https://xn--mnchen-3ya.example/",
            "https://xn--mnchen-3ya.example/",
        ),
        (
            "https://xn--mnchen-3ya.example",
            "https://xn--mnchen-3ya.example/",
            "https://xn--mnchen-3ya.example/",
        ),
    ],
)
def test_origins_are_compared_as_browsers_do(follow, origin, text, location):
    client = make_client({"redirect": "/", "origins": [origin]})

    answer = end(client, text)

    assert follow(place_of(answer))["href"] == location


def test_redirect_is_kept_until_the_provider_answers(clients):
    client = clients[4]
    started = client.get("/oauth/fake?redirect=/page?next=%2Fother%26x=1")
    sent = parse_qs(urlsplit(started.headers["Location"]).query)

    callback = f"/oauth/fake/callback?error=access_denied&state={sent['state'][0]}"
    answer = client.get(callback)

    target = "https://app.example/login/page?next=/other&x=1"
    error = "#error=The%20login%20was%20cancelled."
    assert answer.headers["Location"].startswith(target + error)
    assert "page" not in started.headers["Location"]


def test_generated_redirects_end_on_an_allowed_origin(follow):
    texts = sorted(
        form(start) + host
        for form, start, host in product(FORMS.values(), STARTS, HOSTS)
    )
    ends = {}

    for number, text in enumerate(texts):
        place, origins = PLACES[number % len(PLACES)]
        target = target_of(text, place)

        if target is not None:
            ends[text] = follow(target)["origin"], origins

    assert len(texts) > 10_000 and len(ends) > 500
    assert {text: end for text, end in ends.items() if end[0] not in end[1]} == {}


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from([*STARTS, *HOSTS, "%2f", "%5c", "%09", "%25", "％２ｆ"])
        | st.text(CHARACTERS, max_size=6),
        max_size=6,
    ).map("".join)
)
def test_no_text_leads_to_another_site(follow, text):
    for place, origins in PLACES:
        target = target_of(text, place)

        if target is not None:
            assert re.fullmatch(r"[!-~]+", target)
            assert follow(target)["origin"] in origins


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("/", "/#access_token=a.b-c_d"),
        ("/page?x=1", "/page?x=1#access_token=a.b-c_d"),
        ("/page?", "/page?#access_token=a.b-c_d"),
        ("/page#", "/page#access_token=a.b-c_d"),
        ("/page?#", "/page?#access_token=a.b-c_d"),
        ("/#/login", "/#/login#access_token=a.b-c_d"),
        ("https://app.example", "https://app.example#access_token=a.b-c_d"),
    ],
)
def test_answer_stands_where_no_server_sees_it(target, location):
    assert with_answer(target, access_token="a.b-c_d") == location


def test_message_is_encoded():
    location = with_answer("/", error="It's 50% & <b>#1</b>\r\nüber?")

    assert location == (
        "/#error=It%27s%2050%25%20%26%20%3Cb%3E%231%3C%2Fb%3E%0D%0A%C3%BCber%3F"
    )


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://app.example", "https://app.example"),
        ("HTTPS://App.Example:443/a?b#c", "https://app.example"),
        ("http://app.example:80", "http://app.example"),
        ("http://app.example:443", "http://app.example:443"),
        ("https://app.example:08443", "https://app.example:8443"),
        ("https://app.example.", "https://app.example."),
        ("http://[::1]:3000/", "http://[::1]:3000"),
        *((url, None) for url in ["", "/", "//app.example", "https:", "https://"]),
        *((url, None) for url in ["https:app.example", "app.example", "null"]),
        *((url, None) for url in ["javascript:x", "data:,", "ftp://app.example"]),
        *((url, None) for url in ["https://ann@app.example", "https://@app.example"]),
        *((url, None) for url in ["https://app.example:x", "https://app.example:-1"]),
        *((url, None) for url in ["https://app.example:65536", "https://[::1"]),
    ],
)
def test_origin_is_scheme_host_and_port(url, origin):
    assert origin_of(url) == origin
