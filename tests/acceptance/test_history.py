"""The history in a real browser: what is typed filters, what goes on is seen, and the way back is the way there."""

import re

import pytest
from playwright.sync_api import expect

from tests.acceptance.pages import cancel, models_of, start
from tests.acceptance.site import ServedSite, manage

ROWS = "tbody tr:not(.list__day)"


@pytest.fixture(scope="module")
def site(endpoint, tmp_path_factory):
    with ServedSite(tmp_path_factory.mktemp("history"), **models_of(endpoint)) as site:
        for title in ("Ship the release", "Travel to Osaka"):
            done = manage("judge", "--no-wait", "--title", title, "-", env=site.env, text=f"{title}?")
            assert not done.returncode, done.stderr
        yield site


@pytest.fixture
def page(desk, site):
    desk.goto(f"{site.url}/judgements/")
    return desk


def seek(page, words):
    """At one go: on a busy machine a word that is typed slowly is sought letter by letter, and each has an address."""
    page.get_by_label("Search").fill(words)
    page.wait_for_url(re.compile(f"q={words}$"))


def test_typing_filters_and_the_back_button_leads_back_also_from_a_judgement(page):
    rows, field = page.locator(ROWS), page.get_by_label("Search")
    expect(rows).to_have_count(2)
    seek(page, "osa")
    expect(rows).to_have_count(1)
    expect(page.locator("#count")).to_have_text("1 judgement")
    expect(field).to_be_focused()
    seek(page, "zeppelin")
    expect(page.get_by_role("heading", name="Nothing matches “zeppelin”")).to_be_visible()
    page.go_back()
    expect(rows).to_have_count(1)
    expect(field).to_have_value("osa")
    page.get_by_role("link", name="Travel to Osaka").click()
    page.wait_for_url(re.compile("/judgements/[0-9a-f-]{36}/"))
    page.go_back()
    expect(rows).to_have_count(1)
    expect(field).to_have_value("osa")
    page.go_back()
    expect(rows).to_have_count(2)
    expect(field).to_have_value("")
    page.get_by_role("button", name="Reduce motion").click()  # what stands around the list still works
    assert page.locator("html").get_attribute("data-motion")


def test_the_list_of_all_kinds_is_filtered_in_place(page, site):
    page.goto(f"{site.url}/runs/")
    page.evaluate("document.body.dataset.same = 'page'")
    seek(page, "osa")
    expect(page.locator(ROWS)).to_have_count(1)
    assert page.evaluate("document.body.dataset.same") == "page"


def test_on_a_phone_quick_views_are_one_line_and_a_view_is_saved_within_the_window(page):
    page.set_viewport_size({"width": 320, "height": 700})
    tops = page.locator(".presets li").evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
    assert len(set(tops)) == 1
    page.locator(".presets a").last.focus()
    expect(page.locator(".presets a").last).to_be_in_viewport(ratio=0.99)
    page.get_by_text("Save this view").click()
    box = page.get_by_role("textbox", name="Name").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 320
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_list_that_cannot_be_fetched_is_said_and_asked_for_again(page, site):
    other = page.context.new_page()
    other.goto(f"{site.url}/judgements/")
    other.route("**/judgements/?*", lambda route: route.fulfill(status=503))
    other.get_by_label("Search").fill("osa")
    expect(other.locator("#trouble")).to_contain_text("The list could not be fetched.")
    other.unroute_all()
    other.get_by_role("button", name="Try again").click()
    expect(other.locator(ROWS)).to_have_count(1)
    expect(other.locator("#trouble")).to_be_empty()
    expect(other.get_by_label("Search")).to_be_focused()


def test_a_way_back_that_cannot_be_fetched_ends_where_the_address_says(page, site):
    other = page.context.new_page()
    other.goto(f"{site.url}/judgements/")
    seek(other, "osa")
    other.route("**/judgements/", lambda route: route.fulfill(status=503), times=1)
    other.go_back()
    expect(other.locator(ROWS)).to_have_count(2)
    expect(other.get_by_label("Search")).to_have_value("")


def test_a_row_goes_on_by_itself_and_a_newer_judgement_moves_nothing(page, site, endpoint):
    endpoint.reset()
    endpoint.script(delay=600)
    other = page.context.new_page()
    start(other, site, "A held one.")
    page.goto(f"{site.url}/judgements/")
    row = page.locator(ROWS).first
    expect(row).to_contain_text("Judging")
    link, place = row.get_by_role("link"), page.locator("table").bounding_box()
    link.focus()
    start(other, site, "Another one.")
    expect(page.locator("#newer")).to_contain_text("1 newer judgement.")
    assert page.locator("table").bounding_box() == place
    other.goto(link.evaluate("link => link.href"))
    cancel(other)
    expect(row).to_contain_text("Cancelled")
    expect(link).to_be_focused()
    page.get_by_role("link", name="Show it").click()
    expect(page.locator(ROWS).first).to_contain_text("Another one.")


@pytest.mark.slow
def test_two_ticked_rows_stand_side_by_side_and_a_third_replaces_the_first(page, site):
    done = manage("judge", "--no-wait", "--title", "Sell the boat", "-", env=site.env, text="Sell it?")
    assert not done.returncode, done.stderr
    page.goto(f"{site.url}/runs/")
    bar = page.get_by_role("form", name="Compare")
    expect(bar).to_be_hidden()
    for title in ("Sell the boat", "Travel to Osaka", "Ship the release"):
        page.get_by_label(f"Compare {title}").check()
    expect(page.get_by_label("Compare Sell the boat")).not_to_be_checked()
    expect(page.locator("#announcer")).to_have_text("In place of Sell the boat.")
    expect(bar).to_contain_text("2 chosen. Travel to Osaka and Ship the release")
    bar.get_by_role("button", name="Compare the two").click()
    expect(page.get_by_role("heading", name="Two judgements side by side")).to_be_visible()
    expect(page.locator(".cmp__side").first).to_contain_text("Ship the release")  # the earlier one
    expect(page.get_by_text("Not the rest.")).to_be_visible()
