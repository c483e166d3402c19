"""The parser of query strings is held against qs-codec, which ports the JavaScript
package that defines the format.
"""

import pytest
import qs_codec
from hypothesis import example, given
from hypothesis import strategies as st

from flask_records import BadRequest
from flask_records.http.qs import parse


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
        ("a=x&a[18]=y", ["x", "y"]),
        ("a[0][b]=1&a[1][b]=2", [{"b": "1"}, {"b": "2"}]),
        ("a[0][b]=1&a[0][c]=2", [{"b": "1", "c": "2"}]),
        ("a[][b]=1&a[][b]=2", [{"b": ["1", "2"]}]),
        ("a[0][0]=1&a[0][1]=2", [["1", "2"]]),
        ("a[0]=1&a=", ["1", ""]),
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
        ("a[b+c]=1", {"b c": "1"}),
        ("a[20]=x", {"20": "x"}),
        ("a[0]=x&a[30]=y", {"0": "x", "30": "y"}),
        ("a=x&a[20]=y", {"0": "x", "20": "y"}),
        ("a[20]=x&a=y", {"20": "x", "21": "y"}),
        ("a=2&a[b]=1", {"0": "2", "b": "1"}),
        ("a[b]=1&a=2", {"b": "1", "0": "2"}),
        ("a[b]=x&a[20]=y&a=z", {"b": "x", "20": "y", "21": "z"}),
        ("a[99999999999999999999999]=x", {"99999999999999999999999": "x"}),
    ],
)
def test_mappings(text, mapping):
    assert parse(text) == {"a": mapping}


@pytest.mark.parametrize(
    "text",
    [
        *("a.b=1", "a;b=1", "a,b=1", "a%255Bb%255D=1", "%E3%81%82=1"),
        *("a]=1", "a[=1", "a[b=1", "a[[b]]=1", "a[b]c=1"),
    ],
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


def test_twenty_levels_are_parsed():
    parsed = parse("a" + "[b]" * 20 + "=1")

    assert str(parsed) == "{'a': " + "{'b': " * 20 + "'1'" + "}" * 21


@pytest.mark.parametrize("level", ["[b]", "[]", "[0]"])
@pytest.mark.parametrize("count", [21, 300])
def test_more_than_twenty_levels_are_refused(level, count):
    with pytest.raises(BadRequest, match="^A query nests at most 20 levels deep.$"):
        parse("a" + level * count + "=1")


@pytest.mark.parametrize("text", ["=1", "a=1&=2", "="])
def test_value_without_a_name_is_refused(text):
    with pytest.raises(BadRequest, match="^A value has no name.$"):
        parse(text)


def test_thousand_parameters_are_parsed():
    assert len(parse(repeated("p*", 1000))) == 1000


def test_more_than_thousand_parameters_are_refused():
    with pytest.raises(BadRequest, match="^A query string has at most 1000 parameters"):
        parse(repeated("p*", 1001))


NAMES = st.sampled_from(["a", "b", "$or", "$in", "x y", "\u00e9", "a.b", "01", "-1"])
TEXTS = st.sampled_from(["1", "x+y", "x y", "%20", "\u00e9", "=", "]=", "%", "[]", ""])
STRUCTURES = st.recursive(
    TEXTS,
    lambda parts: (
        st.lists(parts, min_size=1, max_size=25)
        | st.dictionaries(NAMES, parts, min_size=1, max_size=3)
    ),
    max_leaves=18,
)


@given(st.dictionaries(NAMES, STRUCTURES))
def test_parses_what_qs_writes(data):
    options = qs_codec.EncodeOptions(list_format=qs_codec.ListFormat.INDICES)

    assert parse(qs_codec.encode(data, options), array_limit=25) == data


@pytest.mark.parametrize("form", ["indices", "brackets", "repeat"])
@given(st.dictionaries(NAMES, st.lists(TEXTS, min_size=2, max_size=25)))
def test_all_forms_of_lists_are_the_same(form, data):
    options = qs_codec.EncodeOptions(list_format=qs_codec.ListFormat[form.upper()])

    parsed = parse(qs_codec.encode(data, options), array_limit=25)

    assert parsed == data


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


def test_a_name_has_1000_characters_at_most():
    assert parse("a" * 1000) == {"a" * 1000: ""}

    with pytest.raises(BadRequest, match="^A name has more than 1000 characters.$"):
        parse("a" * 1001)
