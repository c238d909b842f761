"""A judgement that is over, played again in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from tests.acceptance.pages import PHONE, middle_of, open_page

SOME_TIME = r"(?!0:00)\d+:\d\d"  # how long it took hangs on the machine


def test_a_replay_plays_to_the_verdict_and_goes_back(reader, judged):
    reader.clock.install(time=0)
    reader.clock.pause_at(1_000)  # else it may be over before anybody looks whether it plays
    reader.goto(judged)
    reader.get_by_role("link", name="Replay").first.click()
    player, plate = reader.get_by_role("region", name="Replay"), reader.locator("#plate")
    expect(player.get_by_role("button", name="Pause")).to_be_visible()
    player.get_by_label("Speed").select_option("20x")
    reader.clock.resume()
    expect(plate).to_contain_text("Approved")
    expect(reader.locator("#announcer")).to_contain_text("Approved. 2 of 3 agents approve.")
    player.get_by_role("button", name="Step back").click()
    expect(reader.locator("#verdict-sub")).to_contain_text("Round 3 of 3. 9 of 9 decisions are in.")
    slider = player.get_by_role("slider", name="Time")
    slider.focus()
    reader.keyboard.press("Home")
    expect(plate).to_contain_text("Idle")
    expect(player.locator(".player__clock")).to_have_text(re.compile(f"0:00 of {SOME_TIME}"))
    reader.keyboard.press("ArrowRight")
    expect(reader.locator("#verdict-sub")).to_contain_text("Round 1 of 3. 0 of 9 decisions are in.")
    expect(reader.locator("#announcer")).to_have_text("Round 1 started. Three agents are judging.")
    reader.keyboard.press("End")
    expect(plate).to_contain_text("Approved")
    expect(reader.locator("#announcer")).to_contain_text("Approved. 2 of 3 agents approve.")
    expect(slider).to_have_attribute("aria-valuetext", re.compile(rf"({SOME_TIME}) of \1"))
    reader.keyboard.press("ArrowLeft")
    reader.keyboard.press("Space")
    expect(plate).to_contain_text("Approved")
    assert reader.locator("#matrix td .lamp[data-state=reject]").count() == 3


@pytest.mark.slow
def test_a_replay_pauses_and_keeps_an_open_panel(reader, judged):
    reader.clock.install(time=0)
    reader.clock.pause_at(1_000)
    reader.goto(f"{judged}replay/")
    expect(reader.get_by_role("button", name="Pause")).to_be_visible()
    reader.clock.run_for(300)
    reader.get_by_role("button", name="Pause").click()
    reader.locator("#agent-3 .agent__more").click()
    reader.keyboard.press("End")  # outside of the bar it is no key of the replay
    slider = reader.get_by_role("slider", name="Time")
    before = slider.input_value()
    assert 0 < float(before) < 0.5
    reader.clock.run_for(5_000)
    assert slider.input_value() == before
    slider.press("End")
    expect(reader.locator("#agent-3-rounds")).to_contain_text("Line two.")
    expect(reader.locator("#agent-3-detail")).to_be_visible()


@pytest.mark.slow
def test_a_replay_waits_for_the_hand_that_holds_its_knob_and_leaves_panels_open(reader, judged):
    reader.clock.install(time=0)
    reader.clock.pause_at(1_000)
    reader.goto(f"{judged}replay/")
    expect(reader.get_by_role("button", name="Pause")).to_be_visible()
    slider, panel = reader.get_by_role("slider", name="Time"), reader.locator("#agent-3-detail")
    reader.locator("#agent-3 .agent__more").click()
    reader.mouse.move(*middle_of(reader, "[data-time]"))
    reader.mouse.down()
    held = slider.input_value()
    reader.clock.run_for(300)
    assert slider.input_value() == held
    reader.mouse.up()
    reader.clock.run_for(1_000 * (1 + float(slider.get_attribute("max"))))
    expect(reader.locator("#plate")).to_contain_text("Approved")
    expect(panel).to_be_visible()


def test_a_replay_waits_for_who_wants_less_motion_and_needs_scripts(browser, scripted_site, judged):
    still = open_page(browser, scripted_site, reduced_motion="reduce").page
    still.goto(f"{judged}replay/")
    expect(still.get_by_role("button", name="Play")).to_be_visible()
    expect(still.locator("#plate")).to_contain_text("Idle")
    still.context.close()
    plain = open_page(browser, scripted_site, java_script_enabled=False).page
    plain.goto(f"{judged}replay/")
    plain.get_by_role("region", name="Replay").get_by_role("link", name="The judgement").click()
    expect(plain.locator("#plate")).to_contain_text("Approved")
    plain.context.close()


def test_a_replay_is_kept_as_one_page_that_plays_from_a_disk_without_a_network(reader, judged, browser, tmp_path):
    kept = reader.context.request.get(f"{judged}replay.html")
    (tmp_path / "replay.html").write_bytes(kept.body())
    with browser.new_context(offline=True, viewport=PHONE) as context:
        page, complaints = context.new_page(), []
        page.on("console", lambda message: message.type == "error" and complaints.append(message.text))
        page.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)
        page.goto((tmp_path / "replay.html").as_uri())
        player = page.get_by_role("region", name="Replay")
        expect(player).to_contain_text("Nothing is asked again. It ended: Approved.")
        player.get_by_role("slider", name="Time").press("Home")
        expect(page.locator("#plate")).to_contain_text("Idle")
        player.get_by_role("button", name="Step forward").click()
        expect(page.locator("#verdict-sub")).to_contain_text("Round 1 of 3. 0 of 9 decisions are in.")
        player.get_by_role("slider", name="Time").press("End")
        expect(page.locator("#plate")).to_contain_text("Approved")
        expect(page.locator("#agent-3-rounds")).to_contain_text("Line two.")
        assert page.evaluate("document.fonts.ready.then(() => document.fonts.check('16px \"IBM Plex Sans\"'))")
        assert not page.locator("a[href^='/'], a[href^='file']").count()
        assert complaints == []
