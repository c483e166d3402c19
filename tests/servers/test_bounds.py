"""Queries of clients that fill no memory."""

import http.client

import pytest

from ..bounds import worker


def shapes(count, size):
    """Query strings of so many conditions, each of another shape."""
    names = ("$gt", "$lt", "$gte", "$lte", "$ne", "$eq")

    for number in range(count):
        terms = []

        for place in range(size):
            number, rest = divmod(number, len(names))
            terms.append(f"$or[{place}][rank][{names[rest]}]={place}")

        yield "&".join(terms)


def get_all(host, queries):
    connection = http.client.HTTPConnection(host, timeout=30)
    statuses = set()

    for query in queries:
        connection.request("GET", f"/messages?{query}")
        response = connection.getresponse()
        response.read()
        statuses.add(response.status)

    connection.close()
    return statuses


@pytest.mark.parametrize(("size", "growth"), [(50, 20), (39, 130)])
def test_ever_new_queries_keep_little_memory(tmp_path, size, growth):
    with worker(tmp_path) as gunicorn:
        get_all(gunicorn.host, shapes(5, size))
        before = gunicorn.memory
        statuses = get_all(gunicorn.host, shapes(2000, size))
        grown = gunicorn.memory - before

    assert statuses == {200}
    assert grown < growth
