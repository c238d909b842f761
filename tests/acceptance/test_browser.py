"""The product in a real browser: a site in a process of its own, Chromium, nothing in the environment."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.acceptance.pages import (
    CASPER,
    END,
    HELD,
    ROUND_2,
    VERDICT,
    cancel,
    expect_nothing_more,
    flashing,
    models_of,
    open_page,
    start,
)
from tests.acceptance.scene import rows, stalls
from tests.acceptance.site import ROOT, EngineProcess, ServedSite, manage
from tests.waiting import wait_until

# where the reader is: the open panel, the focus, the place in the page; and whether anything is there twice
WHERE = """() => [
    [...document.querySelectorAll("[data-open]")].map(e => e.id), document.activeElement.id, Math.round(scrollY),
    [...document.querySelectorAll("[id]")].filter((e, _, all) => all.some(o => o !== e && o.id === e.id)).length,
]"""


# the corner that the cut leaves least room: whether the state's words lie below the slanting line
CLIPPED = """() => [...document.querySelectorAll(".agent--left, .agent--right")].flatMap(agent => {
    const head = agent.querySelector(".agent__head").getBoundingClientRect(), range = document.createRange();
    range.selectNodeContents(agent.querySelector(".agent__state"));
    return [...range.getClientRects()].filter(line => {
        const far = agent.matches(".agent--left") ? head.right - line.right : line.left - head.left;
        return far < Math.max(0, 80 - (line.top - head.top)) * 1.732;
    });
})"""


def test_the_three_flash_while_they_judge_but_not_for_who_wants_less_motion(scripted, scripted_site, endpoint):
    endpoint.script(default=HELD)
    start(scripted, scripted_site)
    expect(scripted.locator("#plate")).to_contain_text("Judging", timeout=END)
    expect(scripted.locator(".agent__state[data-state=judging]")).to_have_count(3)
    assert flashing(scripted) == ["flash 1.2s"] * 3
    scripted.emulate_media(reduced_motion="reduce")
    assert [animation.split()[0] for animation in flashing(scripted)] == ["none"] * 3
    scripted.emulate_media(reduced_motion="no-preference")
    scripted.get_by_role("button", name="Reduce motion").click()
    assert [animation.split()[0] for animation in flashing(scripted)] == ["none"] * 3
    scripted.evaluate("localStorage.clear()")
    scripted.set_viewport_size({"width": 720, "height": 1000})  # an upright tablet shows states and places whole
    assert scripted.evaluate(CLIPPED) == []
    tall = "links => links.filter(link => link.scrollHeight > 57 || link.scrollWidth > link.clientWidth).length"
    assert scripted.locator(".bar .nav a").evaluate_all(tall) == 0
    assert scripted.locator(".bar .nav a").first.inner_text() == "New"
    nav, end = scripted.locator(".bar .nav").bounding_box(), scripted.locator(".bar__end").bounding_box()
    assert nav["x"] + nav["width"] <= end["x"]


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


def test_cancelling_asks_first_counts_what_is_in_and_every_open_page_is_told(scripted, scripted_site, endpoint):
    endpoint.script(by_text=[[CASPER, HELD]], delay=6)
    start(scripted, scripted_site)
    expect(scripted.locator("#verdict-sub")).to_contain_text("0 of 9 decisions")
    question = scripted.get_by_role("dialog", name="Cancel this judgement?")
    scripted.get_by_role("link", name="Cancel judgement").click()
    expect(question).to_contain_text("The 2 decisions so far are kept. There will be no verdict.", timeout=END)
    expect(question.get_by_role("button", name="Keep judging")).to_be_focused()
    question.get_by_role("button", name="Keep judging").click()
    expect(question).to_be_hidden()
    waiting = scripted.locator(".agent__state[data-state=pending]")
    expect(waiting).to_have_count(2)
    expect(waiting.first).to_contain_text("for round 2")
    expect(scripted.locator("#agent-3-state")).to_contain_text("Judging")
    other = scripted.context.new_page()
    other.goto(scripted.url)
    cancel(scripted)
    for page in (scripted, other):
        expect(page.locator("#verdict-sub")).to_contain_text("Cancelled in round 1 by")
        expect(page.locator("#ws")).not_to_have_attribute("ws-connect", re.compile(".*"))
    other.close()


def test_without_scripts_cancelling_is_a_page_that_asks(browser, scripted_site, endpoint):
    endpoint.script(default=HELD)
    page = open_page(browser, scripted_site, java_script_enabled=False).page
    start(page, scripted_site)
    page.get_by_role("link", name="Cancel judgement").click()
    expect(page.get_by_role("heading", name="Cancel this judgement?")).to_be_visible()
    page.get_by_role("button", name="Cancel judgement").click()
    expect(page.locator("#plate")).to_contain_text("Cancelled")
    page.context.close()


def test_trouble_with_a_model_is_said_and_a_retry_goes_on_with_what_is_missing(scripted, scripted_site, endpoint):
    endpoint.script(by_text=[[CASPER, {"behaviour": "prose", "times": 4}]])
    start(scripted, scripted_site)
    expect(scripted.locator("#plate")).to_contain_text("Error", timeout=END)
    expect(scripted.locator("#verdict-sub")).to_contain_text("Casper gave no decision in round 1 after 4 attempts")
    expect(scripted.locator("#agent-3-state")).to_contain_text("Failed")
    other = scripted.context.new_page()
    judgement = scripted.url.rstrip("/").split("/")[-1]
    other.goto(f"{scripted_site.url}/admin/judgements/judgement/{judgement}/change/")
    fourth = other.locator(".attempt", has_text="Attempt 4: failed")
    fourth.get_by_text("Prompt and raw answer").click()
    expect(fourth.get_by_text("I would approve this.").first).to_be_visible()
    assert "sk-canary" not in other.content()
    other.goto(scripted.url)
    scripted.get_by_role("button", name="Retry").click()
    for page in (other, scripted):
        expect(page.locator("#plate")).to_contain_text("Approved", timeout=END)
        expect(page.locator("#matrix td .lamp[data-state=approve]")).to_have_count(9)
    assert len(endpoint.requests()) == 9 + 4
    other.close()


@pytest.fixture(scope="module")
def idle_site(tmp_path_factory):
    with ServedSite(tmp_path_factory.mktemp("idle"), "--no-engine", MAGI_DEFAULT_MODEL="rehearsal/instant") as site:
        yield site


@pytest.fixture
def idle(browser, idle_site):
    """A page that shows a queued judgement, and its site, which performs nothing."""
    page = open_page(browser, idle_site).page
    start(page, idle_site)
    expect(page.locator("#plate")).to_contain_text("Idle")
    expect(page.locator("#conn")).to_have_text("Live")
    yield page, idle_site
    page.context.close()


@pytest.mark.slow
def test_a_queued_judgement_is_idle_until_an_engine_in_another_process_takes_it(idle, tmp_path):
    page, site = idle
    with EngineProcess(site.env, tmp_path / "engine.log") as engine:
        expect(page.locator("#plate")).to_contain_text(VERDICT, timeout=END)
        assert engine.stop() == 0


def test_who_signs_out_is_told_on_every_page_that_it_is_no_longer_updated(idle):
    page, site = idle
    other = page.context.new_page()
    other.goto(site.url)
    other.locator("details.menu summary").first.click()
    other.get_by_role("button", name="Sign out").click()
    expect(page.locator("#conn-banner")).to_contain_text("This page is no longer updated.")


def test_with_redis_another_process_streams_into_the_page(browser, tmp_path, redis_url, endpoint):
    endpoint.script(by_text=[[CASPER, stalls(6)]])
    services = {"REDIS_URL": redis_url, **models_of(endpoint)}
    with (
        ServedSite(tmp_path, "--no-engine", **services) as site,
        EngineProcess(site.env, tmp_path / "engine.log") as engine,
    ):
        page = open_page(browser, site).page
        start(page, site)
        # a growing reason is in no row: only Redis can have brought it
        expect(page.locator("#agent-3-reason [data-stream]")).to_contain_text("The proposal", timeout=END)
        expect(page.locator("#verdict-sub")).to_contain_text("2 of 9 decisions", timeout=END)
        cancel(page)
        assert engine.stop() == 0
        page.context.close()


def test_a_site_that_is_asked_to_stop_gives_its_work_back_and_ends_well(tmp_path, endpoint):
    endpoint.reset()
    endpoint.script(default=HELD)
    with ServedSite(tmp_path, **models_of(endpoint)) as site:
        manage("judge", "--no-wait", "Shall it?", env=site.env)
        wait_until(lambda: len(endpoint.requests()) == 3, "all three are asked")
        assert site.stop() == 0
        assert status_in(site) == "queued"
    endpoint.reset()
    with ServedSite(tmp_path, **models_of(endpoint)) as again:
        wait_until(lambda: status_in(again) == "finished", "it is finished")


def status_in(site: ServedSite) -> str:
    with rows(site) as database:
        return database.execute("SELECT status FROM engine_run").fetchone()[0]


def test_a_page_heals_after_the_server_was_killed_and_started_again(browser, tmp_path, endpoint):
    endpoint.script(by_text=[[ROUND_2, HELD]])
    site = ServedSite(tmp_path, **models_of(endpoint))
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
        expect(page.locator("#conn")).to_have_text("Live")
        expect(page.locator("#conn-banner")).to_be_hidden()
        assert page.evaluate(WHERE) == before
        expect(page.locator("#plate")).to_contain_text(VERDICT, timeout=END)
        expect(page.locator("#matrix td .lamp:is([data-state=approve],[data-state=reject])")).to_have_count(9)
        assert page.evaluate(WHERE) == before


def test_the_readme_picture_is_there():
    assert (Path(ROOT) / "docs" / "live.png").stat().st_size > 10_000
