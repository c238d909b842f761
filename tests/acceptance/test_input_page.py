"""The pages on which a judgement or a council is written, in a real browser."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.acceptance.pages import END, HELD, VERDICT, open_page
from tests.acceptance.site import ServedSite
from tests.conftest import JAPAN
from tests.endpoint import ScriptedEndpoint


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ServedSite(tmp_path_factory.mktemp("site"), MAGI_DEFAULT_MODEL="rehearsal/instant") as site:
        yield site


def test_who_goes_back_finds_all_that_was_written(scripted, scripted_site, endpoint):
    endpoint.script(default=HELD)
    scripted.goto(scripted_site.url)
    scripted.get_by_text("Release gate").click()
    name, model = scripted.locator("#a1-name"), scripted.locator("#a1-fallback")
    expect(name).to_have_value("Reliability engineer")
    scripted.get_by_text("Change the three agents").click()
    name.fill("Reliable")
    scripted.get_by_text("Fallback model").first.click()
    model.fill("openai/gpt-5")
    scripted.get_by_text("Give it a title").click()
    scripted.get_by_label("Title").fill("Japan")
    scripted.get_by_label("What is to be decided?").fill(JAPAN)
    scripted.get_by_role("button", name="Start judgement").click()
    scripted.wait_for_url("**/judgements/*/")
    live = scripted.url
    scripted.go_back()
    expect(scripted.get_by_label("Title")).to_have_value("Japan")
    expect(name).to_have_value("Reliable")
    expect(model).to_be_visible()
    expect(scripted.locator("#a2-name")).to_have_value("Security reviewer")
    expect(scripted.get_by_label("Release gate")).to_be_checked()
    expect(scripted.locator("[name=version]")).to_have_count(1)
    expect(scripted.locator("#content-n")).to_have_text("40 / 20,000")
    scripted.get_by_role("link", name="New", exact=True).click()
    expect(scripted.locator("#content-n")).to_have_text("0 / 20,000")  # who asks for a new one gets one
    expect(scripted.get_by_label("What is to be decided?")).to_have_value("")
    scripted.goto(live)


def test_a_double_click_starts_one_judgement_and_who_goes_back_sends_nothing_again(scripted, scripted_site, endpoint):
    asked = []
    endpoint.script(default=HELD)
    scripted.goto(scripted_site.url)
    scripted.get_by_text("Change the three agents").click()
    scripted.locator("#a1-name").fill("Zed")
    scripted.get_by_role("button", name="Start judgement").click()
    expect(scripted).to_have_title(re.compile(r"^(\(\d+\) )?1 thing to correct"))
    scripted.get_by_label("What is to be decided?").fill(JAPAN)
    scripted.on("request", lambda request: request.method == "POST" and "cost" not in request.url and asked.append(1))
    scripted.get_by_role("button", name="Start judgement").dblclick()
    scripted.wait_for_url("**/judgements/*/")
    live = scripted.url
    scripted.go_back()
    expect(scripted.get_by_label("What is to be decided?")).to_have_value(JAPAN)
    expect(scripted.locator("#a1-name")).to_have_value("Zed")
    assert asked == [1]
    scripted.goto(live)


def test_what_cannot_be_fetched_is_said_and_replaces_nothing(scripted, scripted_site):
    page = scripted.context.new_page()
    page.goto(scripted_site.url)
    page.get_by_label("What is to be decided?").fill("Mine")
    page.route("**/judgements/agents/*", lambda route: route.fulfill(status=503))
    page.get_by_text("Release gate").click()
    expect(page.locator("#trouble")).to_contain_text("The agents of this council could not be fetched.")
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#a1-name")).to_have_value("Reliability engineer")
    expect(page.locator("#trouble")).to_be_empty()
    page.route("**/judgements/agents/*", lambda route: route.fulfill(status=503))
    page.get_by_role("link", name="Refund after 40 days").click()
    expect(page.locator("#trouble")).to_contain_text("Nothing was replaced.")
    expect(page.get_by_label("What is to be decided?")).to_have_value("Mine")
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_label("What is to be decided?")).to_have_value(re.compile("^Refund a coffee grinder"))
    page.close()


def test_who_was_signed_out_meanwhile_keeps_the_agents_and_is_told(browser, scripted_site):
    page = open_page(browser, scripted_site).page
    page.goto(scripted_site.url)
    expect(page.locator("#cost")).to_contain_text("9 calls")
    page.context.clear_cookies(name="sessionid")
    page.get_by_text("Release gate").click()
    expect(page.locator("#announcer")).to_contain_text("You have been signed out.")
    expect(page.locator("#a1-name")).to_have_value("Melchior")
    page.context.close()


def test_a_council_is_made_changed_and_judged_with_and_shows_which_version_judged(desk, site):
    desk.goto(f"{site.url}/councils/")
    desk.get_by_role("link", name="New council").click()
    desk.get_by_label("Name of the council").fill("Travel desk")
    for number in (1, 2, 3):
        desk.locator(f"#a{number}-name").fill(f"Clerk {number}")
        desk.locator(f"#a{number}-criteria").fill("Approve what is cheap.")
    desk.get_by_role("button", name="Save council").click()
    desk.get_by_role("link", name="Edit").click()
    desk.locator("#a2-criteria").fill("Approve what is cheap\nand safe.")
    desk.get_by_role("button", name="Save changes").click()
    expect(desk.get_by_role("status").first).to_contain_text("Version 2 is saved.")
    expect(desk.get_by_text("Criteria of Clerk 2 changed.")).to_be_visible()
    council = desk.url
    desk.get_by_role("link", name="Start judgement").click()
    desk.get_by_label("What is to be decided?").fill(JAPAN)
    desk.wait_for_load_state()  # until the script is there that knows the keys
    desk.get_by_label("What is to be decided?").press("Control+Enter")
    expect(desk.locator("#plate")).to_contain_text(VERDICT, timeout=END)
    desk.goto(council)
    expect(desk.locator(".uses li")).to_contain_text(re.compile("(Approved|Rejected).*Japan.*Version 2,", re.DOTALL))


def test_agents_are_saved_as_a_council_without_scripts_and_nothing_written_is_lost(browser, site):
    page = open_page(browser, site, java_script_enabled=False).page
    page.goto(f"{site.url}/")
    page.get_by_label("What is to be decided?").fill(JAPAN)
    page.get_by_text("Change the three agents").click()
    page.locator("#a1-name").fill("Caspar")
    page.get_by_role("button", name="Save as council").click()
    page.get_by_label("Name of the council").fill("Wise men")
    page.locator("#name").press("Enter")
    expect(page.get_by_role("radio", name="Wise men")).to_be_checked()
    expect(page.locator("#a1-name")).to_have_value("Caspar")
    page.get_by_text("Give it a title").click()
    page.get_by_label("Title").press("Enter")
    expect(page.locator(".transcript, #plate").first).to_be_visible()
    assert "/judgements/" in page.url
    page.context.close()


def test_models_are_suggested_costs_said_waits_counted_down_and_fallbacks_named(browser, tmp_path):
    with ScriptedEndpoint() as endpoint:
        busy = {"behaviour": "status", "error": "rate_limit_exceeded", "headers": {"Retry-After": "5"}, "times": 1}
        endpoint.script(by_text=[["aim is clear", busy], ["aim is clear", busy | {"error": "invalid_api_key"}]])
        acme = {"base_url": endpoint.base_url, "price": {"input": 1, "output": 4}}
        with ServedSite(tmp_path, MAGI_PROVIDERS=json.dumps({"acme": acme}), MAGI_DEFAULT_MODEL="acme/gpt-5") as site:
            page = open_page(browser, site).page
            page.goto(f"{site.url}/")
            expect(page.locator("#models option")).to_have_count(4)
            expect(page.locator("#alike")).to_contain_text("all ask one model")
            expect(page.locator("#alike")).to_contain_text("All agents ask one model, acme/gpt-5")
            expect(page.locator("#cost")).to_contain_text(re.compile(r"9 calls, about .* up to\s.*\$0\.0\d", re.DOTALL))
            page.get_by_text("Change the three agents").click()
            page.locator("#agents details summary").nth(2).click()
            page.locator("#a3-fallback").fill("acme/spare")
            page.get_by_label("What is to be decided?").fill(JAPAN)
            page.get_by_role("button", name="Start judgement").click()
            expect(page.locator("#agent-3-state")).to_contain_text(re.compile(r"Waits in \d s"), ignore_case=True)
            expect(page.locator("#plate")).to_contain_text("Approved", timeout=END)
            expect(page.locator("#agent-3-rounds")).to_contain_text("answered by the fallback acme/spare")
            expect(page.locator("#verdict-meta")).to_contain_text(re.compile(r"[\d,]+ tokens, \$0\.00"))


# ---- examples to try, and one that is finished ------------------------------------------------------------------


def test_an_example_fills_the_page_starts_nothing_and_can_be_undone_after_a_second_too(desk, site):
    desk.goto(site.url)
    content, agent = desk.get_by_label("What is to be decided?"), desk.locator("#short")
    expect(content).to_be_focused()
    desk.get_by_role("link", name="Travel to Japan next week").click()
    expect(content).to_have_value(JAPAN)
    expect(desk.locator("#undo")).to_be_empty()  # nothing was typed that it could replace
    desk.get_by_role("radio", name="Magi").check()
    expect(agent).to_contain_text("Melchior")
    content.fill("Something of mine.")
    desk.get_by_role("link", name="Release on Friday at 16:00").click()
    expect(content).to_have_value(re.compile("^Release 7.3"))
    expect(desk.get_by_role("radio", name="Release gate")).to_be_checked()
    expect(agent).to_contain_text("Reliability engineer")
    expect(desk.get_by_role("status").filter(has_text="Replaced.")).to_be_visible()
    expect(desk.locator("#announcer")).to_have_text("The example is filled in. Nothing has been started.")
    desk.get_by_role("link", name="Refund after 40 days").click()
    expect(content).to_have_value(re.compile("^Refund a coffee grinder"))
    desk.get_by_role("button", name="Undo").click()
    expect(content).to_have_value("Something of mine.")
    expect(desk.get_by_role("radio", name="Magi")).to_be_checked()
    expect(agent).to_contain_text("Melchior")
    expect(desk.get_by_role("button", name="Undo")).to_have_count(0)
    assert desk.url == f"{site.url}/"


def test_what_was_replaced_can_be_had_back_for_ten_seconds(browser, site):
    desk = open_page(browser, site).page
    desk.clock.install(time=0)
    desk.goto(site.url)
    desk.clock.pause_at(60_000)
    desk.get_by_label("What is to be decided?").fill("Something of mine.")
    desk.get_by_role("link", name="Refund after 40 days").click()
    expect(desk.get_by_role("button", name="Undo")).to_be_visible()
    desk.clock.fast_forward(9_000)
    expect(desk.get_by_role("button", name="Undo")).to_be_visible()
    desk.clock.fast_forward(2_000)
    expect(desk.get_by_role("button", name="Undo")).to_have_count(0)
    desk.context.close()


def test_a_newcomer_opens_the_finished_example_and_replays_it(browser, tmp_path):
    with ServedSite(tmp_path, "--no-engine") as site:
        watched = open_page(browser, site)
        page = watched.page
        page.goto(site.url)
        page.get_by_role("link", name="Open the example").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Example:")
        expect(page.locator("#plate")).to_contain_text("Approved")
        page.get_by_role("link", name="Replay it").click()
        page.get_by_role("slider", name="Time").press("Home")
        for _ in range(3):
            page.get_by_role("button", name="Step forward").click()
        expect(page.locator("#plate")).to_contain_text("Judging")
        page.get_by_role("slider", name="Time").press("End")
        expect(page.locator("#plate")).to_contain_text("Approved")
        assert watched.complaints == []
        page.context.close()


# ---- what is folded ---------------------------------------------------------------------------------------------


def test_what_nobody_would_see_of_a_councils_agents_is_seen_in_short(desk, site):
    desk.goto(f"{site.url}/councils/new/")
    desk.get_by_label("Name").first.fill("Hidden")
    for number in (1, 2, 3):
        desk.locator(f"#a{number}-name").fill(f"\u202eAgent {number}")
        desk.locator(f"#a{number}-criteria").fill("Approve.")
    desk.get_by_role("button", name="Save council").click()
    desk.goto(site.url)
    desk.get_by_role("radio", name="Hidden").check(force=True)
    expect(desk.locator("#a1-name")).to_have_value("\u202eAgent 1")
    expect(desk.locator("#short")).to_contain_text("‹U+202E›Agent 1")


def test_the_agents_in_short_follow_those_in_full_and_my_own_three_are_there_to_be_written(desk, site):
    desk.goto(site.url)
    expect(desk.locator("#agents")).to_be_hidden()
    desk.get_by_text("Change the three agents").click()
    desk.locator("#a2-name").fill("Balthazar")
    desk.locator("#a2-criteria").fill("Be kind.\nAnd brief.")
    expect(desk.locator("#short li").nth(1)).to_contain_text(re.compile(r"Balthazar.*Be kind\.$", re.DOTALL))
    desk.goto(site.url)
    desk.get_by_text("My own three").click()
    expect(desk.locator("#a1-name")).to_be_visible()
    expect(desk.locator("#short")).to_contain_text("No name yet")


def test_what_is_wrong_is_said_at_its_field_which_opens_and_what_was_typed_is_kept(desk, site):
    desk.goto(site.url)
    desk.get_by_text("Give it a title").click()
    desk.get_by_label("Title").fill("x" * 121)
    desk.get_by_text("Change the three agents").click()
    desk.locator("#a3-criteria").fill("")
    desk.get_by_text("Change the three agents").click()
    desk.get_by_text("Give it a title").click()
    desk.get_by_role("button", name="Start judgement").click()
    expect(desk).to_have_title(re.compile("3 things to correct"))
    expect(desk.get_by_role("alert")).to_be_focused()
    expect(desk.get_by_label("Title")).to_be_visible()
    expect(desk.get_by_label("Title")).to_have_value("x" * 121)
    expect(desk.locator("#a3-criteria")).to_be_visible()
    expect(desk.locator("#a3-criteria")).to_have_attribute("aria-invalid", "true")


def test_nothing_moves_when_another_council_is_chosen(desk, site):
    desk.set_viewport_size({"width": 1440, "height": 1200})  # all of it, so that no press has to scroll
    desk.goto(site.url)
    expect(desk.locator("#cost")).to_contain_text("9 calls")
    content = desk.get_by_label("What is to be decided?")
    content.fill("Kept")
    before = desk.locator(".new__go").bounding_box()
    firsts = {"Release gate": "Reliability engineer", "Travel and spend": "Budget holder", "Magi": "Melchior"}
    for council, first in firsts.items():
        desk.get_by_role("radio", name=council).check()
        expect(desk.locator("#a1-name")).to_have_value(first)
        assert desk.locator(".new__go").bounding_box() == before
    expect(content).to_have_value("Kept")


def test_everything_can_be_reached_without_scripts(browser, site):
    page = open_page(browser, site, java_script_enabled=False).page
    page.goto(f"{site.url}/")
    page.get_by_role("link", name="Release on Friday at 16:00").click()
    expect(page.get_by_label("What is to be decided?")).to_have_value(re.compile("^Release 7.3"))
    expect(page.get_by_role("radio", name="Release gate")).to_be_checked()
    page.get_by_text("Give it a title").click()
    page.get_by_label("Title").fill("A title")
    page.get_by_text("Change the three agents").click()
    page.locator("#agents details summary").first.click()
    for field in ("name", "model", "criteria", "fallback"):
        expect(page.locator(f"#a1-{field}")).to_be_visible()
    page.get_by_role("button", name="Start judgement").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("A title")
    page.context.close()
