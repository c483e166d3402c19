"""Databases that no application was written for, as `serve` serves them."""

import asyncio
import os
import sqlite3
from contextlib import closing, nullcontext

import pytest
import sqlalchemy as sa

from flask_records.start.local_server import LocalServer
from flask_records.start.reflection import create_app

from ..databases import DATABASES, new_database, SERVERS, url_in
from ..foreign_databases import fill, shop_of_records, trading_company
from .test_docs import disposed_engines


@pytest.fixture(scope="module", params=DATABASES)
def urls(request, tmp_path_factory):
    """The URLs of the two databases on a server, or in files."""
    if request.param in SERVERS:
        url = os.environ[SERVERS[request.param]]
        with new_database(url) as shop, new_database(url) as company:
            fill(shop, shop_of_records)
            fill(company, trading_company)
            yield shop, company
    else:
        folder = tmp_path_factory.mktemp("databases")
        shop, company = (f"sqlite:///{folder / name}.db" for name in ("a", "b"))
        fill(shop, shop_of_records)
        fill(company, trading_company)
        yield shop, company


@pytest.fixture
def served():
    """A function that returns a client of a database, and what it does not serve."""
    with disposed_engines():

        def serve(url, **options):
            app, realtime, left_out = create_app(url, **options)
            return app.test_client(), left_out

        yield serve


def test_all_tables_with_a_key_are_served(urls, served):
    shop, nothing = served(urls[0])
    company, left_out = served(urls[1])
    tables = ["customers", "categories", "products", "orders", "Order-Details", "docs"]

    assert [
        shop.get(f"/{name}").json["total"]
        for name in ("Artist", "Album", "Track", "Playlist", "PlaylistTrack")
    ] == [2, 2, 2, 1, 2]
    assert [company.get(f"/{name}").status_code for name in tables] == [200] * 6
    assert nothing == ["'summary' is not a table with a primary key."]
    assert left_out == [
        "'log' is not a table with a primary key.",
        "'summary' is not a table with a primary key.",
    ]


@pytest.mark.parametrize("writes", [False, True])
def test_a_file_is_opened_to_read_unless_clients_may_write(tmp_path, served, writes):
    url, connections = f"sqlite:///{tmp_path}/shop.db", []
    fill(url, shop_of_records)

    def note(connection, record):
        connections.append(connection)

    sa.event.listen(sa.Engine, "connect", note)

    try:
        served(url, writes=writes)[0].get("/Artist")
    finally:
        sa.event.remove(sa.Engine, "connect", note)

    is_refused = pytest.raises(sqlite3.OperationalError, match="readonly")

    with nullcontext() if writes else is_refused:
        connections[-1].execute("DELETE FROM PlaylistTrack")


@pytest.mark.parametrize(
    ("path", "record"),
    [
        ("Track/1?$select=UnitPrice", {"TrackId": 1, "UnitPrice": "0.99"}),
        ("Album/2?$select=Title&$populate=Artist", {
            "AlbumId": 2,
            "Title": "Balls to the Wall",
            "Artist": {"ArtistId": 2, "Name": "Accept"},
        }),
        ("PlaylistTrack/1,2", {"id": "1,2", "PlaylistId": 1, "TrackId": 2}),
        ("Employee/2?$select=LastName&$populate=ReportsTo_Employee", {
            "EmployeeId": 2,
            "LastName": "Edwards",
            "ReportsTo_Employee": {
                "EmployeeId": 1,
                "LastName": "Adams",
                "ReportsTo": None,
                "HireDate": "2002-08-14T00:00:00.000Z",
            },
        }),
    ],
)  # fmt: skip
def test_a_record_of_the_shop(urls, served, path, record):
    client, _ = served(urls[0])

    assert client.get(f"/{path}").json == record


