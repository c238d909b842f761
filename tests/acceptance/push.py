"""How long a decision takes from its commit into an open page: one machine, one clock, the product as it is started.

`python -m tests.acceptance.push` starts a model endpoint, a site and Chromium, and prints milliseconds.
"""

import contextlib
import json
import sqlite3
import statistics
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.acceptance.chromium import launch
from tests.acceptance.site import ServedSite
from tests.endpoint import ScriptedEndpoint

# when the page first showed each decision
REMEMBER = """
    globalThis.shown = {};
    new MutationObserver(() => {
        for (const word of document.querySelectorAll(".tr-cell h4:is([data-state=approve], [data-state=reject])"))
            shown[word.parentElement.id] ??= Date.now();
    }).observe(document, { childList: true, subtree: true });
"""
# decisions come one by one, as from models: two at once would be one commit and one message
APART = {"by_text": [["serious harm", {"delay": 0.5}], ["aim is clear", {"delay": 0.8}]], "delay": 0.2}


def milliseconds(page: Page, data: Path) -> list[int]:
    """For each decision of the judgement that the page watched to its end. Rows are dated just before their commit."""
    shown = page.evaluate("shown")
    judgement = page.url.rstrip("/").split("/")[-1].replace("-", "")
    query = """
        SELECT 't-r' || round || '-a' || (instr('ABC', seat)), created FROM judgements_rounddecision
        JOIN judgements_agent ON judgements_agent.id = agent_id WHERE judgement_id = ?
    """
    with contextlib.closing(sqlite3.connect(data / "magi.sqlite3", timeout=60)) as rows:
        made = dict(rows.execute(query, [judgement]))
    dated = {cell: datetime.fromisoformat(f"{created}+00:00").timestamp() * 1000 for cell, created in made.items()}
    return [round(shown[cell] - then) for cell, then in dated.items()]


def measure(folder: Path, judgements: int = 5) -> dict[str, Any]:
    found: list[int] = []
    with ScriptedEndpoint() as endpoint, sync_playwright() as playwright:
        env = {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "sk-canary-1234567890"}
        endpoint.script(**APART)
        with ServedSite(folder, **env) as site:
            page = launch(playwright).new_page()
            page.add_init_script(REMEMBER)
            page.goto(site.link)
            for _ in range(judgements):
                page.goto(site.url)
                page.get_by_label("What is to be decided?").fill("I am going to travel to Japan next week.")
                page.get_by_role("button", name="Start judgement").click()
                page.wait_for_selector("#plate[data-state=approve]", timeout=60_000)
                found += milliseconds(page, folder)
    return {"decisions": len(found), "median": statistics.median(found), "most": max(found)}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(Path(folder))))
