"""A write on many with a part that is not understood changes nothing."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .strategies import BAD_PAGING, BAD_PARAMETERS, good_queries, Request

bad = st.sampled_from(BAD_PARAMETERS + BAD_PAGING) | st.builds(
    lambda group, part: re.sub(r"^[^[=]*", rf"{group}[9][\g<0>]", part),
    st.sampled_from(["$or", "$and", "$nor"]),
    st.sampled_from(BAD_PARAMETERS),
)
queries = st.builds("{}&{}".format, good_queries, bad)
queries |= st.builds("{}&{}".format, bad, good_queries)
paths = st.sampled_from(["/things", "/plain", "/mine"])
verbs = st.sampled_from(["PATCH", "DELETE"])


@given(request=st.builds(Request, verbs, paths, queries))
def test_write_of_many_with_a_part_that_is_not_understood_changes_nothing(
    world, request
):
    check(world, request)


# To drop a value without a name would make a write of some a write of all.
@pytest.mark.parametrize("part", [*BAD_PARAMETERS, *BAD_PAGING, "=1"])
def test_part_that_is_not_understood_is_refused(world, part):
    check(world, Request("PATCH", "/things", part))


def check(world, request):
    world.restore()
    before = world.rows()

    answer = world.send(request)

    assert (answer.status, world.rows()) == (400, before)
