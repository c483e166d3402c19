"""No bytes of a client are an error of the server."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

TEXT = st.text(max_size=7) | st.sampled_from(["local", "jwt", "a.b.c", "\ud800", "\0"])

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
    ),
    max_leaves=5,
)

BODIES = st.fixed_dictionaries(
    {"strategy": st.sampled_from(["local", "jwt", "api-key"]) | VALUES},
    optional={
        "email": st.just("ann@example.com") | VALUES,
        "password": VALUES,
        "accessToken": VALUES,
        "key": VALUES,
    },
)


@settings(deadline=None)
@given(BODIES | VALUES)
def test_no_body_of_a_login_is_an_error_of_the_server(client, body):
    response = client.post("/authentication", json=body)

    assert response.status_code in (400, 401)


@settings(deadline=None)
@given(
    st.sampled_from(["Bearer ", "JWT ", "Basic ", ""]),
    st.text(st.characters(max_codepoint=255, blacklist_characters="\r\n"), max_size=40),
    st.sampled_from(["GET /secrets", "GET /vault", "DELETE /authentication"]),
)
def test_no_header_is_an_error_of_the_server(client, scheme, value, call):
    verb, path = call.split()
    headers = {"Authorization": scheme + value, "X-Api-Key": value}

    response = client.open(path, method=verb, headers=headers)

    assert response.status_code == 401
