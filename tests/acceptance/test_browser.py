"""The product in a real browser: a site in a process of its own, Chromium, nothing in the environment."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.acceptance.chromium import launch, visit
from tests.acceptance.site import ROOT, Site
from tests.conftest import JAPAN
from tests.endpoint import Endpoint

DESK = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
VERDICT = re.compile("Approved|Rejected")
END = 60_000
HELD = {"delay": 600}  # not answered as long as a test looks
SLOW = {"chunks": 400, "chunk_delay": 0.3}
# where the reader is: the open panel, the focus, the place in the page; and whether anything is there twice
WHERE = """() => [
    [...document.querySelectorAll("[data-open]")].map(e => e.id), document.activeElement.id, Math.round(scrollY),
    [...document.querySelectorAll("[id]")].filter((e, _, all) => all.some(o => o !== e && o.id === e.id)).length,
]"""
CASPER, ROUND_2 = "if the aim is clear", "This is round 2 of 3."  # parts of the prompts


@pytest.fixture(scope="module")
def browser(chromium):
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with Site(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture(scope="module")
def endpoint():
    with Endpoint() as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def scripted_site(endpoint, tmp_path_factory):
    """Its models are the endpoint's: a test says what they do, so that no state can be missed."""
    with Site(tmp_path_factory.mktemp("scripted"), **models_of(endpoint)) as site:
        yield site


def models_of(endpoint):
    return {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "sk-canary-1234567890"}


