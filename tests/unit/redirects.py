"""Redirects that strangers try, and a browser that follows them."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from urllib.parse import quote

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
"""What leads to another site, or nowhere."""

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
"""What looks like an origin that is allowed, and is none."""


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
"""What a text may be disguised as."""


STARTS = [
    *("", "/", "//", "///", "\\", "/\\", "\\/", "\\\\", "/./", "/../", "/.//", "/..//"),
    *(
        "/%2e//",
        "/.%2f",
        "/;/",
        "/;//",
        "/?//",
        "?//",
        "/#//",
        "#//",
        "/@",
        "@",
        ".",
        ":",
    ),
    *("https:", "https:/", "https://", "https:\\\\", "HTTPS://", "http://", "ftp://"),
    *("javascript://", "data:,", "\t//", "/\t/", "/\n/", " //", "\x00//", "/ /"),
    *(
        "／／",
        "/／",
        "/⁄",
        "/⁄⁄",
        "/∕",
        "/＼",
        "/。/",
        "/\u2028/",
        "/\u00ad/",
        "/\ufeff/",
    ),
    *("https://app.example@", "https://app.example:8443@", "https://app.example:8443:"),
    *("https://app.example.", "https://app.example%2f", "https://app.example\\"),
    *("https://app.example;", "https://app.example/..//", "https://app.example/\\"),
    *("https://[::1]@", "https://app.example#@", "https://app.example?@", "https:///"),
]
"""What may stand before a host, to hide that it is one."""

HOSTS = [
    *("evil.test", "evil.test/", "evil.test:8443", "ann@evil.test", "evil。test"),
    *("ｅvil.test", "[2001:db8::1]", "2130706433", "app.example.evil.test"),
    *("evil.test\\app.example", "evil.test#@app.example", "evil.test/?app.example"),
    *("app.example", "APP.EXAMPLE/x", "app.example:8443", "app.example.", "/evil.test"),
    *("..//evil.test", "../../evil.test", "localhost:3000", "Kelvin.test", "?", "#"),
]
"""What a redirect may lead to."""


CHARACTERS = (
    "/\\@.:?#%&;[]() \t\r\n\x00\x0b\x0c\x1f\x7f\x85\xa0\xad%%//\\\\2f5c40EeVviIlLtTsS"
    "hHpP：／＼＠．。｡﹫⁄∕⧵\u2028\u200b\ufeff\u0301ÅKſ①ⓔ"
)
"""What addresses are understood by, and what looks like it."""


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
