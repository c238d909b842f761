"""The pages that tell of a debate that is over, in a real browser."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.acceptance.chromium import launch
from tests.acceptance.scene import Scene
from tests.acceptance.ways_of_debates import told


@pytest.fixture(scope="module")
def scene(chromium, tmp_path_factory) -> Iterator[Scene]:
    with sync_playwright() as playwright, Scene(launch(playwright), tmp_path_factory.mktemp("scene")) as scene:
        yield scene


@pytest.fixture
def player(scene: Scene) -> Page:
    page = told("decided", "debate-replay")(scene)
    page.locator(".player__controls").wait_for()
    page.locator("[data-time]").focus()
    return page


def test_a_replay_goes_to_the_end_and_back_to_where_nothing_was_said(player: Page) -> None:
    player.keyboard.press("End")
    expect(player.locator("#msg-64")).to_contain_text("The code is better than I first said.")
    expect(player.locator("#ending")).to_contain_text("Minority opinions")
    player.keyboard.press("Home")
    expect(player.locator("#msg-64")).to_be_hidden()
    expect(player.locator("#ending")).to_be_hidden()
    expect(player.locator("#seat-1")).to_contain_text("None yet")


def test_its_time_line_shows_changes_deadlines_and_stages(player: Page) -> None:
    chapters = player.locator(".player__chapter")
    expect(chapters).to_have_text(["Alone", "Debate", "20", "40", "Last words"])
    states = [mark.get_attribute("data-state") for mark in player.locator(".player__marks [data-state]").all()]
    assert states == ["pending", "mid", "approve", "pending", "approve", "approve"]


def test_a_change_in_the_record_leads_to_its_message_and_that_to_what_was_asked(scene: Scene) -> None:
    page = told("decided")(scene)
    page.locator("#moves").get_by_role("link", name="59").first.click()
    expect(page.locator("#msg-59")).to_be_in_viewport()
    page.locator("#msg-59 summary").click()
    page.locator("#msg-59").get_by_role("link", name="All that was asked").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("All that was asked")
    page.get_by_role("link", name="Back to the record").click()
    expect(page.locator("#transcript")).to_be_in_viewport()


def test_without_scripts_the_record_is_whole(scene: Scene) -> None:
    told("decided")(scene)
    context = scene.context.browser.new_context(java_script_enabled=False, storage_state=scene.context.storage_state())
    page = context.new_page()
    page.goto(scene.page.url)
    expect(page.locator("#msg-64")).to_contain_text("The code is better than I first said.")
    expect(page.get_by_role("link", name="Download XML")).to_be_visible()
    context.close()
