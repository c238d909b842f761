"""How somebody who is new comes to a plan that is done, in a real browser, and decides where things stand."""

import re
import time

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.site import Site

TASK = (
    "Look for “Ada Lovelace” with people.find.\n"
    "Add a task “Sign the contract” with tasks.add.\n"
    "Send a letter “Welcome” with mail.send to ada@example.org."
)


@pytest.mark.calm
def test_from_new_to_a_plan_that_is_done_takes_less_than_two_minutes(desk: Page, site: Site):
    began = time.monotonic()
    desk.goto(f"{site.url}/plans/new/")
    desk.locator("#task").fill(TASK)
    desk.get_by_role("button", name="Plan it").last.click()
    desk.wait_for_url("**/plans/*-*/")
    expect(desk.get_by_role("heading", name="Approve all 3 steps?")).to_be_visible(timeout=60_000)
    change(desk, 2, "Add a task “Sign and scan the contract” with tasks.add.")
    desk.get_by_role("button", name="Approve the plan and all its steps").click()
    letter = desk.locator("#at-3 .at")
    expect(letter).to_contain_text("mail.send, which reaches out", timeout=60_000)
    letter.get_by_role("button", name="Approve").click()
    expect(desk.locator("#plate")).to_contain_text(re.compile("done", re.IGNORECASE), timeout=60_000)
    expect(desk.locator("#step-2")).to_contain_text("Sign and scan")
    assert time.monotonic() - began < 120


def change(desk: Page, number: int, action: str) -> None:
    """And what is being typed at another step stays, though the page is told of the change."""
    desk.locator("#at-3 summary", has_text="Reject").click()
    desk.locator("#at-3").get_by_label("Reason").fill("Perhaps")
    desk.get_by_role("link", name=f"Change step {number}").click()
    form = desk.locator(f"#edit-{number} form")
    form.get_by_label("Action").fill(action)
    form.get_by_role("button", name="Change it").click()
    expect(desk.locator(f"#step-{number}")).to_contain_text("Changed by a person")
    expect(desk.locator(f"#at-{number} .at form").first).to_be_visible(timeout=30_000)
    expect(desk.locator("#at-3").get_by_label("Reason")).to_have_value("Perhaps")
    desk.locator("#at-3").get_by_label("Reason").fill("")
