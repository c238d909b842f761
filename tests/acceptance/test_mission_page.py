"""How somebody who is new sees a mission done, in a real browser; and what a kill of the engine changes: nothing."""

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from missions.sandbox.bwrap import available
from tests.acceptance.pages import open_page
from tests.acceptance.site import EngineProcess, ServedSite
from tests.conftest import need

DONE = re.compile("done", re.IGNORECASE)


@pytest.mark.slow
def test_from_new_to_a_mission_whose_check_passed_takes_less_than_a_minute(desk: Page, site: ServedSite):
    need("sandbox", not available(), available())
    began = time.monotonic()
    desk.goto(f"{site.url}/")
    desk.get_by_role("button", name="Work").click()
    desk.get_by_role("link", name="Correct a fault").click()
    desk.get_by_role("button", name="Start mission").last.click()
    desk.wait_for_url("**/missions/*-*/")
    expect(desk.locator("#plate")).to_contain_text(DONE, timeout=60_000)
    expect(desk.locator(".ending")).to_contain_text("Ran 2 tests")
    expect(desk.locator(".diff")).to_contain_text("ROUND_HALF_UP")
    assert time.monotonic() - began < 60
    desk.get_by_role("button", name="Have it judged").click()
    expect(desk.locator("main")).to_contain_text("Does it meet the goal?")
    desk.locator(".made").get_by_role("link").click()
    expect(desk.locator(".made")).to_contain_text("About what came of it")


@pytest.mark.slow
def test_a_kill_of_the_engine_repeats_no_command_and_takes_nothing_that_was_typed(browser: Browser, tmp_path: Path):
    need("sandbox", not available(), available())
    with ServedSite(tmp_path, "--no-engine") as site, EngineProcess(site.env, tmp_path / "first") as engine:
        page = open_page(browser, site).page
        page.goto(f"{site.url}/missions/new/?example=runbook")
        page.get_by_role("button", name="Start mission").last.click()
        page.wait_for_url("**/missions/*-*/")
        page.locator("#words-text").fill("Keep this")
        expect(page.locator("#terminal-1")).to_contain_text("How many minutes", timeout=60_000)
        engine.process.kill()
        with EngineProcess(site.env, tmp_path / "second"):
            expect(page.locator("#plate")).to_contain_text(DONE, timeout=90_000)
        expect(page.locator("#words-text")).to_have_value("Keep this")
        page.goto(f"{page.url}terminals/")
        expect(page.locator(".commands li")).to_have_count(3)
        page.context.close()
