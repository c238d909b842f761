"""Draws what a run of the benchmark found: `python -m tests.bench.plots FOUND.json docs/bench`, as SVG and as PNG.

FOUND.json is what `make bench ARGS=--json` printed. One bar for each contestant of each play: how much of a processor
its judgement took, in parts of what the openai SDK takes for the nine calls alone.
"""

import argparse
import json
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from playwright.sync_api import sync_playwright

from tests.acceptance.chromium import launch

WIDTH, LEFT, ROOM = 900, 260, 420  # of the picture, before the bars, and for the longest of them
BAR, GAP = 18, 16  # height of a bar, and the gap between plays
NAMES = {"magi": "MAGI", "sdk": "openai SDK", "floor": "aiohttp alone"}
COLOURS = {"magi": "#a84b00", "sdk": "#5b6673"}
OTHERS = "#a9b1ba"
FONT = 'font-family="system-ui, sans-serif" font-size="13"'


def drawn(table: dict[str, dict[str, dict[str, Any]]], said: str) -> str:
    """The picture as SVG; `said` stands below it."""
    longest = max(row["of SDK"] for of in table.values() for row in of.values())
    parts, y = [], GAP
    for play, of in table.items():
        parts.append(_text(0, y + 13, play, "#171a1d", "bold"))
        for name, row in of.items():
            parts += _bar(y, name, row, ROOM * row["of SDK"] / longest)
            y += BAR + 4
        y += GAP
    parts.append(_text(0, y + 8, said, "#5b6673"))
    size = f'width="{WIDTH}" height="{y + 24}" viewBox="-12 0 {WIDTH} {y + 24}"'
    back = f'<rect x="-12" width="{WIDTH}" height="{y + 24}" fill="#fff"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {FONT}>{back}{"".join(parts)}</svg>\n'


def _bar(y: int, name: str, row: dict[str, Any], length: float) -> list[str]:
    colour = COLOURS.get(name, OTHERS)
    bold = "bold" if name == "magi" else "normal"
    done = f", {row['done/s']:,} a second" if row["of ideal"] else ""
    return [
        _text(LEFT - 8, y + 13, NAMES.get(name, name.replace("_", " ")), "#171a1d", bold, "end"),
        f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>',
        _text(LEFT + length + 6, y + 13, f"{row['of SDK']:.2f} ({row['CPU ms']} ms{done})", "#171a1d", bold),
    ]


def _text(x: float, y: float, text: str, colour: str, weight: str = "normal", anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}" font-weight="{weight}">{escape(text)}</text>'


def main(found: Path, out: Path, said: str) -> None:
    out.with_suffix(".svg").write_text(drawn(json.loads(found.read_text())["table"], said))
    with sync_playwright() as playwright:
        page = launch(playwright).new_page(viewport={"width": WIDTH, "height": 100}, device_scale_factor=2)
        page.goto(out.with_suffix(".svg").resolve().as_uri())
        page.locator("svg").screenshot(path=out.with_suffix(".png"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("found", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--said", default="CPU of one judgement, in parts of what the SDK takes for its nine calls")
    arguments = parser.parse_args()
    main(arguments.found, arguments.out, arguments.said)
