"""No request breaks the server, or reaches records outside of its query."""

import json
import re
from urllib.parse import unquote_to_bytes

from hypothesis import given

from .strategies import good_queries, mostly, OTHERS, Request, requests

INSIDE = re.compile(
    rb"Traceback|sqlalchemy|sqlite|psycopg|pymysql|site-packages|\.py\b|hidden-"
    rb"|SELECT |INSERT INTO|UPDATE thing|DELETE FROM|\[SQL|\bthing\b"
)


def check_answer(answer, *sent):
    """Check an answer to any request.

    :param sent: The parts of the request, which the answer may repeat.
    """
    request = unquote_to_bytes(b" ".join(sent))
    assert answer.status < 500
    assert {
        each for each in INSIDE.findall(answer.data) if each not in request
    } == set()

    if answer.status < 400:
        assert b'"password":' not in answer.data
    elif answer.content_type == "application/json" and answer.data:
        body = json.loads(answer.data)
        parts = {"name", "message", "code", "className", "errors"}
        assert (body.keys() - {"data"}, body["code"]) == (parts, answer.status)


@given(request=requests("things", "plain", "mine"))
def test_no_request_breaks_the_server_or_shows_its_inside(world, request):
    sent = request.path.encode(), request.query.encode(), request.body
    world.restore()

    check_answer(world.send(request), *sent)


populating = good_queries.map("$populate[]=parent&$populate[]=children&{}".format)
populated = populating.map(lambda query: Request("GET", "/mine", query))


@given(request=mostly(requests("mine"), populated))
def test_no_request_reads_or_writes_outside_of_the_query(world, request):
    world.restore()
    before = [row for row in world.rows() if row.owner_id == 2]

    answer = world.send(request)

    is_shown = request.verb != "HEAD" and answer.status in (200, 201)
    shown = list(records_in(json.loads(answer.data))) if is_shown else []
    assert [row for row in world.rows() if row.id in OTHERS] == before
    assert [each for each in shown if each.get("id") in OTHERS] == []
    assert [each for each in shown if each.get("owner_id") == 2] == []


def records_in(value):
    """Yield the records of an answer, those that are populated included."""
    if isinstance(value, dict):
        yield value

        # A document may be anything.
        value = [part for name, part in value.items() if name != "document"]

    for part in value if isinstance(value, list) else ():
        yield from records_in(part)
