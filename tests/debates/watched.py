"""The page of a long debate as a reader has it: axe at nine members and 200 messages, many pushes while somebody types,
and pictures of each stage where the window is low.

`python -m tests.debates.watched [--pushes 200] [--out DIR]`. It exits with 0 if axe finds nothing; focus, words, caret,
scrolling stay through all pushes; plate, the clock's number and the transcript with its forms are seen at
once in a low window (the table's lower seats are not, as in the design's pictures); and the table of results of five
stages is no wider than its place.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.acceptance.chromium import launch
from tests.acceptance.site import environment
from tests.stage import set_up, tidy_on_signals

STAGES = ("early", "speaking", "waited_for", "nine", "decided")
LOW = {"width": 1024, "height": 700}
WINDOWS = (("dark", 1440, 900), ("light", 1440, 900), ("dark", 1024, 700), ("light", 390, 844))
TYPED = "Elin, can both of them run"
PUSHES = """let pushes = 0;
    document.addEventListener("htmx:wsAfterMessage", () => document.documentElement.dataset.pushes = ++pushes)"""
KEPT = """() => ({
    focus: document.activeElement.name, words: document.activeElement.value,
    caret: document.activeElement.selectionStart, log: document.querySelector("#log").scrollTop, page: scrollY
})"""
# how far down each ends that has to be seen without scrolling, beside how high the window is
FOLD = """() => Object.fromEntries(["#plate", ".status", "#clock b", ".table", ".log"].map(
    part => [part, Math.round(document.querySelector(part)?.getBoundingClientRect().bottom ?? -1)]))"""
OWED = ("#plate", ".status", "#clock b", ".log")


def main(pushes: int, out: Path) -> bool:
    tidy_on_signals()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="magi-") as folder:
        set_up(environment(Path(folder)))
        from tests.acceptance.scene import AcceptanceScene

        with sync_playwright() as playwright, AcceptanceScene(launch(playwright), Path(folder)) as scene:
            scene.page.add_init_script(PUSHES)
            found = {"axe": looked_at(scene), "fold": low(scene, out), "stages": by_stage(scene, out)}
            found["typing"] = typed_in(scene, pushes)
    print(json.dumps(found, indent=1))
    stays = found["typing"]["before"] == found["typing"]["after"] and found["typing"]["pushes"] >= pushes
    below = [
        name for name, parts in found["fold"].items() if any(not 0 < parts[part] <= LOW["height"] for part in OWED)
    ]
    return stays and not below and not any(found["axe"].values()) and found["stages"]["fits"]


def opened(scene: Any, name: str, site: Any, words: tuple[str, ...]) -> Page:
    from django.urls import reverse

    from tests.acceptance.ways_of_debates import cast, key_of

    scene.sign_in(site)
    key = cast(site, *words) if words else key_of(site, name)
    return scene.open(reverse("debate-live", args=[key]), site)


def looked_at(scene: Any) -> dict[str, list[str]]:
    from tests.acceptance.test_accessibility import ALL, AXE, EVERY_TEXT, RUN

    page, found = opened(scene, "long", scene.idle_site, ("long",)), {}
    page.evaluate(AXE)
    for theme, width, height in WINDOWS:
        page.emulate_media(color_scheme="light" if theme == "light" else "dark")
        page.set_viewport_size({"width": width, "height": height})
        began = time.monotonic()
        found[f"{theme} {width}"] = page.evaluate(RUN, ["html", ALL, "", EVERY_TEXT])[0]
        print(f"axe, {theme} {width}: {time.monotonic() - began:.1f} s", flush=True)
    return found


def low(scene: Any, out: Path) -> dict[str, dict[str, int]]:
    found = {}
    for name in STAGES:
        page = opened(scene, name, scene.idle_site, ())
        for theme in ("dark", "light"):
            page.emulate_media(color_scheme="light" if theme == "light" else "dark")
            page.set_viewport_size(LOW)
            page.screenshot(path=out / f"{name}-1024x700-{theme}.png")
        found[name] = page.evaluate(FOLD)
    return found


def by_stage(scene: Any, out: Path) -> dict[str, Any]:
    """The table of results where three deadlines came before the end."""
    page = opened(scene, "held", scene.site, ("held", "rehearsal/instant", "100"))
    page.locator("#plate[data-state]").wait_for()
    page.wait_for_function("() => document.querySelector('#actions a[href*=record]')", timeout=120_000)
    page.goto(f"{page.url.rstrip('/')}/record/")
    page.set_viewport_size(LOW)
    table = page.locator(".record__result .scroll")
    table.scroll_into_view_if_needed()
    page.screenshot(path=out / "stages-1024x700-dark.png")
    wide = table.evaluate("box => [box.scrollWidth, box.clientWidth]")
    heads = table.locator("thead th").all_inner_texts()
    return {"heads": heads, "wide": wide, "fits": wide[0] <= wide[1]}


def typed_in(scene: Any, pushes: int) -> dict[str, Any]:
    page = opened(scene, "held", scene.site, ("held", "rehearsal/magi", "200"))
    page.set_viewport_size({"width": 1440, "height": 900})
    page.wait_for_function(
        "() => document.querySelectorAll('.log__list > .msg:not([hidden])').length > 14", timeout=180_000
    )
    say = page.get_by_role("textbox", name="Say something to the table")
    say.fill(TYPED)
    say.evaluate("field => field.setSelectionRange(4, 4)")
    page.locator("#log").evaluate("box => { box.scrollTop = 40 }")
    page.wait_for_timeout(500)
    first, before, began = count(page), page.evaluate(KEPT), time.monotonic()
    while count(page) - first < pushes and time.monotonic() - began < 600:
        page.wait_for_timeout(500)
    took = round(time.monotonic() - began)
    return {"pushes": count(page) - first, "seconds": took, "before": before, "after": page.evaluate(KEPT)}


def count(page: Page) -> int:
    return int(page.locator("html").get_attribute("data-pushes") or 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Look at the page of a long debate as a reader does.")
    parser.add_argument("--pushes", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("/tmp/debate-watched"))
    options = parser.parse_args()
    sys.exit(0 if main(options.pushes, options.out) else 1)
