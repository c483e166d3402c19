"""Databases that applications find: their tables, with a few records of each."""

import datetime as dt
from decimal import Decimal

import sqlalchemy as sa
from sqlalchemy import Column, ForeignKey, Table


def shop_of_records(metadata):
    """Artists, albums, playlists with their tracks, and employees who report to others,
    in the manner of Chinook.
    """
    key = {"primary_key": True}
    artist = Table(
        "Artist",
        metadata,
        Column("ArtistId", sa.Integer, **key),
        Column("Name", sa.String(120)),
    )
    album = Table(
        "Album",
        metadata,
        Column("AlbumId", sa.Integer, **key),
        Column("Title", sa.String(160), nullable=False),
        Column("ArtistId", ForeignKey("Artist.ArtistId"), nullable=False),
    )
    track = Table(
        "Track",
        metadata,
        Column("TrackId", sa.Integer, **key),
        Column("Name", sa.String(200), nullable=False),
        Column("AlbumId", ForeignKey("Album.AlbumId")),
        Column("UnitPrice", sa.Numeric(10, 2), nullable=False),
    )
    playlist = Table(
        "Playlist",
        metadata,
        Column("PlaylistId", sa.Integer, **key),
        Column("Name", sa.String(120)),
    )
    playlist_track = Table(
        "PlaylistTrack",
        metadata,
        Column("PlaylistId", ForeignKey("Playlist.PlaylistId"), **key),
        Column("TrackId", ForeignKey("Track.TrackId"), **key),
    )
    employee = Table(
        "Employee",
        metadata,
        Column("EmployeeId", sa.Integer, **key),
        Column("LastName", sa.String(20), nullable=False),
        Column("ReportsTo", ForeignKey("Employee.EmployeeId")),
        Column("HireDate", sa.DateTime),
    )
    hired = dt.datetime(2002, 8, 14)
    return [
        (artist, [(1, "AC/DC"), (2, "Accept")]),
        (album, [(1, "For Those About To Rock", 1), (2, "Balls to the Wall", 2)]),
        (track, [(1, "Rock", 1, Decimal("0.99")), (2, "Balls", 2, Decimal("1.99"))]),
        (playlist, [(1, "Music")]),
        (playlist_track, [(1, 1), (1, 2)]),
        (employee, [(1, "Adams", None, hired), (2, "Edwards", 1, hired)]),
    ]


def trading_company(metadata):
    """Customers with keys of text, orders with lines, pictures, and names with a space,
    in the manner of Northwind. One table has no primary key.
    """
    key = {"primary_key": True}
    customers = Table(
        "customers",
        metadata,
        Column("customer_id", sa.String(5), **key),
        Column("company_name", sa.String(40), nullable=False),
    )
    categories = Table(
        "categories",
        metadata,
        Column("category_id", sa.SmallInteger, **key, autoincrement=False),
        Column("category_name", sa.String(15), nullable=False),
        Column("picture", sa.LargeBinary),
    )
    products = Table(
        "products",
        metadata,
        Column("product_id", sa.Integer, **key),
        Column("product_name", sa.String(40), nullable=False),
        Column("category_id", ForeignKey("categories.category_id")),
        Column("unit_price", sa.Float),
        Column("discontinued", sa.Boolean, nullable=False),
    )
    orders = Table(
        "orders",
        metadata,
        Column("order_id", sa.Integer, **key),
        Column("customer_id", ForeignKey("customers.customer_id")),
        Column("payer_id", ForeignKey("customers.customer_id")),
        Column("order_date", sa.Date),
    )
    details = Table(
        "Order Details",
        metadata,
        Column("order_id", ForeignKey("orders.order_id"), **key),
        Column("product_id", ForeignKey("products.product_id"), **key),
        Column("quantity", sa.SmallInteger, nullable=False),
    )
    log = Table("log", metadata, Column("text", sa.String(80)))
    docs = Table("docs", metadata, Column("id", sa.Integer, **key))
    return [
        (customers, [("ALFKI", "Alfreds"), ("BONAP", "Bon app'")]),
        (categories, [(1, "Beverages", b"\x00\xff"), (2, "Produce", None)]),
        (products, [(1, "Chai", 1, 18.0, False), (2, "Tofu", 2, 23.25, True)]),
        (
            orders,
            [
                (1, "ALFKI", "BONAP", dt.date(1996, 7, 4)),
                (2, "BONAP", None, dt.date(1996, 8, 1)),
            ],
        ),
        (details, [(1, 1, 12), (1, 2, 10), (2, 1, 5)]),
        (log, [("started",)]),
        (docs, [(1,)]),
    ]


def fill(url, tables_of):
    """Make the tables of a database, with their records, and a view."""
    engine, metadata = sa.create_engine(url), sa.MetaData()

    with engine.begin() as connection:
        filled = tables_of(metadata)
        metadata.create_all(connection)
        quote = connection.dialect.identifier_preparer.quote
        first = quote(filled[0][0].name)
        connection.exec_driver_sql(f"CREATE VIEW summary AS SELECT * FROM {first}")

        for table, rows in filled:
            names = table.columns.keys()
            records = [dict(zip(names, row, strict=True)) for row in rows]
            counted = table.autoincrement_column

            for record in records if counted is not None else ():
                del record[counted.name]

            connection.execute(table.insert(), records)

    engine.dispose()
