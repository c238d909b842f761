"""Pictures of the pages of all five kinds with a slow model: while it reads, writes, is waited for, and asked again.

`python -m tests.slow_pictures [--out DIR] [--only reads writes waits retries]`
"""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, expect, sync_playwright

from tests.acceptance.chromium import launch, program, visit
from tests.acceptance.site import ROOT, ServedSite, manage
from tests.endpoint import ScriptedEndpoint
from tests.screenshots import shoot
from tests.stage import tidy_on_signals

SIZES = ((1440, 900), (390, 844))
LONGEST = 90_000  # ms until a page shows what is to be seen
PLANNED = "Find an hour for Ada and Ben next week, and enter it as “Review”."
# by the folder of its pages: a text by which its requests are known, how an answer begins, and how it is asked
KINDS = {
    "judgements": ("The release goes out at 16:00.", "", ["judge"]),
    "debates": ("Do we move to the new office?", '{"verdict_reasoning": "The lease ends in March, and', ["debate"]),
    "inquiries": ("When does the lease end?", '{"plan": "First the lease is read, then', ["ask"]),
    "plans": (PLANNED, '{"thought": "Both calendars have to be read before', ["plan"]),
    "missions": ("Correct the sum in the ledger.", '{"reasoning": "First I look at what is there, and', ["mission"]),
}
READS = {"behaviour": "reads", "chunk_delay": 1}
LATE = {"behaviour": "hang", "times": 1}
WORDS = {"behaviour": "prose", "delay": 6, "times": 2}
LIMITED = {"behaviour": "status", "error": "rate_limit_exceeded", "headers": {"Retry-After": "300"}}
GONE = {"behaviour": "status", "error": "overloaded"}
STATES: dict[str, tuple[str, dict[str, str]]] = {  # what stands on the page, and what the site is told
    "reads": ("reads [0-9,]+ tokens", {}),
    "writes": ("writes", {}),
    "waits": ("waits? for a place|until|has not answered since", {}),
    "retries": ("retry [12] of [23]", {"MAGI_CALL_FIRST": "10"}),
}


def rules(state: str) -> list[list[Any]]:
    """What is answered, by a text that stands in the request."""
    if state == "reads":
        return [["You are agent A ", {"times": 1}]]  # from which the time that it takes is known
    if state == "writes":
        stall = {"behaviour": "stall", "cut_after": 9}
        return [[text, {**stall, "content": begun}] for text, begun, _ in KINDS.values()]
    if state == "waits":
        away = {"debates": GONE, "inquiries": LIMITED, "plans": GONE, "missions": LIMITED}
        return [[KINDS[kind][0], rule] for kind, rule in away.items()]
    late = {"judgements": LATE, "debates": LATE, "inquiries": WORDS, "plans": WORDS, "missions": WORDS}
    return [[KINDS[kind][0], rule] for kind, rule in late.items()]


def agents(state: str) -> list[dict[str, str]]:
    model = "small/llama-3.2-3b" if state == "waits" else "llama/llama-3.2-3b"
    return [
        {"name": name, "model": model, "criteria": "Approve what names a time and a way back."}
        for name in ("Melchior", "Balthasar", "Casper")
    ]


def asked(site: ServedSite, state: str, kind: str, folder: Path) -> str:
    """The address of a run of this kind."""
    text, _, words = KINDS[kind]
    if kind == "judgements":
        (folder / "agents.json").write_text(json.dumps(agents(state)))
        words = [*words, "--agents", str(folder / "agents.json")]
    if kind in ("inquiries", "missions") and state == "waits":
        words = [*words, "--model", "groq/llama-3.3-70b"]
    done = manage(*words, text, "--no-wait", env=site.env)
    assert done.returncode == 0, done.stderr
    return f"{site.url}/{kind}/{done.stdout.strip()}/"


def play(browser: Browser, state: str, out: Path) -> None:
    shown, settings = STATES[state]
    with ScriptedEndpoint() as endpoint, tempfile.TemporaryDirectory(prefix="magi-") as folder:
        endpoint.script(default=READS, by_text=rules(state))
        here = {"base_url": endpoint.base_url}
        providers = {"llama": here, "groq": here, "small": here | {"concurrency": 1}}
        env = {"MAGI_PROVIDERS": json.dumps(providers), "MAGI_DEFAULT_MODEL": "llama/llama-3.2-3b", **settings}
        with ServedSite(Path(folder), **env) as site:
            addresses = {kind: asked(site, state, kind, Path(folder)) for kind in KINDS}
            context = visit(browser)
            context.add_cookies([{"name": "sessionid", "value": site.visitor_session, "url": site.url}])
            for kind, address in addresses.items():
                page = context.new_page()
                page.goto(address)
                expect(page.locator("#asking")).to_contain_text(re.compile(shown), timeout=LONGEST)
                for width, height in SIZES:
                    page.set_viewport_size({"width": width, "height": height})
                    shoot(page, out / f"{kind}-{state}-{width}.png")
                print(state, kind, page.locator("#asking").inner_text().replace("\n", " | "), flush=True)
                page.close()
            context.close()
            site.process.kill()  # it would wait for answers that never come


def main(out: Path, only: list[str]) -> None:
    if not program():
        sys.exit("Chromium is not installed")
    tidy_on_signals()
    out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for state in only:
            play(browser, state, out)
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "var" / "slow")
    parser.add_argument("--only", nargs="+", default=list(STATES), choices=list(STATES))
    arguments = parser.parse_args()
    main(arguments.out, arguments.only)
