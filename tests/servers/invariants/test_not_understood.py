"""A write on many with a part that is not understood changes nothing."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from .strategies import BAD_PAGING
from .strategies import BAD_PARAMETERS
from .strategies import good_queries
from .strategies import Request


def test_write_on_many_with_a_part_that_is_not_understood_changes_nothing(world):
    def check(request):
        before = world.rows()

        answer = world.send(request)

        assert (answer.status, world.rows()) == (400, before)

    world.restore()

    for part in BAD_PARAMETERS + BAD_PAGING:
        check(Request("PATCH", "/things", part))

    bad = st.sampled_from(BAD_PARAMETERS + BAD_PAGING) | st.builds(
        lambda group, part: re.sub(r"^[^[=]*", rf"{group}[9][\g<0>]", part),
        st.sampled_from(["$or", "$and", "$nor"]),
        st.sampled_from(BAD_PARAMETERS),
    )
    both = st.builds("{}&{}".format, good_queries, bad)
    both |= st.builds("{}&{}".format, bad, good_queries)
    paths = st.sampled_from(["/things", "/plain", "/mine"])
    verbs = st.sampled_from(["PATCH", "DELETE"])
    world.try_examples(500, st.builds(Request, verbs, paths, both), check)


def test_value_without_a_name_is_not_understood(world):
    """To drop it would make a write on some a write on all."""
    world.restore()

    answer = world.send(Request("PATCH", "/things", "=1"))

    assert answer.status == 400
