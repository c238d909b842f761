"""The product in a real browser: a site in a process of its own, Chromium, nothing in the environment."""

import re
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import expect

from tests.acceptance.pages import (
    CASPER,
    END,
    HELD,
    PHONE,
    ROUND_2,
    VERDICT,
    cancel,
    expect_nothing_more,
    flashing,
    models_of,
    open_page,
    start,
)
from tests.acceptance.site import ROOT, Site

SLOW = {"chunks": 400, "chunk_delay": 0.3}
# where the reader is: the open panel, the focus, the place in the page; and whether anything is there twice
WHERE = """() => [
    [...document.querySelectorAll("[data-open]")].map(e => e.id), document.activeElement.id, Math.round(scrollY),
    [...document.querySelectorAll("[id]")].filter((e, _, all) => all.some(o => o !== e && o.id === e.id)).length,
]"""


def test_the_three_flash_while_they_judge(scripted, scripted_site, endpoint):
    endpoint.script(default=HELD)
    start(scripted, scripted_site)
    expect(scripted.locator("#plate")).to_contain_text("Judging", timeout=END)
    expect(scripted.locator(".agent__state[data-state=judging]")).to_have_count(3)
    assert flashing(scripted) == ["flash 1.2s"] * 3


def test_an_agent_that_has_decided_is_yellow_until_the_next_round(scripted, scripted_site, endpoint):
    endpoint.script(by_text=[[CASPER, HELD]])
    start(scripted, scripted_site)
    waiting = scripted.locator(".agent__state[data-state=pending]")
    expect(waiting).to_have_count(2, timeout=END)
    expect(waiting.first).to_contain_text("for round 2")
    expect(scripted.locator("#agent-3-state")).to_contain_text("Judging")


def test_reasons_grow_while_they_stream(scripted, scripted_site, endpoint):
    endpoint.script(default=SLOW | {"reason": "It is clear, and the effort fits it. " * 40})
    start(scripted, scripted_site)
    growing = scripted.locator("#agent-1-reason [data-stream]")
    expect(growing).to_contain_text("It is", timeout=END)
    first = growing.inner_text()
    expect(growing).not_to_have_text(first, timeout=END)
    expect(growing).to_contain_text(first)


def test_a_reload_and_a_late_visit_show_the_same_truth(scripted, scripted_site, endpoint):
    endpoint.script(by_text=[[ROUND_2, HELD]])
    start(scripted, scripted_site)
    expect(scripted.locator("#verdict-sub")).to_contain_text("Round 2 of 3.", timeout=END)
    expect(scripted.locator("#matrix")).to_contain_text(re.compile("(Judging.*){3}", re.DOTALL), timeout=END)
    before = scripted.locator("#matrix").inner_text()
    scripted.reload()
    assert scripted.locator("#matrix").inner_text() == before
    cancel(scripted)
    end = scripted.locator("#matrix").inner_text()
    scripted.reload()
    assert scripted.locator("#matrix").inner_text() == end


def test_cancelling_asks_first_and_every_open_page_is_told(scripted, scripted_site, endpoint):
    endpoint.script(by_text=[[CASPER, HELD]])
    start(scripted, scripted_site)
    other = scripted.context.new_page()
    other.goto(scripted.url)
    expect(scripted.locator("#verdict-sub")).to_contain_text("2 of 9 decisions are in.", timeout=END)
    question = scripted.get_by_role("dialog", name="Cancel this judgement?")
    scripted.get_by_role("link", name="Cancel judgement").click()
    expect(question).to_contain_text("The 2 decisions so far are kept. There will be no verdict.")
    expect(question.get_by_role("button", name="Keep judging")).to_be_focused()
    question.get_by_role("button", name="Keep judging").click()
    expect(question).to_be_hidden()
    cancel(scripted)
    for page in (scripted, other):
        expect(page.locator("#verdict-sub")).to_contain_text("Cancelled in round 1 by")
        expect(page.locator("#ws")).not_to_have_attribute("ws-connect", re.compile(".*"))
    other.close()


def test_the_question_stays_open_while_decisions_come_in_and_counts_them(scripted, scripted_site, endpoint):
    endpoint.script(by_text=[[CASPER, HELD]], delay=8)
    start(scripted, scripted_site)
    expect(scripted.locator("#verdict-sub")).to_contain_text("0 of 9 decisions")
    scripted.get_by_role("link", name="Cancel judgement").click()
    expect(scripted.get_by_role("dialog")).to_contain_text("The 2 decisions so far are kept.", timeout=END)
    expect(scripted.get_by_role("dialog")).to_be_visible()
    scripted.keyboard.press("Escape")


