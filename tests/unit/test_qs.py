"""The parser of query strings is held against qs-codec, which ports the JavaScript
package that defines the format, except where

- we keep an empty text that follows a list or a mapping of the same name,
- the JavaScript package leaves a text with a bad percent sequence as it is, as we do,
- the JavaScript package merges lists in lists by index, as we do,
- the JavaScript package counts the items of a list with gaps, as we do, not the gaps,
- the JavaScript package keeps one mapping of indices where a text, or another list,
  meets a list that has become one, as we do,
- we refuse what nests too deep and what has too many parameters.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import permutations
from urllib.parse import unquote

import pytest
import qs_codec
from flask import Flask
from hypothesis import assume, example, given
from hypothesis import strategies as st

from flask_records import BadRequest, FlaskRecords
from flask_records.http.qs import parse

BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
INDEX = re.compile(r"\[([0-9]+)\]")
INDEX_AT_END = re.compile(r"\[[0-9]+\]$")
INDEX_IN_NEW_ITEM = re.compile(r"\[\]\[([0-9]+)\]")
LIST_IN_LIST = re.compile(r"\[[0-9]+\]\[[0-9]+\]")


def repeated(name, count):
    """A query string with a name several times, ``*`` in which is the index."""
    return "&".join(f"{name.replace('*', str(i))}={i}" for i in range(count))


def texts(count):
    return [str(i) for i in range(count)]


def by_index(count):
    return {str(i): str(i) for i in range(count)}


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("", {}),
        ("a=1", {"a": "1"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("=1", {}),
        ("&&a=1&", {"a": "1"}),
        ("a=b=c", {"a": "b=c"}),
        ("b=1&a=2&c=3", {"b": "1", "a": "2", "c": "3"}),
        ("?a=1", {"?a": "1"}),
        ("$a=1", {"$a": "1"}),
        ("constructor=1", {"constructor": "1"}),
        ("__proto__[x]=1", {"__proto__": {"x": "1"}}),
        ("a[__proto__]=1", {"a": {"__proto__": "1"}}),
        ("toString[x]=1", {"toString": {"x": "1"}}),
        ("a[length]=5", {"a": {"length": "5"}}),
        ("[a]=1", {"a": "1"}),
        ("[a][b]=1&a[c]=2", {"a": {"b": "1", "c": "2"}}),
        ("[]=1", {"0": "1"}),
    ],
)
def test_names(text, parsed):
    assert parse(text) == parsed


def test_indices_are_in_order():
    assert list(parse("a[1]=x&a[0]=y&a[b]=z")["a"]) == ["0", "1", "b"]
    assert list(parse("a[1]=x&a[0]=y&a[]=z", array_limit=2)["a"]) == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=1.50", "1.50"),
        ("a=true", "true"),
        ("a=null", "null"),
        ("a=undefined", "undefined"),
        ("a=1+2", "1 2"),
        ("a=1%2B2", "1+2"),
        ("a=1%262", "1&2"),
        ("a=x;y", "x;y"),
        ("a=x,y", "x,y"),
        ("a=%E3%81%82", "あ"),
        ("a=あ", "あ"),
        ("a=%00", "\0"),
        ("a=%ZZ", "%ZZ"),
        ("a=%", "%"),
        ("a=%FF", "%FF"),
        ("a=%ED%A0%80", "%ED%A0%80"),
        ("a=%41%ZZ+b", "%41%ZZ b"),
        ("a=%255B", "%5B"),
        ("a=%5Bb%5D", "[b]"),
        ("a=" + "x" * 20_000, "x" * 20_000),
    ],
)
def test_values_are_text(text, value):
    assert parse(text) == {"a": value}


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("a=1&a=2", ["1", "2"]),
        ("a[]=1", ["1"]),
        ("a[]=1&a[]=2", ["1", "2"]),
        ("a[0]=1&a[1]=2", ["1", "2"]),
        ("a%5B0%5D=1&a%5b1%5d=2", ["1", "2"]),
        ("a[1]=x&a[0]=y", ["y", "x"]),
        ("a[0]=x&a[2]=y", ["x", "y"]),
        ("a[5]=x", ["x"]),
        ("a[19]=x", ["x"]),
        ("a[0]=1&a=2", ["1", "2"]),
        ("a=1&a[]=2", ["1", "2"]),
        ("a[0]=x&a[0]=y", [["x", "y"]]),
        ("a[19]=x&a=y", ["x", "y"]),
        ("a=x&a[18]=y", ["x", "y"]),
        ("a[0][b]=1&a[1][b]=2", [{"b": "1"}, {"b": "2"}]),
        ("a[0][b]=1&a[0][c]=2", [{"b": "1", "c": "2"}]),
        ("a[][b]=1&a[][b]=2", [{"b": ["1", "2"]}]),
        ("a[0][0]=1&a[0][1]=2", [["1", "2"]]),
        ("a[b]=1&a=2", [{"b": "1"}, "2"]),
        ("a=2&a[b]=1", ["2", {"b": "1"}]),
        ("a[0]=1&a=", ["1", ""]),
        ("a[b]=1&a=", [{"b": "1"}, ""]),
        ("a[]=&a[]=", ["", ""]),
    ],
)
def test_lists(text, items):
    assert parse(text) == {"a": items}


@pytest.mark.parametrize(
    ("text", "mapping"),
    [
        ("a[b]=1", {"b": "1"}),
        ("a[b]=1&a[c]=2", {"b": "1", "c": "2"}),
        ("a[b][c]=1&a[b][d]=2", {"b": {"c": "1", "d": "2"}}),
        ("a[b]=1&a[b]=2", {"b": ["1", "2"]}),
        ("a[b][]=1&a[b][]=2", {"b": ["1", "2"]}),
        ("a[]=1&a[b]=2", {"0": "1", "b": "2"}),
        ("a[b]=2&a[0]=1", {"b": "2", "0": "1"}),
        ("a[-1]=x", {"-1": "x"}),
        ("a[01]=x", {"01": "x"}),
        ("a[1.5]=x", {"1.5": "x"}),
        ("a[٣]=x", {"٣": "x"}),
        ("a[=1", {"[": "1"}),
        ("a[b=1", {"[b": "1"}),
        ("a[[b]]=1", {"[b]": "1"}),
        ("a[b]c=1", {"b": "1"}),
        ("a[b+c]=1", {"b c": "1"}),
        ("a[20]=x", {"20": "x"}),
        ("a[0]=x&a[30]=y", {"0": "x", "30": "y"}),
        ("a=x&a[20]=y", {"0": "x", "21": "y"}),
        ("a[20]=x&a=y", {"20": "x", "21": "y"}),
        ("a=x&a[19]=y", {"0": "x", "20": "y"}),
        ("a[b]=x&a[20]=y&a=z", {"b": "x", "20": "y", "21": "z"}),
        ("a[99999999999999999999999]=x", {"99999999999999999999999": "x"}),
    ],
)
def test_mappings(text, mapping):
    assert parse(text) == {"a": mapping}


@pytest.mark.parametrize(
    "text", ["a.b=1", "a;b=1", "a,b=1", "a%255Bb%255D=1", "a]=1", "%E3%81%82=1"]
)
def test_names_without_brackets_are_not_nested(text):
    [value] = parse(text).values()

    assert value == "1"


@pytest.mark.parametrize("name", ["a", "a[]", "a[*]"])
def test_twenty_items_are_a_list(name):
    assert parse(repeated(name, 20)) == {"a": texts(20)}


@pytest.mark.parametrize("name", ["a", "a[]", "a[*]"])
def test_more_than_twenty_items_are_a_mapping_of_indices(name):
    assert parse(repeated(name, 21)) == {"a": by_index(21)}


@pytest.mark.parametrize("name", ["a", "a[]", "a[*]"])
def test_limit_of_lists_can_be_raised(name):
    assert parse(repeated(name, 200), array_limit=200) == {"a": texts(200)}
    assert parse(repeated(name, 201), array_limit=200) == {"a": by_index(201)}


def test_nested_list_that_is_too_long_becomes_a_mapping():
    assert parse(repeated("$or[0][a][$in][*]", 21)) == {
        "$or": [{"a": {"$in": by_index(21)}}]
    }


def test_twenty_levels_are_parsed():
    parsed = parse("a" + "[b]" * 20 + "=1")

    assert str(parsed) == "{'a': " + "{'b': " * 20 + "'1'" + "}" * 21


@pytest.mark.parametrize("level", ["[b]", "[]", "[0]"])
@pytest.mark.parametrize("count", [21, 30_000])
def test_more_than_twenty_levels_are_refused(level, count):
    with pytest.raises(BadRequest, match="^A query nests at most 20 levels deep.$"):
        parse("a" + level * count + "=1")


def test_thousand_parameters_are_parsed():
    assert len(parse(repeated("p*", 1000))) == 1000


def test_more_than_thousand_parameters_are_refused():
    with pytest.raises(BadRequest, match="^A query string has at most 1000 parameters"):
        parse(repeated("p*", 1001))


FIELDS = st.sampled_from(["a", "a", "a", "b", "$or", "x y", "é", "a.b"])
KEYS = ["[]", "[b]", "[$in]", "[01]", "[-1]", "[1.5]", "[é]", "[[b]]", "[+]", "["]
BRACKETS = {
    limit: st.lists(
        st.sampled_from(KEYS + [f"[{i}]" for i in (0, 1, 2, limit - 1, limit)]),
        max_size=3,
    ).map("".join)
    for limit in (5, 20)
}
VALUES = st.sampled_from(
    ["1", "2", "x+y", "%20", "%C3%A9", "é", "=", "]=", "%", "%FF", "%41%Z", "[]", ""]
)
LONG_LISTS = st.sampled_from(["[*]", "[b][*]", "[*][b]", "", "[]", "[b][]"])


@st.composite
def cases(draw):
    """Names, brackets and values of a query string, and the limit of its lists."""
    limit = draw(st.sampled_from(list(BRACKETS)))
    parameter = st.tuples(FIELDS, BRACKETS[limit], VALUES)
    count = draw(st.sampled_from([0, 0, limit - 1, limit, limit + 1]))
    name = draw(LONG_LISTS) if count else ""
    items = [("a", name.replace("*", str(i)), str(i)) for i in range(count)]
    return items + draw(st.lists(parameter, min_size=1, max_size=4)), limit


def differs_on_purpose(parameters, limit):
    """Return whether a difference that the docstring of the module lists applies."""
    places = [name + brackets.replace("[]", "[0]") for name, brackets, _ in parameters]
    pairs = permutations(zip(parameters, places, strict=True), 2)
    return (
        has_list_with_gaps(places, limit)
        or any(has_two_names(place, places) for place in places)
        or any(has_late_index(brackets, limit) for _, brackets, _ in parameters)
        or any(differ_together(*one, *other, limit) for one, other in pairs)
    )


def differ_together(parameter, place, other_parameter, other_place, limit):
    name, brackets, value = parameter
    other_name, other_brackets, _ = other_parameter
    is_list_in_list = LIST_IN_LIST.search(place) and name == other_name
    is_repeated = place == other_place and INDEX_AT_END.search(brackets)
    return (
        is_list_in_list or is_repeated or is_put_over(place, value, other_place, limit)
    )


def has_late_index(brackets, limit):
    """Return whether a new item begins with an index that is too great for a list."""
    return any(int(index) >= limit for index in INDEX_IN_NEW_ITEM.findall(brackets))


def has_list_with_gaps(places, limit):
    """Return whether a list has so many items that its gaps may count."""
    indices = defaultdict(set)

    for place in places:
        for match in INDEX.finditer(place):
            if int(match[1]) < limit:
                indices[place[: match.start()]].add(int(match[1]))

    return any(
        len(known) <= max(known)
        and max(known) + sum(place.startswith(name) for place in places) > limit
        for name, known in indices.items()
    )


def has_two_names(place, places):
    """Return whether a text turns a mapping into the first item of a list, which then
    has a name of its own: a difference for one name is one for the other.
    """
    below = [other[len(place) :] for other in places if other.startswith(f"{place}[")]
    return {INDEX.match(step) is None for step in below} == {True, False}


def is_put_over(place, value, other_place, limit):
    """Return whether a text is put in the place of a list or mapping, and it is empty
    or the list has become a mapping.
    """
    below = other_place.removeprefix(place)
    index = INDEX.match(below)
    return (
        other_place.startswith(place)
        and below.startswith("[")
        and (value == "" or (index is not None and int(index[1]) >= limit))
    )


def decode_all_or_nothing(text, charset=None, kind=None):
    text = text.replace("+", " ")

    try:
        return text if BAD_PERCENT.search(text) else unquote(text, errors="strict")
    except UnicodeDecodeError:
        return text


@given(cases())
def test_parses_as_qs_does(case):
    parameters, limit = case
    assume(not differs_on_purpose(parameters, limit))
    text = "&".join(
        f"{field}{brackets}={value}" for field, brackets, value in parameters
    )
    options = qs_codec.DecodeOptions(
        depth=20, list_limit=limit, decoder=decode_all_or_nothing
    )

    assert parse(text, limit) == qs_codec.decode(text, options)


def types_in(value):
    """The types of everything in a structure."""
    inside = []

    if isinstance(value, dict):
        inside = [*value, *value.values()]
    elif isinstance(value, list):
        inside = value

    return {type(value)}.union(*map(types_in, inside))


@given(st.text() | st.text("a0$[]=&%5BD+"))
@example("[" * 50_000)
@example("a" + "[" * 25_000 + "]" * 25_000)
@example("\ud800[\ud800]=\ud800%")
def test_any_text_is_parsed_or_refused(text):
    try:
        parsed = parse(text)
    except BadRequest:
        parsed = {}

    assert type(parsed) is dict
    assert types_in(parsed) <= {str, list, dict}


NINES, AFTER = "9" * 900, "1" + "0" * 900


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("a[999999999]=0&a=1&[a]=2", ["999999999", "1000000000", "1000000001"]),
        (f"a[25]=0&a[{NINES}]=1&a=2", ["25", NINES, AFTER]),
        ("a[25]=0&a[%D9%A3%D9%A3]=1&a=2", ["25", "٣٣", "26"]),
    ],
)
def test_item_after_an_index_of_many_digits_or_of_another_script(text, keys):
    assert parse(text) == {"a": dict(zip(keys, "012", strict=True))}


def test_length_of_names_is_a_setting():
    app = Flask("tests")
    app.config["RECORDS_BOUNDS"] = {"name_length": 3}
    FlaskRecords().init_app(app)

    with app.app_context():
        assert parse("abc=1") == {"abc": "1"}

        with pytest.raises(BadRequest, match="^A name has more than 3 characters.$"):
            parse("a[b]=1")
