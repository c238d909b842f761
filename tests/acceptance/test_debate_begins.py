"""How somebody who is new comes to a debate that is over, in a real browser, and without scripts."""

import re
import time

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.site import ServedSite

QUESTION = "Should the city library open on Sundays, for a year to begin with?"
LETTER = {"name": "letter.md", "mimeType": "text/markdown", "buffer": b"Two thirds of those asked want it."}


@pytest.mark.slow
def test_from_new_to_a_debate_that_is_over_takes_less_than_two_minutes(desk: Page, site: ServedSite):
    desk.goto(site.url)
    began = time.monotonic()
    desk.get_by_label("What is to be decided?").fill(QUESTION)
    desk.get_by_role("button", name="Debate What speaks for what").click()
    expect(desk.get_by_label("Question")).to_have_value(QUESTION)
    desk.locator("#documents").set_input_files([LETTER])
    expect(desk.locator(".doc")).to_contain_text("letter.md")
    desk.locator("form.newd .btn--go").click()
    desk.wait_for_url("**/debates/*/")
    going_on = re.compile("idle|debating|closing", re.IGNORECASE)
    expect(desk.locator("#plate")).not_to_contain_text(going_on, timeout=120_000)
    assert time.monotonic() - began < 120


def test_a_panel_fills_in_what_it_holds_and_leaves_what_was_typed(desk: Page, site: ServedSite):
    desk.goto(f"{site.url}/debates/new/")
    desk.get_by_label("Question").fill(QUESTION)
    desk.locator("#documents").set_input_files([LETTER])
    expect(desk.locator(".doc")).to_have_count(1)
    desk.get_by_text("Policy board").click()
    expect(desk.locator("#o1-word")).to_have_value("ADOPT")
    expect(desk.get_by_label("Question")).to_have_value(QUESTION)
    expect(desk.locator(".doc")).to_have_count(1)
    expect(desk.get_by_label("Policy board")).to_be_checked()


def test_an_example_fills_the_page_starts_nothing_and_can_be_undone(desk: Page, site: ServedSite):
    desk.goto(f"{site.url}/debates/new/")
    question, count = desk.get_by_label("Question"), desk.locator("#question-n")
    question.fill(QUESTION)
    desk.locator("#m1-name").fill("Zed")
    for title in ("Rewrite or repair", "One grant, three years"):
        desk.get_by_role("link", name=title).click()
        expect(question).not_to_have_value(QUESTION)
        expect(desk.get_by_role("radio", name="My own")).to_be_checked()
    expect(question).to_have_value(re.compile("^A foundation offers"))
    expect(desk.locator("#o1-word")).to_have_value("SIGN")
    expect(desk.locator("#announcer")).to_have_text("The example is filled in. Nothing has been started.")
    expect(count).to_contain_text(f"{len(question.input_value()):,} /")  # the last that an example does
    example = count.inner_text()
    desk.get_by_role("button", name="Undo").click()
    expect(question).to_have_value(QUESTION)
    expect(desk.locator("#m1-name")).to_have_value("Zed")
    expect(desk.get_by_role("radio", name="My own")).not_to_be_checked()
    expect(count).not_to_have_text(example)
    expect(desk.get_by_role("button", name="Undo")).to_have_count(0)


def test_without_scripts_another_kind_of_work_takes_along_what_was_typed(desk: Page, site: ServedSite):
    browser, state = desk.context.browser, desk.context.storage_state()
    assert browser
    still = browser.new_context(java_script_enabled=False, storage_state=state)
    page = still.new_page()
    page.goto(f"{site.url}/debates/new/")
    page.get_by_label("Question").fill(QUESTION)
    page.locator("#m1-name").fill("Zed")
    page.get_by_role("button", name="Judge Yes or no").click()
    expect(page.get_by_label("What is to be decided?")).to_have_value(QUESTION)
    page.get_by_role("button", name="Debate What speaks for what").click()
    expect(page.locator("#m1-name")).to_have_value("Zed")
    still.close()
