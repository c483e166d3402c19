"""The page of the explorer and its files, as a browser gets them."""

import json
import re
from graphlib import TopologicalSorter
from os.path import normpath
from urllib.parse import urljoin

import pytest
from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from flask_records import FlaskRecords
from flask_records.explorer import Explorer
from flask_records.explorer import page as explorer_page

from ..openapi import test_served
from .sites import app_with, ON, SERVICES, Things

ADDRESS = re.compile(r'(?:href|src)="([^#"][^"]*)"')

IMPORT = re.compile(r"\bfrom '(\.[^']+)'")


LIBRARIES = ["socket.io.min.js", "feathers.min.js"]


def addresses_of(page):
    return [each for each in ADDRESS.findall(page) if not each.startswith("data:")]


def modules_of(page):
    """Return the names of modules that scripts load, by the view that needs them."""
    return json.loads(re.search(r"data-modules='([^']+)'", page)[1])


def test_all_that_the_page_loads_is_there():
    client = app_with(url_prefix="/api").test_client()

    page = client.get("/_records", follow_redirects=True)
    addresses = addresses_of(page.text)
    module = next(each for each in addresses if each.endswith("main.js"))
    lists = [addresses, *modules_of(page.text).values(), LIBRARIES]
    urls = {
        urljoin(urljoin("/_records/", module), each)
        for names in lists
        for each in names
    }
    answers = [client.get(url, buffered=True) for url in urls]

    assert page.request.path == "/_records/"
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert {answer.status_code for answer in answers} == {200}
    types = {answer.headers["Content-Type"].partition(";")[0] for answer in answers}
    assert types == {"text/css", "text/javascript"}


def test_browsers_keep_the_files_of_a_version():
    client = app_with().test_client()
    page = client.get("/_records/").text
    url = re.search(r"/_records/files/\w+/main.js", page)[0]
    others = url.replace("/files/", "/files/0")

    answers = [client.get(each, buffered=True) for each in (url, others)]

    kept = [answer.headers["Cache-Control"] for answer in answers]
    assert kept == ["public, max-age=31536000", "no-cache, max-age=0"]
    assert answers[0].headers["X-Content-Type-Options"] == "nosniff"
    assert answers[0].headers["ETag"]


def test_page_names_each_module():
    page = app_with().test_client().get("/_records/").text
    modules = explorer_page.FILES.rglob("*.js")
    names = [path.relative_to(explorer_page.FILES).as_posix() for path in modules]

    first = {*re.findall(r"/_records/files/\w+/([\w/]+\.js)", page)}
    others = modules_of(page)["others"]

    assert sorted([*first, *others]) == sorted(names)


def test_page_names_all_that_the_first_views_import():
    page = app_with().test_client().get("/_records/").text
    first = {*re.findall(r"/_records/files/\w+/([\w/]+\.js)", page)}
    modules = modules_of(page)

    # With the style, as many as a browser loads at the same time.
    assert len(first) == 5
    assert "requests.js" in first
    assert {"views/services.js", "views/login.js"} < {*modules[""]}
    assert {"views/records.js", "views/table.js"} < {*modules["records"]}
    assert not {"views/form.js", "views/filters.js"} & {*modules["records"]}


def test_modules_import_what_is_there_without_a_circle():
    root = explorer_page.FILES
    imports = {
        path.relative_to(root).as_posix(): {
            normpath(path.relative_to(root).parent / name)
            for name in IMPORT.findall(path.read_text())
        }
        for path in root.rglob("*.js")
    }

    order = [*TopologicalSorter(imports).static_order()]

    views = {name for name in imports if name.startswith("views/")}
    assert {*order} == {*imports}
    assert not views & {
        each for name in {*imports} - views - {"main.js"} for each in imports[name]
    }


@pytest.mark.parametrize(
    ("make_app", "path", "images"),
    [(app_with, "/_records/", " blob:"), (test_served.app_with, "/docs", "")],
)
def test_page_loads_from_its_own_origin_only(make_app, path, images):
    page = make_app().test_client().get(path)

    assert page.headers["Content-Security-Policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
        f" img-src 'self' data:{images}; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'"
    )
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert page.headers["Cache-Control"] == "no-cache"
    assert not re.search(r"<style|style=|<script>|\bon\w+=|https?:", page.text)


def test_page_of_an_application_whose_name_is_markup():
    app = app_with()
    app.name = "<script>alert(1)</script>"

    page = app.test_client().get("/_records/").text

    assert "<title>Records of &lt;script&gt;alert(1)&lt;/script&gt;</title>" in page


def test_proxy_that_adds_a_path_is_known():
    app = app_with(url_prefix="/api")
    app.wsgi_app = ProxyFix(app.wsgi_app, x_prefix=1)
    headers = {"X-Forwarded-Prefix": "/shop"}

    client = app.test_client()
    page = client.get("/_records", headers=headers)
    made = client.get(SERVICES, headers=headers)

    location = "http://localhost/shop/_records/"
    assert (page.status_code, page.headers["Location"]) == (308, location)
    assert made.json["prefix"] == "/shop/api"


@pytest.mark.parametrize(
    ("services", "page"), [("/<tenant>", "/_records"), ("/api", "/<tenant>")]
)
def test_placeholders_in_a_prefix_are_refused(services, page):
    app, records = Flask("tests"), FlaskRecords(url_prefix=services)
    records.init_app(app)

    with pytest.raises(RuntimeError, match="has no placeholders, and has none itself"):
        Explorer(records, app, url_prefix=page)


def test_path_of_a_service_is_refused():
    app = Flask("tests")
    app.config["RECORDS_EXPLORER"] = ON
    records = FlaskRecords()
    records.add("_records", Things(), public=True)
    records.init_app(app)

    with pytest.raises(
        RuntimeError, match="'records:_records.many' and 'records_explorer"
    ):
        Explorer(records, app)


@pytest.mark.parametrize("name", ["../page.py", "..%2fpage.py", "feathers.d.ts", "x"])
def test_other_files_are_not_sent(name):
    answer = app_with().test_client().get(f"/_records/files/1/{name}")

    assert answer.status_code == 404
