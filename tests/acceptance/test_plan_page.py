"""How somebody who is new comes to a plan that is done, in a real browser, and decides where things stand."""

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.acceptance.pages import open_page
from tests.acceptance.site import ServedSite
from tests.waiting import wait_until

TASK = (
    "Look for “Ada Lovelace” with people.find.\n"
    "Add a task “Sign the contract” with tasks.add.\n"
    "Send a letter “Welcome” with mail.send to ada@example.org."
)


BEGUN_ANEW = "for (const part of document.querySelectorAll('.at')) part.remove()"
CHANGED = """{
    const { gate } = document.querySelector("#at-2 .at").dataset;
    document.querySelector(`[data-place] [data-gate="${gate}"]`).dataset.mark = "another";
    document.querySelector('#plan').append(document.createComment('as a push does'));
}"""
TOUCHED = "document.querySelector('#plan').append(document.createComment('as a push does'))"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedSite]:
    with ServedSite(tmp_path_factory.mktemp("site"), MAGI_DEFAULT_MODEL="rehearsal/instant") as site:
        yield site


@pytest.fixture(scope="module")
def begun(browser: Browser, site: ServedSite) -> str:
    """The address of a plan that waits for its approval."""
    page = open_page(browser, site).page
    begin(page, site)
    page.context.close()
    return page.url


@pytest.mark.slow
def test_gates_that_open_together_come_once_each_though_the_page_is_told_of_more_meanwhile(desk: Page, begun: str):
    see(desk, begun)
    held: list[Route] = []
    desk.route("**/gates/*/here/", lambda route: held.append(route))
    desk.evaluate(BEGUN_ANEW)
    wait_until(lambda: desk.wait_for_timeout(50) or len(held) == 3, "all three gates are asked for")
    for _ in range(3):
        desk.evaluate(TOUCHED)
        desk.wait_for_timeout(100)
    for route in held:
        route.continue_()
    desk.unroute("**/gates/*/here/")
    for place in (0, 2, 3):  # the first step only reads
        expect(desk.locator(f"#at-{place} .at")).to_have_count(1)
    assert len(held) == 3


@pytest.mark.slow
def test_a_gate_that_the_site_could_not_bring_is_asked_for_again(browser: Browser, site: ServedSite, begun: str):
    page, asked = open_page(browser, site).page, list[Route]()
    see(page, begun)

    def away_at_first(route: Route) -> None:
        asked.append(route)
        route.fulfill(status=503) if len(asked) <= 3 else route.continue_()

    page.route("**/gates/*/here/", away_at_first)
    page.evaluate(BEGUN_ANEW)
    page.evaluate(TOUCHED)
    expect(page.locator(".at")).to_have_count(3)
    assert len(asked) == 6
    page.context.close()


def test_a_gate_that_is_pressed_is_not_replaced_by_what_has_changed(browser: Browser, site: ServedSite):
    desk = open_page(browser, site).page
    begin(desk, site)  # a page that has just been opened is soon told all of it again
    pressed = desk.locator("#at-2 .at[data-seen]")
    desk.evaluate("document.querySelector('#at-2 .at').dataset.seen = ''")
    held: list[Route] = []
    desk.route("**/gates/*/here/", lambda route: held.append(route))
    with desk.expect_request("**/gates/*/here/"):
        desk.evaluate(CHANGED)
    desk.locator("#at-2 .at").get_by_role("button", name="Approve").hover()
    desk.clock.install()  # so that the press may be longer than a press is
    desk.clock.pause_at(time.time() + 5)
    desk.mouse.down()
    with desk.expect_response("**/gates/*/here/"):
        held[0].continue_()
    desk.unroute("**/gates/*/here/")
    desk.wait_for_timeout(300)
    expect(pressed).to_have_count(1)
    desk.clock.resume()
    desk.mouse.move(0, 0)
    desk.mouse.up()
    expect(pressed).to_have_count(0)
    expect(desk.locator("#at-2 .at")).to_have_count(1)
    desk.context.close()


def begin(desk: Page, site: ServedSite) -> None:
    desk.goto(f"{site.url}/plans/new/")
    desk.locator("#task").fill(TASK)
    desk.get_by_role("button", name="Plan it").last.click()
    desk.wait_for_url("**/plans/*-*/")
    see(desk, desk.url)


def see(desk: Page, begun: str) -> None:
    if desk.url != begun:
        desk.goto(begun)
    expect(desk.get_by_role("heading", name="Approve all 3 steps?")).to_be_visible(timeout=60_000)
    expect(desk.locator(".at")).to_have_count(3)


@pytest.mark.slow
def test_from_new_to_a_plan_that_is_done_takes_less_than_two_minutes(desk: Page, site: ServedSite):
    began = time.monotonic()
    begin(desk, site)
    change(desk, 2, "Add a task “Sign and scan the contract” with tasks.add.")
    desk.get_by_role("button", name="Approve the plan and all its steps").click()
    letter = desk.locator("#at-3 .at")
    expect(letter).to_contain_text("mail.send, which reaches out", timeout=60_000)
    letter.get_by_role("button", name="Approve").click()
    expect(desk.locator("#plate")).to_contain_text(re.compile("done", re.IGNORECASE), timeout=60_000)
    expect(desk.locator("#place-2")).to_contain_text("Sign and scan")
    assert time.monotonic() - began < 120


def change(desk: Page, number: int, action: str) -> None:
    """And what is being typed at another step stays, though the page is told of the change."""
    desk.locator("#at-3 summary", has_text="Reject").click()
    desk.locator("#at-3").get_by_label("Reason").fill("Perhaps")
    desk.get_by_role("link", name=f"Change step {number}").click()
    form = desk.locator(f"#edit-{number} form")
    form.get_by_label("Action").fill(action)
    form.get_by_role("button", name="Change it").click()
    expect(desk.locator(f"#place-{number}")).to_contain_text("Changed by a person")
    for place in (number, 0):  # what was asked before is no more: to press that would decide nothing
        expect(desk.locator(f"#at-{place} .at")).to_contain_text(action)
    expect(desk.locator("#at-3").get_by_label("Reason")).to_have_value("Perhaps")
    desk.locator("#at-3").get_by_label("Reason").fill("")
