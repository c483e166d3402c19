"""Packets of Engine.IO, and the bodies in which clients that poll send them."""

from __future__ import annotations

import pytest
from engineio.packet import MESSAGE
from engineio.packet import Packet
from engineio.packet import PING
from hypothesis import given
from hypothesis import strategies as st

from flask_records.realtime import payloads
from flask_records.realtime.packets import InvalidPacket

FORMATS = {
    "separator": (payloads.split_by_separator, payloads.join_by_separator),
    "length": (payloads.split_by_length, payloads.join_by_length),
}

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x1e"))


@pytest.mark.parametrize("format", FORMATS)
@given(texts=st.lists(TEXT, min_size=1))
def test_bodies_are_read_as_they_are_written(format, texts):
    split, join = FORMATS[format]
    body = payloads.encode([Packet(MESSAGE, text) for text in texts], join)

    packets = payloads.decode(body, split)

    assert [(pkt.packet_type, pkt.data) for pkt in packets] == [
        (MESSAGE, text) for text in texts
    ]


@pytest.mark.parametrize("format", FORMATS)
def test_body_may_have_thousands_of_packets(format):
    split, join = FORMATS[format]
    body = payloads.encode([Packet(MESSAGE, str(n)) for n in range(5000)], join)

    assert [pkt.data for pkt in payloads.decode(body, split)][-1] == "4999"


@pytest.mark.parametrize(
    ("body", "packets"),
    [
        ("2:40", [(MESSAGE, "0")]),
        ("1:26:4hello3:4€!", [(PING, ""), (MESSAGE, "hello"), (MESSAGE, "€!")]),
        ("3:4\U0001f6001:4", [(MESSAGE, "\U0001f600"), (MESSAGE, "")]),
    ],
)
def test_lengths_count_characters_as_javascript_does(body, packets):
    read = payloads.decode(body.encode(), payloads.split_by_length)

    assert [(pkt.packet_type, pkt.data) for pkt in read] == packets
    assert payloads.encode(read, payloads.join_by_length).decode() == body


@pytest.mark.parametrize(
    "body",
    [
        "", "4", "2:4", "2", ":", ":40", "-1:4", "x:40", "²:40", "2:404", "0:",
        "2:4040", "99999999999:4", "2:4\U0001f600", "2:\U0001f600", "2:b4", "1:9",
        "3:40",
    ],
)  # fmt: skip
def test_lengths_that_do_not_match_are_refused(body):
    with pytest.raises(InvalidPacket):
        payloads.decode(body.encode(), payloads.split_by_length)


@pytest.mark.parametrize("body", ["", "x", "7", "4\x1e", "\x1e4", "²", "bAAEC"])
def test_packets_without_a_type_are_refused(body):
    with pytest.raises(InvalidPacket):
        payloads.decode(body.encode(), payloads.split_by_separator)


@pytest.mark.parametrize("split", [split for split, _ in FORMATS.values()])
def test_body_that_is_not_text_is_refused(split):
    with pytest.raises(InvalidPacket, match="UTF-8"):
        payloads.decode(b"4\xff", split)
