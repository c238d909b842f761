"""The page of what waits, in a real browser: it says at once what is new, and asks for nothing unasked."""

import re

import pytest
from playwright.sync_api import expect

from tests.acceptance.pages import END, VERDICT, open_page, start
from tests.acceptance.site import ServedSite
from tests.conftest import JAPAN

# stands where the browser's notices do: what was asked for, and what was shown
NOTICES = """
window.asked = 0;
window.shown = [];
window.Notification = class extends EventTarget {
  static permission = "default";
  static async requestPermission() {
    window.asked += 1;
    return (Notification.permission = "granted");
  }
  constructor(title, { body }) {
    super();
    window.shown.push(body);
  }
};
"""
TASK = "Look for “Ada Lovelace” with people.find."


LAST_ROUND_LATER = [["This is round 3 of 3.", {"delay": 5}]]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ServedSite(tmp_path_factory.mktemp("site"), MAGI_DEFAULT_MODEL="rehearsal/instant") as site:
        yield site


@pytest.fixture
def page(browser, site):
    watched = open_page(browser, site)
    yield go_to(watched.page, site)
    watched.page.context.close()
    assert watched.complaints == []


def go_to(page, site):
    page.add_init_script(NOTICES)
    page.goto(f"{site.url}/waiting/")
    expect(page.locator("#tell-state")).to_contain_text("Off in this browser")
    return page


def plan(page, site):
    """In another window, until it waits for who wrote it."""
    other = page.context.new_page()
    plan_on(other, site)
    other.close()


def plan_on(page, site):
    page.goto(f"{site.url}/plans/new/")
    page.locator("#task").fill(TASK)
    page.get_by_role("button", name="Plan it").last.click()
    page.wait_for_url("**/plans/*-*/")


def test_what_is_new_is_said_at_once_and_moves_nothing(page, site):
    before = page.locator(".due").count()
    plan(page, site)
    newer = page.locator("#waiting-newer")
    expect(newer).to_contain_text("1 more")
    expect(page.locator("#announcer")).to_contain_text("Waits for you:")
    expect(page.locator(".nav").get_by_role("link", name="for you")).to_be_visible()
    expect(page).to_have_title(f"({before + 1}) Waits for you · MAGI")
    expect(page.locator(".due")).to_have_count(before)
    newer.get_by_role("link").click()
    expect(page.locator(".due")).to_have_count(before + 1)
    assert page.evaluate("[asked, shown]") == [0, []]


def test_a_browser_is_asked_by_a_click_alone_and_then_shows_what_is_new(page, site):
    switch = page.get_by_role("button", name="Notices in this browser")
    expect(switch).to_have_attribute("aria-pressed", "false")
    switch.click()
    expect(switch).to_have_attribute("aria-pressed", "true")
    plan(page, site)
    expect(page.locator("#waiting-newer")).to_contain_text("1 more")
    assert page.evaluate("[asked, shown.length]") == [1, 1]
    switch.click()
    expect(page.locator("#tell-state")).to_contain_text("Off in this browser")


def test_a_live_page_counts_what_waits(page, site):
    before = page.locator(".due").count()
    watched = page.context.new_page()
    plan_on(watched, site)
    number = watched.locator(".nav .nav__n")
    expect(watched.get_by_role("button", name="Approve the plan and all its steps")).to_be_visible(timeout=END)
    for more in (1, 2):  # the bar is told later than the page
        expect(number).to_have_text(str(before + more))
        expect(watched).to_have_title(re.compile(rf"^\({before + more}\) "))
        if more == 1:
            plan(page, site)


@pytest.mark.slow
def test_who_wants_notices_and_looks_elsewhere_is_told_that_it_is_over(browser, scripted_site, endpoint):
    endpoint.reset()
    endpoint.script(by_text=LAST_ROUND_LATER)
    watched = open_page(browser, scripted_site)
    for script in (NOTICES, "Notification.permission = 'granted'", "localStorage.setItem('magi-notices', 'on')"):
        watched.page.add_init_script(script)
    watched.page.add_init_script("Object.defineProperty(document, 'hidden', { get: () => window.elsewhere })")
    start(watched.page, scripted_site)
    watched.page.evaluate("window.elsewhere = true")
    expect(watched.page.locator("#plate")).to_contain_text(VERDICT, timeout=END)
    assert watched.page.evaluate("shown").count(JAPAN) == 1  # beside others of theirs that ended meanwhile
    watched.page.context.close()
    assert watched.complaints == []


@pytest.mark.slow
def test_the_bar_and_the_icon_say_what_is_under_way_and_elsewhere_its_end(scripted_alone, scripted_site, endpoint):
    endpoint.script(by_text=LAST_ROUND_LATER)
    page = go_to(scripted_alone, scripted_site)
    page.get_by_role("button", name="Notices in this browser").click()
    other = page.context.new_page()
    other.add_init_script(NOTICES)
    start(other, scripted_site)
    expect(page.locator(".nav .nav__runs")).to_have_text("1")
    expect(page.locator("#icon")).to_have_attribute("href", re.compile(r"/icon/\d+/1\.svg"))
    expect(other.locator("#plate")).to_contain_text(VERDICT, timeout=END)
    expect(page.locator(".nav .nav__runs")).to_have_count(0)
    assert page.evaluate("shown") == [JAPAN]
    other.locator(".account summary").click()
    expect(other.get_by_role("button", name="Notices in this browser")).to_be_visible()