class Watched:
    """A page that remembers what should never happen on it."""

    def __init__(self, page: Page, site: Site) -> None:
        self.page, self.site = page, site
        self.complaints: list[str] = []
        page.on("console", lambda m: m.type == "error" and self.complaints.append(m.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._refuse_other_hosts)

    def _refuse_other_hosts(self, request):
        if not request.url.startswith((self.site.url, self.site.url.replace("http", "ws"))):
            self.complaints.append(f"asked another host: {request.url}")


def open_page(browser, site, size=DESK, **options):
    context = visit(browser, viewport=size, **options)
    session = {"name": "sessionid", "value": site.visitor_session, "url": site.url}
    context.add_cookies([session])
    return Watched(context.new_page(), site)


@pytest.fixture
def desk(browser, site):
    watched = open_page(browser, site)
    yield watched.page
    watched.page.context.close()
    assert watched.complaints == []


@pytest.fixture
def scripted(browser, scripted_site, endpoint):
    """A page on the scripted site. What still runs at the end is cancelled, so that nothing waits for it."""
    endpoint.reset()
    watched = open_page(browser, scripted_site)
    yield watched.page
    if watched.page.locator("[data-cancel]").count():
        cancel(watched.page)
    watched.page.context.close()
    assert watched.complaints == []


@pytest.fixture
def phone(browser, site):
    watched = open_page(browser, site, PHONE, has_touch=True, is_mobile=True)
    yield watched.page
    watched.page.context.close()
    assert watched.complaints == []


def start(page: Page, site: Site, content: str = JAPAN) -> None:
    page.goto(f"{site.url}/")
    page.get_by_label("Content").fill(content)
    page.get_by_role("button", name="Start judgement").click()
    page.wait_for_url(re.compile(r"/judgements/[0-9a-f-]{36}/"))


def cancel(page: Page) -> None:
    page.get_by_role("link", name="Cancel judgement").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel judgement").click()
    expect(page.locator("#plate")).to_contain_text("Cancelled")


def states(page: Page) -> list[str]:
    return [page.locator(f"#agent-{n}-state").get_attribute("data-state") or "" for n in (1, 2, 3)]


def flashing(page: Page) -> list[str]:
    """The animation of each block's head, and how long it takes."""
    script = "e => { const s = getComputedStyle(e, '::before'); return s.animationName + ' ' + s.animationDuration }"
    return [page.locator(f"#agent-{n} .agent__head").evaluate(script) for n in (1, 2, 3)]


def test_who_goes_back_finds_all_that_was_written(scripted, scripted_site, endpoint):
    endpoint.script(default=HELD)
    scripted.goto(scripted_site.url)
    scripted.get_by_text("Release gate").click()
    name, model = scripted.locator("#a1-name"), scripted.locator("#a1-fallback")
    expect(name).to_have_value("Reliability engineer")
    name.fill("Reliable")
    scripted.get_by_text("Fallback model").first.click()
    model.fill("openai/gpt-5")
    scripted.get_by_label("Title").fill("Japan")
    scripted.get_by_label("Content").fill(JAPAN)
    scripted.get_by_role("button", name="Start judgement").click()
    scripted.wait_for_url("**/judgements/*/")
    live = scripted.url
    scripted.go_back()
    expect(scripted.get_by_label("Title")).to_have_value("Japan")
    expect(name).to_have_value("Reliable")
    expect(model).to_be_visible()
    expect(scripted.locator("#a2-name")).to_have_value("Security reviewer")
    expect(scripted.get_by_label("Release gate")).to_be_checked()
    expect(scripted.locator("[name=version]")).to_have_count(1)
    expect(scripted.locator("#content-n")).to_have_text("40 / 20,000")
    scripted.get_by_role("link", name="New judgement").click()
    expect(scripted.locator("#content-n")).to_have_text("0 / 20,000")  # who asks for a new one gets one
    expect(scripted.get_by_label("Content")).to_have_value("")
    scripted.goto(live)


def test_who_goes_back_to_an_answered_form_sends_nothing_again(scripted, scripted_site, endpoint):
    endpoint.script(default=HELD)
    scripted.goto(scripted_site.url)
    scripted.locator("#a1-name").fill("Zed")
    scripted.get_by_role("button", name="Start judgement").click()
    expect(scripted).to_have_title(re.compile("^1 thing to correct"))
    scripted.get_by_label("Content").fill(JAPAN)
    scripted.get_by_role("button", name="Start judgement").click()
    scripted.wait_for_url("**/judgements/*/")
    live = scripted.url
    scripted.go_back()
    expect(scripted.get_by_label("Content")).to_have_value(JAPAN)
    expect(scripted.locator("#a1-name")).to_have_value("Zed")
    scripted.goto(live)


def test_a_double_click_starts_one_judgement(scripted, scripted_site, endpoint):
    endpoint.script(default=HELD)
    scripted.goto(scripted_site.url)
    scripted.get_by_label("Content").fill("Once only?")
    asked = []
    scripted.on("request", lambda request: request.method == "POST" and "cost" not in request.url and asked.append(1))
    scripted.get_by_role("button", name="Start judgement").dblclick()
    scripted.wait_for_url("**/judgements/*/")
    assert asked == [1]


def test_a_council_that_cannot_be_fetched_is_said(scripted, scripted_site):
    page = scripted.context.new_page()
    page.goto(scripted_site.url)
    page.route("**/judgements/agents/*", lambda route: route.fulfill(status=503))
    page.get_by_text("Release gate").click()
    expect(page.locator("#trouble")).to_contain_text("The agents of this council could not be fetched.")
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#a1-name")).to_have_value("Reliability engineer")
    expect(page.locator("#trouble")).to_be_empty()


def test_who_was_signed_out_meanwhile_keeps_the_agents_and_is_told(browser, scripted_site):
    page = open_page(browser, scripted_site).page
    page.goto(scripted_site.url)
    expect(page.locator("#cost")).to_contain_text("9 calls")
    page.context.clear_cookies(name="sessionid")
    page.get_by_text("Release gate").click()
    expect(page.locator("#announcer")).to_contain_text("You have been signed out.")
    expect(page.locator("#a1-name")).to_have_value("Melchior")
    page.context.close()


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
    endpoint.script(by_text=[[CASPER, HELD]], delay=3)
    start(scripted, scripted_site)
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


def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_is_kept(desk, site):
    desk.goto(f"{site.url}/")
    desk.get_by_label("Title").fill("Kept")
    desk.locator("#a2-name").fill("")
    desk.get_by_role("button", name="Start judgement").click()
    expect(desk).to_have_title(re.compile("2 things to correct"))
    expect(desk.locator("#title")).to_have_value("Kept")
    expect(desk.locator("#a2-name")).to_have_attribute("aria-invalid", "true")
    expect(desk.get_by_role("alert")).to_be_focused()


def test_a_council_fills_the_agents_without_leaving_the_page(desk, site):
    desk.goto(f"{site.url}/")
    desk.get_by_label("Content").fill("Kept")
    desk.get_by_text("Release gate").click()
    expect(desk.locator("#a1-name")).to_have_value("Reliability engineer")
    expect(desk.get_by_label("Content")).to_have_value("Kept")


def test_a_council_is_made_changed_and_judged_with_and_shows_which_version_judged(desk, site):
    desk.goto(f"{site.url}/councils/")
    desk.get_by_role("link", name="New council").click()
    desk.get_by_label("Name of the council").fill("Travel desk")
    for number in (1, 2, 3):
        desk.locator(f"#a{number}-name").fill(f"Clerk {number}")
        desk.locator(f"#a{number}-criteria").fill("Approve what is cheap.")
    desk.get_by_role("button", name="Save council").click()
    desk.get_by_role("link", name="Edit").click()
    desk.locator("#a2-criteria").fill("Approve what is cheap\nand safe.")
    desk.get_by_role("button", name="Save changes").click()
    expect(desk.get_by_role("status").first).to_contain_text("Version 2 is saved.")
    expect(desk.get_by_text("Criteria of Clerk 2 changed.")).to_be_visible()
    council = desk.url
    desk.get_by_role("link", name="Start a judgement").click()
    desk.get_by_label("Content").fill(JAPAN)
    desk.get_by_label("Content").press("Control+Enter")
    expect(desk.locator("#plate")).to_contain_text(VERDICT, timeout=END)
    desk.goto(council)
    expect(desk.locator(".uses li")).to_contain_text(re.compile("(Approved|Rejected).*Japan.*Version 2,", re.DOTALL))


def test_agents_are_saved_as_a_council_without_scripts_and_nothing_written_is_lost(browser, site):
    page = open_page(browser, site, java_script_enabled=False).page
    page.goto(f"{site.url}/")
    page.get_by_label("Content").fill(JAPAN)
    page.locator("#a1-name").fill("Caspar")
    page.get_by_role("button", name="Save as council").click()
    page.get_by_label("Name of the council").fill("Wise men")
    page.locator("#name").press("Enter")
    expect(page.get_by_role("radio", name="Wise men")).to_be_checked()
    expect(page.locator("#a1-name")).to_have_value("Caspar")
    page.get_by_label("Title").press("Enter")
    expect(page.locator(".transcript, #plate").first).to_be_visible()
    assert "/judgements/" in page.url
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


def test_models_are_suggested_costs_said_waits_counted_down_and_fallbacks_named(browser, tmp_path):
    with Endpoint() as endpoint:
        busy = {"behaviour": "status", "error": "rate_limit_exceeded", "headers": {"Retry-After": "8"}, "times": 1}
        endpoint.script(by_text=[["aim is clear", busy], ["aim is clear", busy | {"error": "invalid_api_key"}]])
        acme = {"base_url": endpoint.base_url, "price": {"input": 1, "output": 4}}
        with Site(tmp_path, MAGI_PROVIDERS=json.dumps({"acme": acme}), MAGI_DEFAULT_MODEL="acme/gpt-5") as site:
            page = open_page(browser, site).page
            page.goto(f"{site.url}/")
            expect(page.locator("#models option")).to_have_count(4)
            expect(page.locator("#cost")).to_contain_text("All agents ask one model, acme/gpt-5")
            expect(page.locator("#cost")).to_contain_text(re.compile(r"9 calls, about .* up to\s.*\$0\.0\d", re.DOTALL))
            page.locator("#agents details summary").nth(2).click()
            page.locator("#a3-fallback").fill("acme/spare")
            page.get_by_label("Content").fill(JAPAN)
            page.get_by_role("button", name="Start judgement").click()
            expect(page.locator("#agent-3-state")).to_contain_text(
                re.compile(r"Retry 1 of 3 in \d s"), ignore_case=True
            )
            expect(page.locator("#plate")).to_contain_text("Approved", timeout=END)
            expect(page.locator("#agent-3-rounds")).to_contain_text("answered by the fallback acme/spare")
            expect(page.locator("#verdict-meta")).to_contain_text(re.compile(r"Used\s*[\d,]+ tokens, \$0\.00"))


def test_the_readme_picture_is_there():
    assert (Path(ROOT) / "docs" / "live.png").stat().st_size > 10_000