def test_without_scripts_cancelling_is_a_page_that_asks(browser, scripted_site, endpoint):
    endpoint.script(default=HELD)
    page = open_page(browser, scripted_site, java_script_enabled=False).page
    start(page, scripted_site)
    page.get_by_role("link", name="Cancel judgement").click()
    expect(page.get_by_role("heading", name="Cancel this judgement?")).to_be_visible()
    page.get_by_role("button", name="Cancel judgement").click()
    expect(page.locator("#plate")).to_contain_text("Cancelled")
    page.context.close()


def test_a_retry_goes_on_with_what_is_missing_on_every_open_page(scripted, scripted_site, endpoint):
    endpoint.script(by_text=[[CASPER, {"behaviour": "prose", "times": 4}]])
    start(scripted, scripted_site)
    expect(scripted.locator("#plate")).to_contain_text("Error", timeout=END)
    other = scripted.context.new_page()
    other.goto(scripted.url)
    scripted.get_by_role("button", name="Retry").click()
    for page in (other, scripted):
        expect(page.locator("#plate")).to_contain_text("Approved", timeout=END)
        expect(page.locator("#matrix td .lamp[data-state=approve]")).to_have_count(9)
    assert len(endpoint.requests()) == 9 + 4
    other.close()


def test_details_open_by_hover_focus_and_key_and_close_by_escape(desk, site):
    start(desk, site)
    expect(desk.locator("#plate")).to_contain_text(VERDICT, timeout=END)
    panel = desk.locator("#agent-2-detail")
    box = desk.locator("#agent-2 .agent__name").bounding_box()
    desk.mouse.move(box["x"] + 10, box["y"] + 10)
    expect(panel).to_be_visible()
    for number in (1, 2, 3):
        expect(panel).to_contain_text(f"Round {number}")
    desk.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    desk.mouse.move(5, 5)
    button = desk.locator("#agent-3 .agent__more")
    button.focus()
    desk.keyboard.press("Enter")
    expect(desk.locator("#agent-3-detail")).to_be_visible()
    desk.keyboard.press("Escape")
    expect(button).to_be_focused()


def test_on_a_phone_a_tap_opens_all_rounds(phone, site):
    start(phone, site)
    expect(phone.locator("#plate")).to_contain_text(VERDICT, timeout=END)
    phone.locator("#agent-1").tap()
    expect(phone.locator("#agent-1-detail")).to_be_visible()
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390


