"""Times the query string parser against the standard library and a port of ``qs``.

Run ``python -m tests.benchmarks.query_string``. Read the ratios: the machine matters.
"""

from timeit import repeat
from urllib.parse import parse_qsl

import qs_codec

from flask_records.http.qs import parse

QUERIES = {
    "flat, 2": "roomId=2&read=false",
    "flat, 5": "a=1&b=2&c=hello+world&d=%C3%A9&%24limit=10",
    "typical": "roomId=2&createdAt[$gt]=2024-01-01&$sort[createdAt]=-1&$limit=5"
    "&$select[]=text",
    "nested": "$or[0][roomId]=1&$or[1][createdAt][$gt]=5&$sort[createdAt]=-1",
    "25 items": "&".join(f"ids[$in][{index}]={index}" for index in range(25)),
}
NUMBER = 2_000


def microseconds(function, text):
    return min(repeat(lambda: function(text), number=NUMBER, repeat=5)) / NUMBER * 1e6


def main():
    print(f"{'':10}{'parse_qsl':>10}{'ours':>8}{'qs_codec':>10}  ours to each")

    for name, text in QUERIES.items():
        library = microseconds(parse_qsl, text)
        ours = microseconds(parse, text)
        port = microseconds(qs_codec.decode, text)
        print(
            f"{name:10}{library:10.1f}{ours:8.1f}{port:10.1f}"
            f"  {ours / library:.2f} {ours / port:.2f}"
        )


if __name__ == "__main__":
    main()
