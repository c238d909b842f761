"""What is pressed on a live page is what it was when it is let go of, whatever came meanwhile."""

import time

import pytest
from playwright.sync_api import expect

from tests.acceptance.pages import END, HELD, NO_SOCKETS, PHONE, ROUND_2, cancel, expect_nothing_more, open_page, start
from tests.conftest import some_of

CLICKED = "clicked = ''; addEventListener('click', ({target}) => (clicked = target.textContent), true)"


class Mouse:
    def __init__(self, page, pressed):
        pressed.scroll_into_view_if_needed()
        box = pressed.bounding_box()
        self.page, self.at = page, (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def down(self):
        self.page.mouse.move(*self.at)
        self.page.mouse.down()

    def up(self):
        self.page.mouse.up()


class Finger(Mouse):
    """After it has left, the click comes in a task of its own, and hits what lies there by then."""

    def down(self):
        self.browser = self.page.context.new_cdp_session(self.page)
        at = dict(zip("xy", self.at, strict=True))
        self.browser.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [at]})

    def up(self):
        self.browser.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


class Space(Mouse):
    def __init__(self, page, pressed):
        self.page = page
        pressed.focus()

    def down(self):
        self.page.keyboard.down("Space")

    def up(self):
        self.page.keyboard.up("Space")


@pytest.fixture
def page(browser, scripted_site, endpoint):
    endpoint.reset()
    endpoint.script(by_text=[[ROUND_2, HELD]])
    page = open_page(browser, scripted_site, PHONE, has_touch=True, is_mobile=True).page
    yield page
    page.context.close()


def other_of(page):
    other = page.context.new_page()
    other.goto(page.url)
    return other


# the mouse is pressed without a socket below
@pytest.mark.parametrize(
    ("pointer", "pressed"),
    some_of([(Finger, "[data-cancel]"), (Space, "#agent-2 .agent__more"), (Mouse, "[data-cancel]")], 2),
)
def test_news_wait_for_what_is_pressed(pointer, pressed, page, scripted_site):
    start(page, scripted_site)
    expect(page.locator("#verdict-sub")).to_contain_text("Round 2 of 3.", timeout=END)
    expect_nothing_more(page)
    other = other_of(page)
    page.evaluate(CLICKED)
    page.clock.install()  # so that the press may be longer than a press is
    page.clock.pause_at(time.time() + 5)
    words = page.locator(pressed).text_content()
    press = pointer(page, page.locator(pressed))
    press.down()
    cancel(other)
    other.wait_for_timeout(500)  # its own message has come by then
    expect(page.locator("#plate")).to_contain_text("Judging")
    page.clock.resume()
    press.up()
    expect(page.locator("#plate")).to_contain_text("Cancelled")
    page.wait_for_function("words => clicked === words", arg=words)


@pytest.mark.slow
def test_what_is_asked_for_without_a_socket_waits_too(page, scripted_site):
    page.add_init_script(NO_SOCKETS)
    start(page, scripted_site)
    page.reload()  # it shows what is there
    expect(page.locator("#plate")).to_contain_text("Judging", timeout=END)
    other = other_of(page)
    page.clock.install()
    page.clock.pause_at(time.time() + 5)
    press = Mouse(page, page.locator("[data-cancel]"))
    press.down()
    cancel(other)
    page.evaluate("htmx.trigger('#poll', 'due')")
    other.wait_for_timeout(500)  # it has come by then
    expect(page.locator("#plate")).to_contain_text("Judging")
    page.clock.resume()
    press.up()
    expect(page.locator("#plate")).to_contain_text("Cancelled", timeout=END)  # by the next one
