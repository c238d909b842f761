"""Redacting a judgement in a real browser, and what its page says then."""

import re

from playwright.sync_api import expect

from tests.acceptance.pages import END, start

SEEN_AGAIN = "document.dispatchEvent(new Event('visibilitychange'))"


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
    expect(scripted).to_have_title(re.compile(r"^(\(\d+\) )?Record: Redacted judgement [0-9a-f]{8}"))
    expect(scripted.locator("#redacted")).to_contain_text("Reason: Demand of the tenant, ticket 812.")
    expect(scripted.locator("body")).not_to_contain_text(title)
    expect(scripted.get_by_role("link", name="Judge again")).to_have_count(0)


def test_erased_texts_leave_all_pages_that_stayed_open(scripted, scripted_site, endpoint):
    scripted.clock.install()
    start(scripted, scripted_site)
    expect(scripted.locator("#plate")).to_contain_text("Approved", timeout=END)
    title, opened = scripted.locator("h1").inner_text(), [scripted]
    for place in ("record/", "replay/"):
        opened.append(scripted.context.new_page())
        opened[-1].clock.install()
        opened[-1].goto(f"{scripted.url}{place}")
        expect(opened[-1].locator("body")).to_contain_text(title)
    erase(scripted.context.new_page(), scripted.url)
    for page in opened:
        page.clock.fast_forward(61_000)
        expect(page.locator("h1")).to_contain_text("Redacted judgement")
        expect(page.locator("body")).not_to_contain_text(title)


def test_a_page_that_is_seen_again_asks_at_once_but_takes_no_words_away(scripted, scripted_site, endpoint):
    start(scripted, scripted_site)
    expect(scripted.locator("#plate")).to_contain_text("Approved", timeout=END)
    scripted.evaluate("document.body.append(document.createElement('textarea'))")
    scripted.locator("textarea").fill("half a sentence")
    erase(scripted.context.new_page(), scripted.url)
    with scripted.expect_response("**/erased/") as answered:
        scripted.evaluate(SEEN_AGAIN)
    answered.value.finished()
    expect(scripted.locator("textarea")).to_have_value("half a sentence")
    scripted.locator("textarea").fill("")
    scripted.evaluate(SEEN_AGAIN)
    expect(scripted.locator("h1")).to_contain_text("Redacted judgement")


def erase(page, address):
    page.goto(f"{address}redact/")
    page.get_by_label("Who demands it, and why").fill("Demand of the tenant.")
    page.get_by_role("button", name="Erase the texts").click()
    expect(page.locator("#redacted")).to_be_visible()
    page.close()


def test_the_line_on_the_input_page_follows_the_council(scripted, scripted_site):
    scripted.goto(f"{scripted_site.url}/councils/3/edit/")
    scripted.get_by_label("Days that texts are kept").fill("730")
    scripted.get_by_role("button", name="Save changes").click()
    expect(scripted.get_by_text("Texts are kept for 730 days.")).to_be_visible()
    scripted.goto(f"{scripted_site.url}/")
    expect(scripted.locator("#kept-for")).to_have_text("Every prompt and answer is kept for 365 days.")
    scripted.locator(".pick", has_text="Travel and spend").click()
    expect(scripted.locator("#kept-for")).to_have_text("Every prompt and answer is kept for 730 days.")
