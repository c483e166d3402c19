"""A hidden field is like one that does not exist."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from .strategies import good_queries
from .strategies import mostly
from .strategies import odd_parameters
from .strategies import odd_values
from .strategies import OPERATORS
from .strategies import Request
from .strategies import requests

shapes = st.builds(
    "{}&{}={}&{}".format,
    good_queries,
    st.sampled_from(
        "password $sort[password] $select[] $or[0][password] $not[password]".split()
        + [f"password[{name}]" for name in [*OPERATORS, "", "0", "$foo", "x"]]
        + [f"$and[0][$or][1][password][{name}]" for name in OPERATORS]
        + ["$populate", "parent[password]", "$populate[password]"]
    ),
    mostly(st.sampled_from("i hidden-1 1 -1 password %25n%25".split()), odd_values),
    mostly(good_queries, odd_parameters),
)


paths = st.sampled_from(["/things", "/plain", "/things/1", "/things/99"])
verbs = st.sampled_from(["GET", "PATCH", "DELETE"])


@given(request=st.builds(Request, verbs, paths, shapes))
def test_hidden_field_is_like_a_field_that_does_not_exist(world, request):
    query = request.query.replace("password", "passwerd")

    world.restore()
    hidden = world.send(request)
    world.restore()
    unknown = world.send(replace(request, query=query))

    data = hidden.data.replace(b"password", b"passwerd")
    assert replace(hidden, data=data) == unknown


either = requests("things", "plain")
asking = st.builds(lambda request, query: replace(request, query=query), either, shapes)


@given(request=either | asking)
def test_hidden_values_make_no_difference(world, request):
    answers = []

    for secret in ("hidden", "topsecret"):
        world.restore(secret)
        answer = world.send(request)
        # Servers give no identifier twice.
        ids = rb'"id":\d+' if request.verb == "POST" else rb"^$"
        answers.append(replace(answer, data=re.sub(ids, b"", answer.data)))

    assert answers[0] == answers[1]
