"""Packets of Engine.IO, the bodies that contain them, and messages of Socket.IO."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_records import BadRequest
from flask_records.realtime.protocol import (
    ClientMessage,
    decode,
    Legacy,
    MAX_PACKETS,
    Modern,
    Packet,
)

LIMIT = 1_000_000
BOTH = [Modern, Legacy]
HOLE = {"_placeholder": True, "num": 0}
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x1e"))


@pytest.mark.parametrize("protocol", BOTH)
@given(texts=st.lists(TEXT, min_size=1))
def test_bodies_are_read_as_they_are_written(protocol, texts):
    body = protocol.join(Packet(f"4{text}") for text in texts)

    assert decode(body, protocol, LIMIT) == [("4", text) for text in texts]


@pytest.mark.parametrize("protocol", BOTH)
def test_packets_of_a_body_are_so_many_at_most(protocol):
    packets = [Packet("42[]")] * MAX_PACKETS

    assert decode(protocol.join(packets), protocol, LIMIT)

    with pytest.raises(BadRequest, match="too many packets"):
        decode(protocol.join([*packets, Packet("2")]), protocol, LIMIT)


@pytest.mark.parametrize("protocol", BOTH)
def test_packet_of_a_body_has_the_limit_of_messages(protocol):
    body = protocol.join([Packet("4" + "€" * 333), Packet("4" + "€" * 334)])

    assert decode(protocol.join([Packet("4" + "€" * 333)]), protocol, 1000)

    with pytest.raises(BadRequest, match="must not exceed 1000 bytes"):
        decode(body, protocol, 1000)


@pytest.mark.parametrize(
    ("body", "packets"),
    [
        ("2:40", [("4", "0")]),
        ("1:26:4hello3:4€!", [("2", ""), ("4", "hello"), ("4", "€!")]),
        ("3:4\U0001f6001:4", [("4", "\U0001f600"), ("4", "")]),
    ],
)
def test_lengths_count_characters_as_javascript_does(body, packets):
    read = decode(body.encode(), Legacy, LIMIT)

    assert read == packets
    assert Legacy.join(Packet("".join(each)) for each in read).decode() == body


@pytest.mark.parametrize(
    "body",
    [
        "", "4", "2:4", "2", ":", ":40", "-1:4", "x:40", "²:40", "2:404", "0:",
        "2:4040", "99999999999:4", "2:4\U0001f600", "2:\U0001f600", "1:9",
        "3:40",
    ],
)  # fmt: skip
def test_lengths_that_do_not_match_are_refused(body):
    with pytest.raises(BadRequest):
        decode(body.encode(), Legacy, LIMIT)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", ("0", "/", None, None)),
        ('0{"token":"x"}', ("0", "/", None, {"token": "x"})),
        ("0/admin", ("0", "/admin", None, None)),
        ("0/admin?a=1,{}", ("0", "/admin", None, {})),
        ("1", ("1", "/", None, None)),
        ('2["find"]', ("2", "/", None, ["find"])),
        ('217["find","notes"]', ("2", "/", 17, ["find", "notes"])),
        ('2/admin,17["find"]', ("2", "/admin", 17, ["find"])),
        ('21["a",NaN,-Infinity]', ("2", "/", 1, ["a", None, None])),
        ("35[1]", ("3", "/", 5, [1])),
        ('51-7["a",{"_placeholder":true,"num":0}]', ("5", "/", 7, ["a", HOLE])),
    ],
)
def test_messages_are_read(text, message):
    assert ClientMessage.parse(text) == message


@pytest.mark.parametrize(
    "text",
    [
        "", "4", '44{"message":"x"}', '61-["a"]', '5["a"]', '51-["connect"]', "x",
        "2", "2[]", "2[1]", '2{"a":1}', '2["connect"]', '2["disconnecting"]', "2[",
        '21x["a"]', f'2{"1" * 101}["a"]', "2" + "[" * 100_000,
    ],
)  # fmt: skip
def test_messages_that_clients_may_not_send_are_refused(text):
    with pytest.raises(BadRequest):
        ClientMessage.parse(text)
