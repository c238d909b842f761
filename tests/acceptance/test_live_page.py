"""What the live page's script does: the connection and what is said of it, panels, readers who are left in peace."""

import re
import statistics
from collections import Counter
from itertools import pairwise

import pytest
from playwright.sync_api import expect

from tests.acceptance import push
from tests.acceptance.pages import (
    END,
    HELD,
    NO_SOCKETS,
    PHONE,
    ROUND_2,
    cancel,
    expect_nothing_more,
    middle_of,
    open_page,
    start,
)
from tests.conftest import some_of

FAILS_ONCE = {"behaviour": "status", "error": "invalid_api_key", "times": 1}
SAID_AFTER = 245  # milliseconds, and a few for the clock of the page
# which versions the live page was told and which it said, and when
HEARD = """heard = []; WebSocket = class extends WebSocket {
    constructor(url) {
        super(url);
        this.live = url.includes("/judgements/");
        this.addEventListener("message", ({data}) => this.live
            && heard.push({told: Number(/^<!--(\\d+)-->/.exec(data)[1]), at: performance.now()}));
    }
    send(version) {
        if (this.live) heard.push({sent: Number(version), at: performance.now()});
        super.send(version);
    }
}"""


@pytest.fixture
def without_sockets(browser, scripted_site, endpoint):
    endpoint.reset()
    page = open_page(browser, scripted_site).page
    page.add_init_script(NO_SOCKETS)
    page.clock.install()
    yield page
    page.context.close()


def poll_until(page, selector, word, least=0):
    for polls in range(300):
        if polls >= least and word in page.locator(selector).inner_text():
            return
        page.clock.fast_forward(5_000)
        page.wait_for_timeout(100)
    raise AssertionError(f"the polls brought no {word}")


def test_without_a_socket_the_page_asks_for_the_same_fragments_to_the_end(without_sockets, scripted_site, endpoint):
    page = without_sockets
    endpoint.script(by_text=[[ROUND_2, HELD]])
    start(page, scripted_site)
    mark = page.locator("#conn")
    expect(mark).to_have_text("Connecting")
    page.locator("#agent-2 .agent__more").click()
    page.clock.fast_forward(15_000)
    expect(mark).to_have_text("Every 5 s")
    poll_until(page, "#verdict-sub", "Round 2 of 3.")
    with page.expect_response(lambda answer: answer.status == 304):
        poll_until(page, "#verdict-sub", "3 of 9 decisions", least=2)
    expect(page.locator("#conn-banner")).to_be_hidden()
    expect(page.locator("#agent-2-detail")).to_be_visible()
    other = page.context.new_page()
    other.goto(f"{page.url}cancel/")
    other.get_by_role("button", name="Cancel judgement").click()
    poll_until(page, "#plate", "CANCELLED")
    expect(page.locator("#announcer")).to_contain_text("Cancelled.")
    expect(page).to_have_title(re.compile(r"^(\(\d+\) )?Cancelled: "))
    assert page.locator("#ws").get_attribute("ws-connect") is None
    other.close()


def test_a_page_says_a_moment_later_and_once_what_it_has(scripted_alone, scripted_site, endpoint):
    scripted_alone.add_init_script(HEARD)
    endpoint.script(by_text=[[ROUND_2, HELD]])
    start(scripted_alone, scripted_site)
    expect(scripted_alone.locator("#verdict-sub")).to_contain_text("3 of 9 decisions")
    scripted_alone.wait_for_function("() => heard.at(-1)?.sent >= Math.max(...heard.map(one => one.told ?? 0))")
    heard = scripted_alone.evaluate("heard")
    said = [one["at"] for one in heard if "sent" in one]
    begun = next(one["at"] for one in heard if "told" in one)
    assert all(later - earlier >= SAID_AFTER for earlier, later in pairwise([begun, *said]))


@pytest.mark.slow
def test_polls_follow_a_failure_and_its_retry(without_sockets, scripted_site, endpoint):
    page = without_sockets
    endpoint.script(by_text=[["round 3 of 3.", FAILS_ONCE]])
    start(page, scripted_site)
    page.clock.fast_forward(15_000)
    poll_until(page, "#verdict-sub", "Failed in round 3, without a verdict.")
    page.get_by_role("button", name="Retry").click()
    page.clock.fast_forward(15_000)
    poll_until(page, "#plate", "APPROVED")
    expect(page).to_have_title(re.compile(r"^(\(\d+\) )?Approved: "))


def test_who_polls_and_has_signed_out_is_told_so(without_sockets, scripted_site, endpoint):
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


# ---- what is said of the connection ---------------------------------------------------------------------------


