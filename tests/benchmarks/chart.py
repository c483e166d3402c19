"""Draws the chart of ``docs/performance.md``: a panel for each operation, with a bar
for each server, from the results of a run.

Run it with ``python -m tests.benchmarks.chart results.json > docs/performance.svg``,
where the file has ``{operation: {server: milliseconds of CPU for a request}}``.
"""

from __future__ import annotations

import json
import sys
from html import escape

COLUMNS = 3
WIDTH, BAR, GAP, NAME = 300, 18, 6, 118
HEAD = 34
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600; font-size: 13px }
.bar { fill: #9aa7b4 }
.ours { fill: #2563a8 }
@media (prefers-color-scheme: dark) {
  text { fill: #d7dee6 } .bar { fill: #66727f } .ours { fill: #5a9be0 }
}
"""


def panel(title, values, x, y):
    """The bars of one operation."""
    longest = max(values.values())
    room = WIDTH - NAME - 60
    yield f'<text class="title" x="{x}" y="{y + 14}">{escape(title)}</text>'

    for place, (name, value) in enumerate(values.items()):
        top = y + HEAD - 6 + place * (BAR + GAP)
        width = max(1, room * value / longest)
        kind = "ours" if name == "Flask-Records" else "bar"
        baseline = top + BAR - 5
        yield f'<text x="{x}" y="{baseline}">{escape(name)}</text>'
        yield (
            f'<rect class="{kind}" x="{x + NAME}" y="{top}" width="{width:.1f}"'
            f' height="{BAR}" rx="2"/>'
        )
        yield f'<text x="{x + NAME + width + 5:.1f}" y="{baseline}">{value:.2f}</text>'


def chart(results):
    """The SVG of all operations."""
    height = HEAD + max(map(len, results.values())) * (BAR + GAP) + 16
    rows = -(-len(results) // COLUMNS)
    size = f'width="{COLUMNS * WIDTH}" height="{rows * height}"'
    box = f'viewBox="0 0 {COLUMNS * WIDTH} {rows * height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box}>',
        "<title>Milliseconds of CPU for one request</title>",
        f"<style>{STYLE}</style>",
    ]

    for place, (title, values) in enumerate(results.items()):
        row, column = divmod(place, COLUMNS)
        parts += panel(title, values, column * WIDTH, row * height)

    return "\n".join([*parts, "</svg>"])


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        print(chart(json.load(file)))


if __name__ == "__main__":
    main()
