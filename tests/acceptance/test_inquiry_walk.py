"""One inquiry with a person as critic of its plan and a council as critic of its answer, in a real browser, whose site
is killed with its engine before the plan is decided, and again while it is worked on."""

import re
import sqlite3
from contextlib import closing

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.pages import open_page
from tests.acceptance.walked import Mortal

SOON = 60_000
SAYS = "If two of the three approve, the judgement is approved."


@pytest.fixture
def walk(browser, tmp_path):
    with Mortal(tmp_path, MAGI_ENGINE_LEASE="2") as site:
        page = open_page(browser, site).page
        yield page, site
        page.context.close()


@pytest.mark.slow
def test_an_inquiry_of_a_person_and_a_council_comes_to_its_answer_though_its_engine_is_killed(walk, tmp_path):
    page, site = walk
    live = ask(page, site.url)
    expect(page.locator("#plate")).to_contain_text(re.compile("waiting", re.IGNORECASE), timeout=SOON)
    site.die()
    send_back_the_plan(page, live)
    page.get_by_role("link", name=re.compile("Does this plan pass", re.IGNORECASE)).first.click()
    page.get_by_role("button", name="Approve work").click()
    page.goto(live)
    expect(page.locator("#station-2")).to_contain_text(re.compile("Researching|Found"), timeout=SOON)
    site.die()
    page.goto(live)
    expect(page.locator("#plate")).to_contain_text(re.compile(r"^\s*answered", re.IGNORECASE), timeout=SOON)
    expect(page.locator("#station-3")).to_contain_text("council Answer review, version 1 approves")
    expect(page.locator("#station-1")).to_contain_text("rejected 1×")
    expect(page.locator("details[open] mark").first).to_have_text(SAYS)
    told_once(tmp_path)


def ask(page: Page, url: str) -> str:
    page.goto(f"{url}/inquiries/new/?example=1")
    page.get_by_label("The plan").select_option("person")
    page.get_by_label("The answer").select_option(label="Council Answer review")
    page.get_by_role("button", name="Start inquiry").last.click()
    page.wait_for_url("**/inquiries/*-*/")
    return page.url


def send_back_the_plan(page: Page, live: str) -> None:
    page.goto(live)
    page.get_by_role("link", name=re.compile("Does this plan pass", re.IGNORECASE)).first.click()
    page.get_by_label("Your word").fill("Look for the very rule of three.")
    page.get_by_role("button", name="Reject work").click()
    page.goto(live)
    expect(page.locator("#before")).to_contain_text("Look for the very rule of three.")
    expect(page.locator("#plate")).to_contain_text(re.compile("waiting", re.IGNORECASE), timeout=SOON)


def told_once(folder) -> None:
    """No order is there twice, one council judged once, and every record is intact."""
    with closing(sqlite3.connect(folder / "magi.sqlite3")) as database:
        orders = database.execute("SELECT kind, station FROM inquiries_order ORDER BY number").fetchall()
        children = database.execute("SELECT COUNT(*) FROM engine_run WHERE parent_id IS NOT NULL").fetchone()
    assert [f"{kind} {station}" for kind, station in orders] == [
        "work planner", "review critic_planner", "work planner", "review critic_planner",
        "work researcher", "review critic_researcher", "work expert", "review critic_expert", "final finalizer",
    ]  # fmt: skip
    assert children == (1,)