def test_on_a_phone_nothing_is_wider_than_the_window(browser, scripted_site, endpoint):
    endpoint.script(by_text=[[CASPER, {"behaviour": "prose", "delay": 3, "times": 4}]])
    page = open_page(browser, scripted_site, PHONE, has_touch=True, is_mobile=True).page
    start(page, scripted_site)
    expect(page.locator("#plate")).to_contain_text("Judging", timeout=END)
    page.get_by_role("link", name="Cancel judgement").click()
    page.get_by_role("button", name="Keep judging").click()
    expect(page.locator("#plate")).to_contain_text("Error", timeout=END)
    endpoint.script(default=HELD)
    page.get_by_role("button", name="Retry").click()
    cancel(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.context.close()


def test_a_queued_judgement_is_idle_until_an_engine_in_another_process_takes_it(browser, tmp_path):
    with Site(tmp_path, "--no-engine") as site:
        page = open_page(browser, site).page
        start(page, site)
        expect(page.locator("#plate")).to_contain_text("Idle")
        engine = subprocess.Popen([sys.executable, "manage.py", "runengine"], cwd=ROOT, env=site.env)
        try:
            expect(page.locator("#plate")).to_contain_text(VERDICT, timeout=END)
        finally:
            engine.terminate()
        assert engine.wait(60) == 0


def test_who_signs_out_is_told_on_every_page_that_it_is_no_longer_updated(browser, tmp_path):
    with Site(tmp_path, "--no-engine") as site:
        page = open_page(browser, site).page
        start(page, site)
        expect(page.locator("#conn")).to_have_text("Live")
        other = page.context.new_page()
        other.goto(site.url)
        other.locator("details.menu summary").first.click()
        other.get_by_role("button", name="Sign out").click()
        expect(page.locator("#conn-banner")).to_contain_text("This page is no longer updated.")


def test_with_postgresql_and_redis_another_process_streams_into_the_page(
    browser, tmp_path, postgres_database, redis_url, endpoint
):
    endpoint.script(by_text=[["This is round 1 of 3.", {"chunks": 60, "chunk_delay": 0.2}]])
    services = {"DATABASE_URL": postgres_database, "REDIS_URL": redis_url, **models_of(endpoint)}
    with Site(tmp_path, "--no-engine", **services) as site:
        engine = subprocess.Popen([sys.executable, "manage.py", "runengine"], cwd=ROOT, env=site.env)
        try:
            page = open_page(browser, site).page
            start(page, site)
            # a growing reason is in no row: only Redis can have brought it
            expect(page.locator("#agent-1-reason [data-stream]")).to_contain_text("The proposal", timeout=END)
            expect(page.locator("#plate")).to_contain_text(VERDICT, timeout=END)
        finally:
            engine.terminate()
        assert engine.wait(60) == 0


def test_trouble_with_a_model_is_said_on_the_page_and_readable_in_the_admin(scripted, scripted_site, endpoint):
    endpoint.script(by_text=[[CASPER, {"behaviour": "prose"}]])
    start(scripted, scripted_site)
    expect(scripted.locator("#plate")).to_contain_text("Error", timeout=END)
    expect(scripted.locator("#verdict-sub")).to_contain_text("Casper gave no decision in round 1 after 4 attempts")
    expect(scripted.locator("#agent-3-state")).to_contain_text("Failed")
    judgement = scripted.url.rstrip("/").split("/")[-1]
    admin = scripted.context.new_page()
    admin.goto(f"{scripted_site.url}/admin/judgements/judgement/{judgement}/change/")
    fourth = admin.locator(".attempt", has_text="Attempt 4: failed")
    fourth.get_by_text("Prompt and raw answer").click()
    expect(fourth.get_by_text("I would approve this.").first).to_be_visible()
    assert "sk-canary" not in admin.content()


def test_a_site_that_is_asked_to_stop_gives_its_work_back_and_ends_well(browser, tmp_path, endpoint):
    endpoint.script(default=HELD)
    with Site(tmp_path, **models_of(endpoint)) as site:
        page = open_page(browser, site).page
        start(page, site)
        expect(page.locator("#plate")).to_contain_text("Judging", timeout=END)
        assert site.stop() == 0
    endpoint.reset()
    with Site(tmp_path, **models_of(endpoint)) as again:
        page.goto(page.url.replace(site.url, again.url))
        expect(page.locator("#plate")).to_contain_text(VERDICT, timeout=END)
        expect(page.locator("#matrix td .lamp:is([data-state=approve],[data-state=reject])")).to_have_count(9)


def test_a_page_heals_after_the_server_was_killed_and_started_again(browser, tmp_path, endpoint):
    endpoint.script(by_text=[[ROUND_2, HELD]])
    site = Site(tmp_path, **models_of(endpoint))
    with site:
        page = open_page(browser, site).page
        start(page, site)
        expect(page.locator("#verdict-sub")).to_contain_text("Round 2 of 3.", timeout=END)
        expect_nothing_more(page)
        page.locator("#agent-2 .agent__more").click()
        page.evaluate("scrollTo(0, 60)")
        expect(page.locator("#conn")).to_have_text("Live")
        before = page.evaluate(WHERE)
        site.process.kill()
        site.process.wait()
        expect(page.locator("#conn-banner")).to_be_visible()
    endpoint.reset()
    with site:
        started = time.monotonic()
        expect(page.locator("#conn")).to_have_text("Live")
        print(f"live {time.monotonic() - started:.1f} s after the server listened again")
        expect(page.locator("#conn-banner")).to_be_hidden()
        assert page.evaluate(WHERE) == before
        expect(page.locator("#plate")).to_contain_text(VERDICT, timeout=END)
        expect(page.locator("#matrix td .lamp:is([data-state=approve],[data-state=reject])")).to_have_count(9)
        assert page.evaluate(WHERE) == before


def test_the_readme_picture_is_there():
    assert (Path(ROOT) / "docs" / "live.png").stat().st_size > 10_000
