"""Requests that are made up: good, odd and broken ones."""

from __future__ import annotations

import json
from dataclasses import dataclass
from urllib.parse import quote

from hypothesis import strategies as st

OTHERS = range(501, 511)
"""The ids of the records of owner 2. All others are of owner 1."""


COMPARISONS = "$eq $ne $lt $lte $gt $gte".split()
LISTS = ["$in", "$nin"]
ON_WHITELIST = "$like $notLike $ilike $regex $search $null $between".split()
GROUPS = "$or $and $nor $not".split()
OPERATORS = [*COMPARISONS, *LISTS, *ON_WHITELIST, "$not"]
GOOD = [
    ("id", [1, 2, 3, 501]),
    ("owner_id", [1, 2]),
    ("name", ["a", "b", "null", "é", "%"]),
    ("rank", [0, 1, 2, -1, None]),
    ("parent_id", [1, 501]),
    ("done", [True, False]),
    ("made", ["2024-01-01T12:00:00Z", "2024-01-02", 1704067200000]),
    ("price", [0, "0.25", 0.5]),
    ("color", ["red", "green", None]),
    ("document", [{"a": 1}, [1, "x"], "text", 1, None]),
]
GOOD_VALUES = [(name, value) for name, values in GOOD for value in values]
NAMES = [*dict(GOOD), "password", "nope", "parent", "children", "metadata", "__class__"]
KEYS = (
    "$limit $skip $sort $select $populate $foo 0 1 -1 21 99999999999999999999".split()
)
KEYS += [*OPERATORS, *GROUPS, *NAMES, ""]
GOOD_PARAMETERS = """
    $limit=3 $limit=0 $skip=2 $sort[rank]=-1 $sort[name]=1 $select[]=name $select=rank
    $populate[]=parent $populate=children owner_id=2 owner_id[]=1 rank= id=501
    $or[0][rank]=1&$or[1][owner_id]=2 $nor[0][owner_id]=1 $not[owner_id]=1
    $and[0][id]=501 name[$like]=%25a%25 name[$notLike]=_ name[$ilike]=A_
    name[$search]=A name[$regex]=^a rank[$null]=true rank[$not][$gt]=1
    rank[$between][]=0&rank[$between][]=2
""".split()
BAD_PARAMETERS = """
    $foo=1 nope=1 password=x parent=1 parent[id]=1 rank[=1 $search=a $limit[$gt]=1
    rank=many rank=1.5 rank[]=x rank[$in][]=x rank[$in][][a]=1 rank=2147483648
    rank[a]=1 rank[$foo]=1 rank[$gt][$lt]=1 rank[$like]=1 rank[$null]=x
    rank[$between]=1 rank[$]=1 name[$limit]=1 name[$regex]=( name[$or][0]=a
    document[$gt]=1 color=blue color[$lt]=blue made=yesterday price=1e9999 done=maybe
    $or=1 $or[0]=rank $or[rank]=1 $or[0][$limit]=1 $and=1 $and[0][$sort][rank]=1
    $nor[0][password]=1 $not=1 $not[password]=1
""".split()
BAD_PAGING = """
    $limit=-1 $limit=x $limit=1.5 $limit[]=1&$limit[]=2 $skip=-1 $skip=NaN $sort=rank
    $sort[rank]=2 $sort[rank]= $sort[nope]=1 $sort[password]=1 $sort[document]=1
    $sort[rank][$gt]=1 $select=nope $select[]=password $select[a]=b $populate=nope
    $populate[]=password $populate[parent]=1
""".split()
ODD_VALUES = """
    0 1 501 1.5 true null red name id password nope NaN Infinity -0 1e999 1e-999 0x1
    1_0 2147483648 2024-02-30 9999-12-31T23:59:59-23:59 0001-01-01T00:00:00+23:59 1e17
    -1e17 {} [] {"a": ( * a{99999} [[:x:]] (?P<a>.) \\ a\\ ' " -- ; ١ 𝟏 % %2 %zz + = & #
""".split()
ODD_VALUES += ["", " 1 ", "\0", "a\0", "9" * 400, "[" * 99]
RAW_VALUES = "% %2 %zz %ED%A0%80 %FF %C3%28 %F4%90%80%80 %00 + [ ] = %5B %5D".split()
LARGE = [
    "&".join(f"rank[$in][]={number}" for number in range(30)),
    "&".join(f"$or[{number}][rank]=1" for number in range(30)),
    "name" + "[$eq]" * 30 + "=1",
    "$or[0]" + "[$or][0]" * 9 + "[rank]=1",
    "rank=1&" * 1100,
    "[" * 3000 + "&" + "$or[0]" * 3000,
]