def test_the_mark_says_live_only_while_the_socket_is_open_and_the_focus_stays(browser, scripted_site, endpoint):
    endpoint.script(default=HELD)
    page = open_page(browser, scripted_site).page
    page.add_init_script("document.addEventListener('htmx:wsConnecting', () => seen = [conn.textContent])")
    start(page, scripted_site)
    mark, banner, button = page.locator("#conn"), page.locator("#conn-banner"), page.locator("[data-cancel]")
    expect(mark).to_have_text("Live")
    assert page.evaluate("seen") == ["Connecting"]
    expect_nothing_more(page)  # what came later would bring a button that can be pressed
    button.focus()
    page.context.set_offline(True)
    expect(banner).to_contain_text("You are offline. The judgement goes on without this page.")
    expect(mark).to_have_text("Offline")
    expect(button).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_hidden()  # it could not be sent
    page.context.set_offline(False)
    expect(mark).to_have_text("Live")
    expect(banner).to_be_hidden()
    expect(page.locator("#announcer")).to_contain_text("Connected again. The page is up to date.")
    expect(button).to_be_focused()
    button.press("Enter")
    other = page.context.new_page()
    other.goto(page.url)
    cancel(other)
    expect(page.locator("#plate")).to_contain_text("Cancelled")
    expect(page.locator("#actions")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Open record")).to_be_focused()
    page.context.close()


@pytest.mark.slow
def test_who_has_it_open_too_many_times_is_told_so(browser, scripted_site, endpoint):
    endpoint.script(default=HELD)
    page = open_page(browser, scripted_site).page
    start(page, scripted_site)
    expect(page.locator("#conn")).to_have_text("Live")
    path = "/ws" + page.url.removeprefix(scripted_site.url)
    page.evaluate(
        """path => Promise.all(Array.from({ length: 19 }, () => new Promise(heard => {
            new WebSocket(path).onmessage = heard;
        })))""",
        path,
    )
    late = page.context.new_page()
    late.goto(page.url)
    expect(late.locator("#conn-banner")).to_contain_text("You have this judgement open too many times.")
    expect(late.locator("#conn")).to_have_text("Not live")
    cancel(page)
    page.context.close()


# ---- readers are left in peace --------------------------------------------------------------------------------


# what moves without being asked to, from when the fonts are there; the links of the bar make room for its numbers
SHIFTS = """
    globalThis.shifts = [];
    // before it has loaded no font is on its way, and all are said to be ready
    addEventListener("load", () => document.fonts.ready.then(() => requestAnimationFrame(() => {
        const there = performance.now();
        new PerformanceObserver(list => shifts.push(
            ...list.getEntries().filter(entry => entry.startTime > there
                && entry.sources.some(({ node }) => !node?.parentElement?.closest(".bar"))).map(entry =>
                [entry.value, ...entry.sources.map(({ node }) => node?.id || node?.className || node?.nodeName)])
        )).observe({ type: "layout-shift", buffered: true });
    })));
"""


# ---- panels ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_decisions_are_pushed_into_the_page(scripted_alone, scripted_site, endpoint):
    """Within 100 ms where the machine has nothing else to do: `python -m tests.acceptance.push` measures it."""
    endpoint.script(**push.APART)
    scripted_alone.add_init_script(push.REMEMBER)
    start(scripted_alone, scripted_site)
    expect(scripted_alone.locator("#plate")).to_contain_text("Approved", timeout=END)
    after = push.milliseconds(scripted_alone, scripted_site.log.parent)
    print(f"in the page after {sorted(after)} ms")
    assert len(after) == 9
    assert statistics.median(after) < 1_000


# from when to when each block waits, as the page changes: what is painted is seldom looked at on a busy machine
YELLOW = """
    globalThis.yellow = {};
    const look = () => {
        const there = new Set();
        for (const head of document.querySelectorAll(".agent__state[data-state=pending]"))
            there.add(`${head.id} ${head.textContent}`);
        for (const head of there) yellow[head] ??= {from: performance.now()};
        for (const head in yellow) if (!there.has(head)) yellow[head].to ??= performance.now();
    };
    const all = {subtree: true, childList: true, attributes: true, characterData: true};
    new MutationObserver(look).observe(document, all);
"""


@pytest.mark.slow
def test_who_has_decided_is_seen_waiting_also_when_all_three_are_equally_fast(scripted_alone, scripted_site, endpoint):
    endpoint.script(delay=2)  # the page is there before the first of them answers
    scripted_alone.add_init_script(YELLOW)
    start(scripted_alone, scripted_site)
    expect(scripted_alone.locator("#plate")).to_contain_text("Approved", timeout=END)
    scripted_alone.wait_for_function("Object.values(yellow).every(seen => seen.to)")
    seen = scripted_alone.evaluate("yellow")
    assert Counter(head.split()[0] for head in seen) == {f"agent-{n}-state": 2 for n in (1, 2, 3)}
    assert all(one["to"] - one["from"] >= 600 for one in seen.values())


def test_nothing_moves_while_reasons_grow(scripted_alone, scripted_site, endpoint, judged):
    growing = {"reason": "It is clear, and the effort fits its aim. " * 25, "chunks": 6, "chunk_delay": 0.3}
    endpoint.script(by_text=[["This is round 1 of 3.", growing]], delay=0.2)
    scripted_alone.goto(judged)  # brings the fonts
    scripted_alone.add_init_script(SHIFTS)
    start(scripted_alone, scripted_site)
    growing = scripted_alone.locator("#agent-3-reason [data-stream]")
    expect(growing).to_contain_text("It is clear", timeout=END)
    expect(growing).to_contain_text(re.compile("It is clear.*It is clear"))  # it grows in its place
    expect(scripted_alone.locator("#plate")).to_contain_text("Approved", timeout=END)
    # of what is asked there are fewer lines after each answer
    assert [moved for moved in scripted_alone.evaluate("shifts") if moved[1] != "asking"] == []


def test_a_panel_opens_a_moment_after_the_mouse_comes_and_closes_after_it_left(reader, judged):
    reader.clock.install(time=0)
    reader.goto(judged)
    reader.clock.pause_at(60_000)
    panel = reader.locator("#agent-2-detail")
    reader.mouse.move(*middle_of(reader, "#agent-2 .agent__name"))
    reader.clock.run_for(240)
    expect(panel).to_be_hidden()
    reader.clock.run_for(20)
    expect(panel).to_be_visible()
    reader.mouse.move(*middle_of(reader, "#agent-2-detail .f"))  # it can be reached
    reader.clock.run_for(1_000)
    expect(panel).to_be_visible()
    reader.mouse.move(5, 5)
    reader.clock.run_for(290)
    expect(panel).to_be_visible()
    reader.clock.run_for(20)
    expect(panel).to_be_hidden()


def test_panels_follow_focus_arrows_and_clicks(reader, judged):
    reader.goto(judged)
    panel = {number: reader.locator(f"#agent-{number}-detail") for number in (1, 2, 3)}
    button = {number: reader.locator(f"#agent-{number} .agent__more") for number in (1, 2, 3)}
    reader.locator(".verdict .btn").last.focus()
    reader.keyboard.press("Tab")
    expect(button[1]).to_be_focused()
    expect(panel[1]).to_be_visible()
    expect(panel[1]).to_contain_text(re.compile("Round 3.*Round 2.*Round 1", re.DOTALL))
    for key, number in (("ArrowLeft", 2), ("ArrowRight", 3), ("ArrowUp", 1), ("ArrowDown", 2)):
        reader.keyboard.press(key)
        expect(button[number]).to_be_focused()
        assert [panel[n].is_visible() for n in (1, 2, 3)] == [n == number for n in (1, 2, 3)]
    reader.keyboard.press("Escape")
    expect(panel[2]).to_be_hidden()
    expect(button[2]).to_be_focused()
    reader.keyboard.press("Enter")
    expect(panel[2]).to_be_visible()
    reader.keyboard.press("Escape")
    expect(button[2]).to_be_focused()
    button[3].click()
    expect(panel[3]).to_be_focused()
    reader.mouse.move(5, 5)
    reader.wait_for_timeout(400)  # longer than what closes a panel that is not pinned
    expect(panel[3]).to_be_visible()
    reader.mouse.click(5, 300)
    expect(panel[3]).to_be_hidden()


@pytest.mark.parametrize("size", some_of([{"width": 320, "height": 640}, PHONE], 1), ids=str)
def test_a_phone_s_sheet_leaves_the_plate_in_view_and_scrolls_inside(browser, scripted_site, judged, size):
    page = open_page(browser, scripted_site, size, has_touch=True, is_mobile=True).page
    page.goto(judged)
    sheet, plate = page.locator("#agent-3-detail"), page.locator("#plate")
    page.locator("#agent-3").tap()
    expect(sheet).to_be_visible()
    top, above = sheet.bounding_box()["y"], plate.bounding_box()
    assert page.locator(".bar").bounding_box()["height"] <= above["y"] < above["y"] + above["height"] <= top
    assert sheet.bounding_box()["height"] <= 0.78 * size["height"] + 1
    assert sheet.evaluate("sheet => sheet.scrollHeight > sheet.clientHeight")
    assert "Line one.\nLine two." in sheet.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    page.touchscreen.tap(*middle_of(page, "#plate"))
    expect(sheet).to_be_hidden()
    page.context.close()


# ---- what a first visit costs ---------------------------------------------------------------------------------

MOST_BYTES = 250_000


def test_a_first_visit_is_light_and_asks_no_other_host(reader, judged, scripted_site):
    asked, kinds, weights = [], {}, Counter()
    devtools = reader.context.new_cdp_session(reader)
    devtools.send("Network.enable")
    devtools.on("Network.requestWillBeSent", lambda event: asked.append(event["request"]["url"]))
    devtools.on("Network.responseReceived", lambda event: kinds.update({event["requestId"]: event["type"]}))
    devtools.on(
        "Network.loadingFinished",
        lambda event: weights.update({kinds[event["requestId"]]: int(event["encodedDataLength"])}),
    )
    reader.goto(judged)
    reader.evaluate("document.fonts.ready.then(() => null)")
    reader.wait_for_load_state("networkidle")
    assert [url for url in asked if not url.startswith(f"{scripted_site.url}/")] == []
    assert {"Document", "Stylesheet", "Script", "Font"} <= weights.keys()
    assert weights.total() < MOST_BYTES
