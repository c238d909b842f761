"""The verdict explained, the record and judging again, in a real browser."""

import re

from playwright.sync_api import expect

from tests.acceptance.pages import CASPER, END, HELD, start

ROUND_3 = "This is round 3 of 3."
PROSE_ONCE = [[CASPER, {"behaviour": "prose", "times": 1}]]


def judge(page, site):
    start(page, site)
    expect(page.locator("#plate")).to_contain_text("Approved", timeout=END)


def test_what_is_certain_is_said_while_it_is_judged(scripted, scripted_site, endpoint):
    endpoint.script(by_text=[[ROUND_3, HELD], [CASPER, {"decision": "reject"}]])
    start(scripted, scripted_site)
    sub = scripted.locator("#verdict-sub")
    expect(sub).to_have_text("Round 3 of 3. Approval is certain: two agents have 0.5 already.", timeout=END)
    expect(scripted.locator("#agent-1-tally")).to_contain_text("certain already")
    expect(scripted.locator("#agent-3-tally")).not_to_contain_text("certain already")
    expect(scripted.get_by_role("heading", name="What is not obvious")).to_be_hidden()


def test_what_is_not_obvious_appears_with_the_verdict(scripted, scripted_site, endpoint):
    endpoint.script(by_text=[["This is round 1 of 3.", {"decision": "reject"}]])
    judge(scripted, scripted_site)
    section = scripted.get_by_role("region", name="What is not obvious")
    expect(section).to_contain_text("Swayed: the first round alone would have rejected it.")
    expect(scripted.locator("#agent-1-sum")).to_contain_text("0 × 0.1 + 1 × 0.4 + 1 × 0.5 = 0.9, 0.5 approves")


def test_a_failed_attempt_stands_in_the_record_with_its_raw_answer(scripted, scripted_site, endpoint):
    endpoint.script(by_text=PROSE_ONCE)
    judge(scripted, scripted_site)
    scripted.get_by_role("link", name="Open record").click()
    casper = scripted.locator("#agent-3")
    expect(casper.get_by_role("heading", name="Attempt 1: failed")).to_be_visible()
    answer = casper.locator(".attempt").first.locator("pre").last
    expect(answer).to_be_hidden()
    casper.get_by_text("Prompt and raw answer").first.click()
    expect(answer).to_be_visible()


def test_on_paper_there_is_no_bar_no_button_and_nothing_folded(scripted, scripted_site, endpoint):
    endpoint.script(by_text=PROSE_ONCE)
    judge(scripted, scripted_site)
    scripted.goto(f"{scripted.url}record/")
    expect(scripted.get_by_role("button", name="Print record")).to_be_visible()
    scripted.emulate_media(media="print")
    for part in (".bar", "button", "form", "summary", "pre", ".toc"):
        expect(scripted.locator(part).filter(visible=True)).to_have_count(0)
    expect(scripted.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
    expect(scripted.get_by_role("heading", name="Attempt 1: failed")).to_be_visible()


def test_without_scripts_there_is_no_button_that_does_nothing(browser, scripted_site, scripted, endpoint):
    judge(scripted, scripted_site)
    context = browser.new_context(java_script_enabled=False, storage_state=scripted.context.storage_state())
    page = context.new_page()
    page.goto(f"{scripted.url}record/")
    expect(page.get_by_role("link", name="Download JSON")).to_be_visible()
    expect(page.get_by_text("Print record")).to_be_hidden()
    context.close()


def test_what_is_amended_is_judged_again_and_shown(scripted, scripted_site, endpoint):
    judge(scripted, scripted_site)
    scripted.get_by_role("link", name="Judge again").click()
    expect(scripted.get_by_text("Judges again:")).to_be_visible()
    content = scripted.get_by_label("What is to be decided?")
    content.fill(content.input_value().replace("Japan", "Taiwan"))
    scripted.get_by_role("button", name="Start judgement").click()
    scripted.wait_for_url(re.compile(r"/judgements/[0-9a-f-]{36}/"))
    expect(scripted.locator("#plate")).to_contain_text("Approved", timeout=END)
    scripted.get_by_text("What was amended").click()
    expect(scripted.locator(".diff del").last).to_contain_text("Japan")
    expect(scripted.locator(".diff ins").last).to_contain_text("Taiwan")
