"""The live page of a debate that goes on, where who types is left in peace and who has the floor speaks once; and the
pages that tell of one that is over."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from tests.acceptance.pages import END, open_page
from tests.acceptance.ways_of_debates import cast
from tests.waiting import wait_until

PUSHES = """let pushes = 0;
    document.addEventListener("htmx:wsAfterMessage", () => document.documentElement.dataset.pushes = ++pushes)"""


@pytest.fixture
def page(browser, site):
    """Of somebody who is the chair, and sits at the table."""
    site.visitor_session  # noqa: B018 - only then there is somebody
    key = cast(site, "live", "rehearsal/magi")
    watched = open_page(browser, site)
    watched.page.add_init_script(PUSHES)
    watched.page.goto(f"{site.url}{reverse('debate-live', args=[key])}")
    yield watched.page
    watched.page.context.close()
    assert watched.complaints == []


@pytest.mark.slow
def test_words_stay_through_a_reload_and_many_pushes_and_a_turn_in_two_tabs_is_one_message(page: Page):
    say = page.get_by_role("textbox", name="Say something to the table")
    say.press_sequentially("Elin, can both run")
    page.wait_for_function("words => JSON.stringify(history.state).includes(words)", arg="Elin, can both run")
    page.reload()
    expect(say).to_have_value("Elin, can both run", timeout=END)
    say.focus()
    grown = re.compile(r"\d\d")
    expect(page.locator("html")).to_have_attribute("data-pushes", grown, timeout=END)
    expect(say).to_be_focused(timeout=END)
    page.get_by_role("button", name="20 messages more").click()
    expect(page.get_by_text("Done.", exact=True)).to_be_visible(timeout=END)
    expect(say).to_have_value("Elin, can both run", timeout=END)
    hand_over(page)
    own = page.get_by_label("What you say")
    own.fill("From the first tab, and never sent.", timeout=END)
    speak_elsewhere(page, "I have said it once, from another tab.")
    expect(page.locator(".mine__over")).to_be_visible(timeout=END)
    expect(own).to_have_value("From the first tab, and never sent.")
    said = page.locator(".log__list article", has_text="I have said it once")
    expect(said).to_have_count(1)
    close(page)


def hand_over(page: Page) -> None:
    page.get_by_role("combobox", name="To whom").select_option(label="To Elin Sato")
    page.get_by_label("and has the floor next").check()
    page.get_by_role("button", name="Say", exact=True).click()
    expect(page.locator("#say-line")).to_contain_text("Said.", timeout=END)
    expect(page.get_by_role("textbox", name="Say something to the table")).to_have_value("")


def speak_elsewhere(page: Page, words: str) -> None:
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_label("What you say").fill(words)
    other.get_by_role("button", name="Say it").click()
    expect(other.locator(".mine__done")).to_contain_text("It is said.", timeout=END)
    other.close()


def close(page: Page) -> None:
    page.get_by_text("Close the debate").click()
    page.get_by_role("button", name="Without last words").click()
    expect(page.locator("#plate")).to_contain_text(re.compile("No decision|HIRE"), timeout=END)


def test_what_is_typed_while_the_next_turn_is_on_its_way_stays(browser, site):
    site.visitor_session  # noqa: B018
    key = cast(site, "live", "rehearsal/instant")
    page, held = open_page(browser, site).page, []
    page.goto(f"{site.url}{reverse('debate-live', args=[key])}")
    own = page.get_by_label("What you say")
    expect(own).to_be_visible(timeout=END)
    page.route("**/turn/", lambda route: held.append(route))
    with page.expect_request("**/turn/"):
        page.evaluate("asked.dataset.turns = `${mine.dataset.seat}:999`")
        for _ in range(3):
            page.evaluate("document.querySelector('.log').append(document.createComment('as a push does'))")
            page.wait_for_timeout(50)
    own.fill("Half a sen")
    with page.expect_response("**/turn/"):
        for route in held:
            route.continue_()
    page.wait_for_timeout(500)
    expect(own).to_have_value("Half a sen")
    assert len(held) == 1
    page.context.close()


def test_without_scripts_a_turn_is_taken_and_what_does_not_fit_comes_back(browser, site):
    site.visitor_session  # noqa: B018
    key = cast(site, "live", "rehearsal/instant")
    page = open_page(browser, site, java_script_enabled=False).page
    page.goto(f"{site.url}{reverse('debate-live', args=[key])}")
    own = page.get_by_label("What you say")

    def there_after_a_reload():  # which is how the page says that one reads on
        page.wait_for_timeout(300)
        page.reload()
        return own.count()

    wait_until(there_after_a_reload, "the turn")
    own.fill("Both run until September.")
    page.get_by_label("Your position", exact=True).select_option("HIRE")
    page.get_by_role("button", name="Say it").click()
    expect(page.locator(".mine__line")).to_be_visible()
    expect(own).to_have_value("Both run until September.")
    page.get_by_label("Reason for your position").fill("The staff can do it.")
    page.get_by_role("button", name="Say it").click()
    expect(page.locator(".log__list article", has_text="Both run until September.")).to_have_count(1)
    page.context.close()


# ---- told of when it is over ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def over(site) -> str:
    site.visitor_session  # noqa: B018
    return cast(site, "decided")


@pytest.fixture
def record(browser, site, over):
    watched = open_page(browser, site)
    watched.page.goto(f"{site.url}{reverse('debate-record', args=[over])}")
    yield watched.page
    watched.page.context.close()
    assert watched.complaints == []


def test_a_replay_goes_to_the_end_and_back_and_its_time_line_shows_the_course(record: Page, site, over) -> None:
    record.goto(f"{site.url}{reverse('debate-replay', args=[over])}")
    record.locator(".player__controls").wait_for()
    expect(record.locator(".player__chapter")).to_have_text(["Alone", "Debate", "20", "40", "Last words"])
    states = [mark.get_attribute("data-state") for mark in record.locator(".player__marks [data-state]").all()]
    assert states == ["pending", "mid", "approve", "pending", "approve", "approve"]
    record.locator("[data-time]").focus()
    record.keyboard.press("End")
    expect(record.locator("#msg-64")).to_contain_text("The code is better than I first said.")
    expect(record.locator("#ending")).to_contain_text("Minority opinions")
    record.keyboard.press("Home")
    expect(record.locator("#msg-64")).to_be_hidden()
    expect(record.locator("#ending")).to_be_hidden()
    expect(record.locator("#seat-1")).to_contain_text("None yet")


def test_a_change_in_the_record_leads_to_its_message_and_that_to_what_was_asked(record: Page) -> None:
    record.locator("#moves").get_by_role("link", name="59").first.click()
    expect(record.locator("#msg-59")).to_be_in_viewport()
    record.locator("#msg-59 summary").click()
    record.locator("#msg-59").get_by_role("link", name="All that was asked").click()
    expect(record.get_by_role("heading", level=1)).to_have_text("All that was asked")
    record.get_by_role("link", name="Back to the record").click()
    expect(record.locator("#transcript")).to_be_in_viewport()


def test_without_scripts_the_record_is_whole(browser, site, over) -> None:
    page = open_page(browser, site, java_script_enabled=False).page
    page.goto(f"{site.url}{reverse('debate-record', args=[over])}")
    expect(page.locator("#msg-64")).to_contain_text("The code is better than I first said.")
    expect(page.get_by_role("link", name="Download XML")).to_be_visible()
    page.context.close()
