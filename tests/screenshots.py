"""Pictures of every state, at four sizes and in both themes, with a page that shows them side by side.

`python -m tests.screenshots [--out DIR] [--only NAME ...] [--pace SECONDS]`
"""

import argparse
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.acceptance.chromium import launch, program
from tests.acceptance.site import ROOT, environment
from tests.stage import set_up, tidy_on_signals

SIZES = ((1440, 900), (1024, 768), (390, 844), (320, 568))
THEMES = ("dark", "light")
# what moves is stopped at the same moment in every picture
FREEZE = """document.getAnimations().forEach(animation => {
    animation.pause();
    animation.currentTime = 400;
})"""
INDEX = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Screenshots</title>
<style>body{{font:15px system-ui;margin:24px;background:#777}}section{{display:grid;
grid-template-columns:1440fr 1024fr 390fr 320fr;gap:12px;align-items:start;margin-bottom:32px}}
h2{{grid-column:1/-1;margin:0}}img{{width:100%}}</style>
{}</html>
"""


def shoot(page: Page, path: Path) -> Path:
    page.evaluate(FREEZE)
    page.screenshot(path=path, caret="initial")
    return path


def index(out: Path, names: list[str]) -> None:
    sections = []
    for name in names:
        pictures = [out / picture(name, width, theme) for theme in THEMES for width, _ in SIZES]
        images = "".join(f'<a href="{p.name}"><img src="{p.name}" alt="{p.stem}" loading="lazy"></a>' for p in pictures)
        sections.append(f"<section><h2>{name}</h2>{images}</section>\n")
    (out / "index.html").write_text(INDEX.format("".join(sections)))


def picture(state: str, width: int, theme: str) -> str:
    return f"{state}-{width}{'-light' if theme == 'light' else ''}.png"


def main(out: Path, only: list[str], pace: float) -> None:
    if not program():
        sys.exit("Chromium is not installed")
    tidy_on_signals()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="magi-") as folder:
        set_up(environment(Path(folder)))
        from tests.acceptance.scene import AcceptanceScene
        from tests.acceptance.states import reach, resize, states

        chosen = [state for name in only for state in states(name)]
        with sync_playwright() as playwright, AcceptanceScene(launch(playwright), Path(folder), pace) as scene:
            for state in chosen:
                page = reach(scene, state)
                for theme in THEMES:
                    for width, height in SIZES:
                        resize(page, state, width, height, theme)
                        shoot(page, out / picture(state.name, width, theme))
                if page != scene.page:
                    page.close()
                print(state.name, flush=True)
    index(out, [state.name for state in chosen])
    print(f"{len(chosen)} states: {out / 'index.html'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "var" / "screenshots")
    parser.add_argument("--only", nargs="+", default=[""], help="states whose name begins with one of these")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds that an agent takes for an answer")
    arguments = parser.parse_args()
    main(arguments.out, arguments.only, arguments.pace)
