"""Where a login may end, whatever strangers try, in a browser that follows."""

import json
import re
import shutil
import subprocess
from contextlib import contextmanager
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from werkzeug.urls import iri_to_uri

from flask_records import BadRequest
from flask_records.authentication.oauth_settings import OAuthSettings, with_answer
from flask_records.http.origins import origin_of

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

EVIL = [
    *("//evil.test", "///evil.test", "@evil.test", ".evil.test", "evil.test"),
    *("/\\evil.test", "\\/evil.test", "\\\\evil.test", "\\evil.test", ":@evil.test"),
    *("https:evil.test", "https:/evil.test", "https://evil.test", "https:///evil.test"),
    *(
        "https:\\\\evil.test",
        "HTTPS://evil.test",
        "hTTp://evil.test",
        "ftp://evil.test",
    ),
    *("javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "blob:x"),
    *("file:///etc/passwd", "vbscript:x", "mailto:ann@evil.test", "about:blank"),
    *("\t//evil.test", "/\t/evil.test", "/\n/evil.test", "/\r/evil.test", "/\tx"),
    *(" //evil.test", "\x00//evil.test", "/\x00/evil.test", "/page\x00", "/page\nx: y"),
    *("ja\tva\nscript:alert(1)", "https:\n//evil.test", "//evil.test/app.example"),
    *("//app.example@evil.test", "/\\app.example@evil.test", "//evil.test:443"),
    *("／／evil.test", "/／evil.test", "／/evil.test", "＼＼evil.test", "/＼evil.test"),
    *("＠evil.test", "﹫evil.test", "．evil.test", "。evil.test", "｡evil.test"),
    *("//evil。test", "//ｅvil.test", "https：//evil.test", "ｈttps://evil.test"),
    *("//xn--e1awg7f.test", "//münchen.test", "//evil.test.", "//[2001:db8::1]"),
    *("//2130706433", "https://0x7f.1", "http://[::1]:3000", "https://[::1"),
]
"""Addresses that lead to another site, or nowhere."""

ALMOST = [
    *("https://app.example@evil.test", "https://app.example:8443@evil.test/"),
    *("https://app.example\\@evil.test", "https://app.example\\.evil.test"),
    *("https://app.example.evil.test", "https://evilapp.example", "https://example"),
    *("https://sub.app.example", "https://app.example.", "https://app.example./x"),
    *("https://app.example:444", "https://app.example:80", "https://app.example:x"),
    *("https://app.example:99999", "https://app.example:8443.evil.test"),
    *("https://ann@app.example", "https://ann:secret@app.example", "//app.example"),
    *("https://@app.example", "https:app.example", "https:/app.example"),
    *("https:///app.example", "https:\\\\app.example", "https://app.example\\x"),
    *("http://app.example", "http://app.example:443", "ws://app.example"),
    *("https://app.example /x", "https://app.exam\nple", "https://app.example\t"),
    *(" https://app.example", "https://аpp.example", "https://app。example"),
    *("https://app.example%2eevil.test", "https://app.example%00.evil.test"),
    *("https://app.example%40evil.test", "https://app.example%2f@evil.test"),
    *("https%3A//app.example", "https://localhost:3000", "http://localhost:3001"),
    *("http://localhost", "http://localhost:3000@evil.test", "http://127.0.0.1:3000"),
]
"""Texts that look like an allowed origin, and are none."""


def wide(text):
    """Return a text in the forms of East Asian width that stand for ASCII."""
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def encoded(text, times=1):
    """Return a text with every byte percent-encoded, also the letters."""
    for _ in range(times):
        text = "".join(f"%{byte:02X}" for byte in text.encode())

    return text


FORMS = {
    "plain": str,
    "once": encoded,
    "twice": lambda text: encoded(text, 2),
    "thrice": lambda text: encoded(text, 3),
    "lower": lambda text: encoded(text).lower(),
    "signs": lambda text: quote(text, safe=""),
    "signs twice": lambda text: quote(quote(text, safe=""), safe=""),
    "start": lambda text: encoded(text[:2]) + text[2:],
    "second": lambda text: text[:1] + encoded(text[1:2], 2) + text[2:],
    "wide": wide,
    "wide once": lambda text: quote(wide(text), safe=""),
    "wide twice": lambda text: quote(quote(wide(text), safe=""), safe=""),
    "mixed": lambda text: wide(encoded(text)),
}
"""The disguises of a text."""


CHARACTERS = (
    "/\\@.:?#%&;[]() \t\r\n\x00\x0b\x0c\x1f\x7f\x85\xa0\xad%%//\\\\2f5c40EeVviIlLtTsS"
    "hHpP：／＼＠．。｡﹫⁄∕⧵\u2028\u200b\ufeff\u0301ÅKſ①ⓔ"
)
"""The parts of addresses, and characters that look like them."""


START = "https://records.example/oauth/fake"
"""Where the browser is when it is sent away."""

BROWSER = """
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const is_url = URL.canParse(line, process.argv[1])
  const { origin, href } = is_url ? new URL(line, process.argv[1]) : { origin: line }
  console.log(JSON.stringify({ origin, href }))
})
"""


@contextmanager
def browser():
    """A function that tells where a browser gets to by a location."""
    pipe = subprocess.PIPE
    command = ["node", "-e", BROWSER, START]

    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:

        def follow(location):
            process.stdin.write(f"{location}\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield follow
        process.stdin.close()


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
    assert oauth.target(f"{APP}/x?y=1") == f"{APP}/x?y=1"


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from([*EVIL, *ALMOST, "%2f", "%5c", "%09", "%25", "％２ｆ"])
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


@pytest.mark.parametrize(
    ("oauth", "redirect"),
    [
        ({"redirect": "/"}, "/shop/page/"),
        ({"redirect": "/shop/"}, "/page/"),
        ({"redirect": APP, "origins": [OWN]}, f"{OWN}/shop/page/"),
        ({"redirect": APP}, None),
        ({}, None),
    ],
)
def test_redirect_that_leads_to_a_page(oauth, redirect):
    settings = OAuthSettings.parse(oauth, "OAUTH")

    assert settings.redirect_to(f"{OWN}/shop/page/", "/shop") == redirect
