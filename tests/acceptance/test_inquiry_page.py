"""How somebody who is new comes to an answer whose quotes were checked, in a real browser, and approves it."""

import re
import time

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.site import ServedSite


@pytest.mark.slow
def test_from_new_to_an_answer_with_checked_quotes_takes_less_than_a_minute(desk: Page, site: ServedSite):
    began = time.monotonic()
    desk.goto(f"{site.url}/")
    desk.get_by_role("button", name="Inquire").click()
    desk.get_by_role("link", name="How is a judgement approved by its three agents?").click()
    desk.get_by_label("The answer").select_option("person")
    desk.get_by_role("button", name="Start inquiry").last.click()
    desk.wait_for_url("**/inquiries/*-*/")
    expect(desk.locator("#plate")).to_contain_text(re.compile("waiting", re.IGNORECASE), timeout=60_000)
    live = desk.url
    expect(desk.locator("#station-3")).to_contain_text("Person is asked")
    desk.get_by_role("link", name=re.compile("Does this answer pass", re.IGNORECASE)).first.click()
    expect(desk.locator("main")).to_contain_text("quotes, found word by word")
    desk.get_by_role("button", name="Approve work").click()
    desk.goto(live)
    expect(desk.locator("#plate")).to_contain_text(re.compile("answered", re.IGNORECASE), timeout=60_000)
    quoted = desk.locator("details[open] mark").first
    expect(quoted).to_have_text("If two of the three approve, the judgement is approved.")
    desk.locator("details[open]").get_by_role("link", name="Whole text as it was read").first.click()
    expect(desk.locator(".whole mark").first).to_be_visible()
    assert time.monotonic() - began < 60
