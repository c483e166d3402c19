"""Connections to servers in another time zone than UTC."""

ZONES = {
    "psycopg": "SET SESSION TIME ZONE 'Asia/Tokyo'",
    "pymysql": "SET time_zone = '+09:00'",
}


def go_far_east(connection, *rest):
    """Let a connection be in Tokyo, as a listener to ``checkout`` of an engine."""
    statement = ZONES.get(type(connection).__module__.partition(".")[0])

    if statement:
        connection.cursor().execute(statement)