@pytest.mark.parametrize(
    ("path", "records"),
    [
        ("Artist?Album.Track.UnitPrice[$gt]=1&$select=Name", [
            {"ArtistId": 2, "Name": "Accept"}
        ]),
        ("Track?Album.Artist.Name=AC/DC&$select=Name", [
            {"TrackId": 1, "Name": "Rock"}
        ]),
        ("Playlist?PlaylistTrack.Track.Name=Balls&$select=Name", [
            {"PlaylistId": 1, "Name": "Music"}
        ]),
        ("Track?$group[]=AlbumId&$sum=UnitPrice", [
            {"AlbumId": 1, "$sum": {"UnitPrice": "0.99"}},
            {"AlbumId": 2, "$sum": {"UnitPrice": "1.99"}},
        ]),
    ],
)  # fmt: skip
def test_records_of_the_shop(urls, served, path, records):
    client, _ = served(urls[0])

    assert client.get(f"/{path}").json["data"] == records


@pytest.mark.parametrize(
    ("path", "records"),
    [
        ("categories", [
            {"category_id": 1, "category_name": "Beverages", "picture": "AP8="},
            {"category_id": 2, "category_name": "Produce", "picture": None},
        ]),
        ("Order-Details?product.category.category_name=Produce", [
            {"id": "1,2", "order_id": 1, "product_id": 2, "quantity": 10},
        ]),
        ("orders?payer.company_name[$like]=Bon%25&$select=order_date", [
            {"order_id": 1, "order_date": "1996-07-04"},
        ]),
        ("customers?orders_payer.order_id=1&$select=company_name", [
            {"customer_id": "BONAP", "company_name": "Bon app'"},
        ]),
        ("products?product_name=Tofu&$select=unit_price", [
            {"product_id": 2, "unit_price": 23.25},
        ]),
    ],
)  # fmt: skip
def test_records_of_the_company(urls, served, path, records):
    client, _ = served(urls[1])

    assert client.get(f"/{path}").json["data"] == records


def test_nobody_writes_by_default(urls, served):
    client, _ = served(urls[0])
    record = {"Name": "Eve"}

    answers = [
        client.post("/Artist", json=record),
        client.patch("/Artist/1", json=record),
        client.put("/Artist/1", json=record),
        client.delete("/Artist/1"),
    ]

    assert [answer.status_code for answer in answers] == [405] * 4
    assert client.get("/Artist/1").json["Name"] == "AC/DC"


def test_clients_write_where_they_may(urls, served):
    client, _ = served(urls[0], writes=True)

    made = client.post("/Artist", json={"Name": "Eve"}).json
    path = f"/Artist/{made['ArtistId']}"

    assert client.patch(path, json={"Name": "Adam"}).json["Name"] == "Adam"
    assert client.delete(path).status_code == 200
    # An album refers to it, which stays as it is.
    assert client.delete("/Artist/1").status_code == 409
    assert client.get("/Album/1").json["ArtistId"] == 1
    assert client.post("/Album", json={"Title": "X", "ArtistId": 99}).status_code == 409


def test_a_form_of_another_site_writes_nothing(urls, served):
    client, _ = served(urls[0], writes=True)

    assert client.post("/Artist", data={"Name": "Eve"}).status_code == 400
    assert client.get("/Artist").json["total"] == 2


def test_tables_are_served_as_named(urls, served):
    client, left_out = served(urls[0], tables=["Artist", "summary", "nothing"])

    assert client.get("/Artist").json["total"] == 2
    assert client.get("/Album").status_code == 404
    assert left_out == [
        "'nothing' is not a table with a primary key.",
        "'summary' is not a table with a primary key.",
    ]


def test_no_table_is_an_error_with_the_reasons(urls, served):
    with pytest.raises(ValueError, match="'summary' is not a table with a primary key"):
        served(urls[0], tables=["summary"])


def test_the_explorer_and_the_documents_show_all_services(urls, served):
    client, _ = served(urls[1])

    services = client.get("/_records/services.json").json["services"]
    document = client.get("/_records/openapi.json").json

    assert "Order-Details" in [service["path"] for service in services]
    assert "/Order-Details/{id}" in document["paths"]
    assert client.get("/").location == "/_records/"
    assert client.get("/_records/docs").status_code == 200


def test_documents_have_the_name_of_the_database(served, file):
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE one (id INTEGER PRIMARY KEY)")

    client, _ = served(file)

    title = client.get("/_records/openapi.json").json["info"]["title"]
    assert title == "file with a % and a ?.db"


