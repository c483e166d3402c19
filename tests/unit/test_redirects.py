from __future__ import annotations

import re
import shutil
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from werkzeug.urls import iri_to_uri

from flask_records import BadRequest
from flask_records.authentication.oauth_settings import OAuthSettings, with_answer
from flask_records.http.origins import origin_of
from tests.unit.redirects import ALMOST, browser, CHARACTERS, EVIL, FORMS, HOSTS, STARTS

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
def follow():
    """A function that tells where a browser gets to by a location."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")

    with browser() as follow:
        yield follow


def target_of(text, oauth):
    """Return where a login ends that went well, or nothing if that is refused."""
    origins = tuple(map(origin_of, oauth.get("origins", ())))

    try:
        target = OAuthSettings({}, oauth["redirect"], origins).target(text)
    except BadRequest:
        return None

    # Werkzeug does this with every location.
    return iri_to_uri(with_answer(target, access_token="T"))


@pytest.mark.parametrize("place", [place for place, _ in PLACES], ids=str)
def test_every_place_refuses_another_site(place):
    texts = {form(text) for form in FORMS.values() for text in [*EVIL, *ALMOST]}

    accepted = [text for text in texts if target_of(text, place) is not None]

    assert accepted == []


@pytest.mark.parametrize(
    "text", ["/x&access_token=evil", "/x%26access_token%3Devil", "/x&error=Call%20us"]
)
def test_redirect_adds_no_parameter_to_a_configured_hash(text):
    oauth = OAuthSettings(redirect="https://app.example/#/login")

    with pytest.raises(BadRequest, match="after the '#'"):
        oauth.target(text)

    assert oauth.target("/x") == "https://app.example/#/login/x"


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


@settings(deadline=None)
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


def located(text, **oauth):
    """Return where a login ends that went well, without the answer."""
    target = target_of(text, {"redirect": "/", **oauth})
    return target and target.removesuffix("#access_token=T")


@pytest.mark.parametrize(
    "text", ["#", "/page#part", "/page?x=1#?y=2", "https://app.example#access_token=e"]
)
def test_redirect_says_nothing_behind_the_hash_in_any_form(text):
    """A page would take the token of an attacker from there."""
    found = [located(disguise(text), origins=[APP]) for disguise in FORMS.values()]

    assert found == [None] * len(FORMS)


def test_redirect_is_refused_where_none_is_configured():
    with pytest.raises(BadRequest, match="There is no redirect to append to"):
        OAuthSettings().target("/page")

    assert OAuthSettings().target("") is None


@pytest.mark.parametrize(
    ("text", "location"),
    [
        *(
            (text, text)
            for text in ("", "/page/", "/a//b", "/100%", "/caf%E9", "/100%25")
        ),
        *((text, text) for text in ("/page?next=//other.example", "/a%2Fb%3Fc%26e")),
        *((text, text) for text in ("/search?q=a+b", "/search?q=a%2Bb%20c")),
        ("/page?redirect=/x&feathers_token=x", "/page?redirect=/x&feathers_token=x"),
        ("/@ann/~b;c=1,d:e!$'()*", "/@ann/~b;c=1,d:e!$'()*"),
        ("/straße", "/stra%C3%9Fe"),
        ("/日本?ö=ä", "/%E6%97%A5%E6%9C%AC?%C3%B6=%C3%A4"),
        ("/e\u0301", "/e%CC%81"),
        ("/a[0]|{b}", "/a%5B0%5D%7C%7Bb%7D"),
        ('/"<script>`^', "/%22%3Cscript%3E%60%5E"),
    ],
)
def test_path_arrives_below_the_configured_address(text, location):
    bases = ["/after-login", f"{APP}/login", f"{APP}:8443"]

    found = [located(text, redirect=base) for base in bases]

    assert found == [f"{base}{location}" for base in bases]
