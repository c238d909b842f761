"""Pages in a real browser: how one is opened, started and cancelled, and what is looked for on it."""

import re

from playwright.sync_api import Page, expect

from tests.acceptance.chromium import visit
from tests.acceptance.site import ServedSite
from tests.conftest import JAPAN

DESK = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
VERDICT = re.compile("Approved|Rejected")
END = 60_000
HELD = {"delay": 600}  # not answered as long as a test looks
# as behind a proxy that lets no websocket through: every handshake is refused
NO_SOCKETS = "WebSocket = class extends WebSocket { constructor(url) { super(url.replace('/ws/', '/refused/')) } }"
CASPER, ROUND_2 = "if the aim is clear", "This is round 2 of 3."  # parts of the prompts


def models_of(endpoint):
    return {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "sk-canary-1234567890"}


class Watched:
    """A page that remembers what should never happen on it."""

    def __init__(self, page: Page, site: ServedSite) -> None:
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


def start(page: Page, site: ServedSite, content: str = JAPAN) -> None:
    page.goto(f"{site.url}/")
    page.get_by_label("What is to be decided?").fill(content)
    page.get_by_role("button", name="Start judgement").click()
    page.wait_for_url(re.compile(r"/judgements/[0-9a-f-]{36}/"))


def cancel(page: Page) -> None:
    page.get_by_role("link", name="Cancel judgement").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel judgement").click()
    expect(page.locator("#plate")).to_contain_text("Cancelled")


def expect_nothing_more(page: Page) -> None:
    """Until the page has been told that all three are asked: while no answer comes, no push comes either."""
    expect(page.locator(".agent__reason [data-since]")).to_have_count(3, timeout=END)
    expect(page.locator("#announcer")).not_to_be_empty()  # only a push says it


def states(page: Page) -> list[str]:
    return [page.locator(f"#agent-{n}-state").get_attribute("data-state") or "" for n in (1, 2, 3)]


def flashing(page: Page) -> list[str]:
    """The animation of each block's head, and how long it takes."""
    script = "e => { const s = getComputedStyle(e, '::before'); return s.animationName + ' ' + s.animationDuration }"
    return [page.locator(f"#agent-{n} .agent__head").evaluate(script) for n in (1, 2, 3)]


def middle_of(page, selector):
    box = page.locator(selector).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
