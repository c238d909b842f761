"""Redacting a judgement in a real browser, and what its page says then."""

import re

from playwright.sync_api import expect

from tests.acceptance.pages import END, start


def test_staff_are_asked_before_texts_are_erased_and_the_record_says_why(scripted, scripted_site, endpoint):
    start(scripted, scripted_site)
    expect(scripted.locator("#plate")).to_contain_text("Approved", timeout=END)
    scripted.get_by_role("link", name="Open record").click()
    title = scripted.get_by_role("heading", level=1).inner_text()
    scripted.get_by_role("link", name="Redact", exact=True).click()
    scripted.get_by_role("button", name="Erase the texts").click()
    expect(scripted.get_by_label("Who demands it, and why")).to_be_focused()
    expect(scripted.get_by_text("Write who demands it and why.")).to_be_visible()
    scripted.get_by_label("Who demands it, and why").fill("Demand of the tenant, ticket 812.")
    scripted.get_by_role("button", name="Erase the texts").click()
    expect(scripted).to_have_title(re.compile("^Record: Redacted judgement [0-9a-f]{8}"))
    expect(scripted.locator("#redacted")).to_contain_text("Reason: Demand of the tenant, ticket 812.")
    expect(scripted.locator("body")).not_to_contain_text(title)
    expect(scripted.get_by_role("link", name="Judge again")).to_have_count(0)


def test_the_line_on_the_input_page_follows_the_council(scripted, scripted_site):
    scripted.goto(f"{scripted_site.url}/councils/3/edit/")
    scripted.get_by_label("Days that texts are kept").fill("730")
    scripted.get_by_role("button", name="Save changes").click()
    expect(scripted.get_by_text("Texts are kept for 730 days.")).to_be_visible()
    scripted.goto(f"{scripted_site.url}/")
    expect(scripted.locator("#kept-for")).to_have_text("Every prompt and answer is kept for 365 days.")
    scripted.locator(".pick", has_text="Travel and spend").click()
    expect(scripted.locator("#kept-for")).to_have_text("Every prompt and answer is kept for 730 days.")