def test_tables_of_other_schemas_are_served_that_keys_refer_to(served):
    with new_database(url_in("TEST_POSTGRESQL_URL")) as url:
        engine = sa.create_engine(url)

        with engine.begin() as connection:
            for statement in (
                "CREATE SCHEMA hr",
                "CREATE TABLE hr.person (id int PRIMARY KEY, name text)",
                "CREATE TABLE task (id int PRIMARY KEY,"
                " owner_id int REFERENCES hr.person)",
                "INSERT INTO hr.person VALUES (1, 'Ann')",
                "INSERT INTO task VALUES (1, 1)",
            ):
                connection.exec_driver_sql(statement)

        engine.dispose()

        with disposed_engines():
            client, left_out = served(url)
            found = client.get("/task?owner.name=Ann&$populate=owner").json["data"]
            assert client.get("/hr.person/1").json == {"id": 1, "name": "Ann"}

    assert found == [{"id": 1, "owner_id": 1, "owner": {"id": 1, "name": "Ann"}}]
    assert left_out == []


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "file with a % and a ?.db")


def test_columns_that_hold_other_values_are_text(served, file):
    """SQLite stores values of any type in any column."""
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(
            "CREATE TABLE odd (id INTEGER PRIMARY KEY, at DATETIME, price DECIMAL(9,2),"
            " fine DATETIME, _own TEXT, anything);"
            "INSERT INTO odd VALUES (1, '7/4/1996', 'none', '1996-07-04', 'x', x'00')"
        )

    client, left_out = served(file)

    assert client.get("/odd/1").json == {
        "id": 1,
        "at": "7/4/1996",
        "price": "none",
        "fine": "1996-07-04T00:00:00.000Z",
        "anything": "AA==",
    }
    assert left_out == [
        "'odd._own' has no form on the wire.",
        "The type of 'odd.at', as it has other values: it is text.",
        "The type of 'odd.price', as it has other values: it is text.",
    ]


def test_keys_that_refer_to_no_table(served, file):
    """SQLite allows them, and refuses to write such tables."""
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(
            "CREATE TABLE artist (id INTEGER PRIMARY KEY);"
            "CREATE TABLE album (id INTEGER PRIMARY KEY, labelId REFERENCES label);"
        )

    with pytest.raises(ValueError, match="the table 'label', which is not there"):
        served(file)

    client, left_out = served(file, tables=["artist"])

    assert (client.get("/artist").status_code, left_out) == (200, [])


def test_names_that_queries_do_not_take(served, file):
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(
            "CREATE TABLE one (_id INTEGER PRIMARY KEY, [a.b] TEXT);"
            "CREATE TABLE two (_id INTEGER, other INTEGER, PRIMARY KEY (_id, other));"
            "INSERT INTO one VALUES (7, 'x');"
        )

    client, [sentence] = served(file)

    assert client.get("/one/7?a_b=x").json == {"_id": 7, "a_b": "x"}
    assert sentence.startswith("'two': 'two._id' is a part of the identifier")


def test_a_file_that_is_not_there_is_not_made(served, file):
    with pytest.raises(sa.exc.OperationalError, match="unable to open"):
        served(file)

    assert not os.path.exists(file)


@pytest.mark.parametrize(
    ("host", "authorization", "status"),
    [
        ("127.0.0.1:8000", "Bearer right", 200),
        ("localhost", "Bearer right", 200),
        ("127.0.0.1:8000", "Bearer wrong", 401),
        ("127.0.0.1:8000", "", 401),
        # A page of another site, whose name leads to this machine.
        ("evil.example:8000", "Bearer right", 403),
    ],
)
def test_local_server_is_for_those_with_its_token(host, authorization, status):
    statuses = []

    async def answer(scope, receive, send):
        await send({"status": 200})

    async def send(message):
        statuses.append(message.get("status"))

    headers = {"host": host, "authorization": authorization}
    lines = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "headers": lines, "query_string": b""}
    server = LocalServer(answer, 8000, "right")
    asyncio.run(server.load()(scope, None, send))

    assert statuses[0] == status


def test_fields_named_like_secrets_are_no_warning(served, file, caplog):
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE door (id INTEGER PRIMARY KEY, pin_hash TEXT)")

    client, _ = served(str(file))

    assert client.get("/door").json["total"] == 0
    assert "pin_hash" not in caplog.text