def as_text(value):
    return value if isinstance(value, str) else json.dumps(value)


def as_json(value):
    return json.dumps(value).encode()


def mostly(good, odd):
    """Take from one strategy three times as often as from the other."""
    return st.sampled_from([0, 1, 2, 3]).flatmap(lambda n: odd if n == 3 else good)


good_parameters = st.sampled_from(GOOD_PARAMETERS) | st.builds(
    lambda pair, name: f"{pair[0]}[{name}]={quote(as_text(pair[1]))}",
    st.sampled_from(GOOD_VALUES),
    st.sampled_from(COMPARISONS + LISTS),
)
good_queries = st.lists(good_parameters, max_size=3).map("&".join)
odd_values = st.sampled_from(ODD_VALUES).map(quote) | st.text().map(quote)
odd_parameters = st.builds(
    "{}={}".format,
    st.builds("{}[{}]".format, st.sampled_from(NAMES), st.sampled_from(OPERATORS))
    | st.lists(st.sampled_from(KEYS), min_size=1, max_size=4).map(
        lambda keys: keys[0] + "".join(f"[{key}]" for key in keys[1:])
    ),
    odd_values | st.sampled_from(RAW_VALUES),
)
query_strings = mostly(
    good_queries,
    st.builds("{}&{}".format, odd_parameters, good_queries)
    | st.lists(odd_parameters | good_parameters, max_size=5).map("&".join)
    | st.sampled_from(LARGE + BAD_PARAMETERS + BAD_PAGING)
    | st.text(max_size=40),
)
scalars = st.text(max_size=5) | st.sampled_from(
    [None, True, 0, -1, 501, 2**31, 2**63, 10**400, 1.5, float("nan"), "", "null"]
    + ["\0", "\ud800", "x" * 60, "red", "1.234", "Zm9v"]
)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
good_objects = st.lists(st.sampled_from(GOOD_VALUES[6:]), max_size=3).map(dict)
odd_objects = st.builds(
    lambda good, name, value: {**good, name: value},
    good_objects,
    st.sampled_from(NAMES),
    json_values,
)
bodies = mostly(
    good_objects.map(as_json),
    st.lists(good_objects | odd_objects, max_size=3).map(as_json)
    | (odd_objects | json_values).map(as_json)
    | st.sampled_from([b"1" * 5000, b"[" * 5000, b"\xef\xbb\xbf{}", b'{"a":1,"a":2}'])
    | query_strings.map(str.encode)
    | st.binary(max_size=20),
)
ids = st.sampled_from(["", "", "/1", "/2", "/501"]) | st.builds(
    "/{}".format,
    st.sampled_from("0 -1 3 01 1.0 null %00 .. 1%2F2 % 99999999999999999999".split())
    | st.text(min_size=1, max_size=5).map(lambda text: quote(text, safe="")),
)
content_types = mostly(
    st.just("application/json"),
    st.sampled_from(["application/x-www-form-urlencoded", "multipart/form-data", ""])
    | st.sampled_from(["application/json; charset=utf-16", "text/plain", "nonsense"]),
)


@dataclass(frozen=True)
class Request:
    verb: str
    path: str
    query: str = ""
    body: bytes = b'{"rank": 7}'
    content_type: str = "application/json"
    accept: str = "application/json"


def requests(*services):
    """Requests of any kind to some services."""
    return st.builds(
        Request,
        st.sampled_from(["GET", "POST", "PUT", "PATCH", "PATCH", "DELETE", "HEAD"]),
        st.builds("/{}{}".format, st.sampled_from(services), ids),
        query_strings,
        bodies,
        content_types,
        st.sampled_from(["application/json", "application/json", "text/html", "*/*"]),
    )
