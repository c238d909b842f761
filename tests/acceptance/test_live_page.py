"""What the live page's script does: the connection and what is said of it, panels, readers who are left in peace."""

import re

import pytest
from playwright.sync_api import expect

from tests.acceptance.test_browser import (  # noqa: F401 - its fixtures
    CASPER,
    END,
    HELD,
    ROUND_2,
    VERDICT,
    browser,
    cancel,
    endpoint,
    open_page,
    scripted,
    scripted_site,
    start,
)

FAILS_ONCE = {"behaviour": "status", "error": "invalid_api_key", "times": 1}
# as behind a proxy that lets no websocket through: every handshake is refused
NO_SOCKETS = "WebSocket = class extends WebSocket { constructor(url) { super(url.replace('/ws/', '/refused/')) } }"


@pytest.fixture
def without_sockets(browser, scripted_site, endpoint):  # noqa: F811
    endpoint.reset()
    page = open_page(browser, scripted_site).page
    page.add_init_script(NO_SOCKETS)
    page.clock.install()
    yield page
    page.context.close()


def poll_until(page, selector, word):
    for _ in range(300):
        if word in page.locator(selector).inner_text():
            return
        page.clock.fast_forward(5_000)
        page.wait_for_timeout(100)
    raise AssertionError(f"the polls brought no {word}")


def test_without_a_socket_the_page_asks_for_the_same_leaves(without_sockets, scripted_site, endpoint):  # noqa: F811
    page = without_sockets
    endpoint.script(by_text=[[ROUND_2, {"delay": 3}], ["round 3 of 3.", FAILS_ONCE]])
    start(page, scripted_site)
    mark, panel = page.locator("#conn"), page.locator("#agent-2-detail")
    expect(mark).to_have_text("Connecting")
    page.locator("#agent-2 .agent__more").click()
    page.clock.fast_forward(15_000)
    expect(mark).to_have_text("Every 5 s")
    expect(page.locator("#conn-banner")).to_be_hidden()
    with page.expect_response(lambda answer: answer.status == 304):
        page.clock.fast_forward(5_000)
    poll_until(page, "#verdict-sub", "Failed in round 3.")
    expect(panel).to_be_visible()
    page.get_by_role("button", name="Retry").click()
    page.clock.fast_forward(15_000)
    poll_until(page, "#plate", "APPROVED")
    expect(page).to_have_title(re.compile("^Approved: "))
    assert page.locator("#ws").get_attribute("ws-connect") is None


def test_who_polls_and_has_signed_out_is_told_so(without_sockets, scripted_site, endpoint):  # noqa: F811
    page = without_sockets
    endpoint.script(default=HELD)
    start(page, scripted_site)
    cookies = page.context.cookies()
    page.context.clear_cookies()
    page.clock.fast_forward(15_000)
    expect(page.locator("#conn-banner")).to_contain_text("This page is no longer updated.")
    expect(page.locator("#conn")).to_have_text("Not live")
    page.context.add_cookies(cookies)
    page.reload()
    cancel(page)
