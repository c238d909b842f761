"""The reviewers' desk in a real browser: keys, an override, figures that change in place, and all of it without a
script."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.acceptance.cases import REFUND, RELEASE
from tests.acceptance.scene import AcceptanceScene

DESK = f"{reverse('review')}?look=swayed"
# in one turn: on a busy machine two presses lie further apart than the rest after which a record follows
J_TWICE = """() => {
    for (const key of ["j", "j"]) {
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    }
}"""


@pytest.fixture(scope="module")
def scene(browser, tmp_path_factory):
    """Three judgements that were swayed, and one that failed."""
    folder = tmp_path_factory.mktemp("desk")
    with AcceptanceScene(browser, folder) as scene:
        for moment in ("rejected", "approved", "overridden", "error"):
            scene.judgement(moment)
        scene.sign_in(scene.site)
        yield scene


@pytest.fixture(scope="module")
def complaints(scene):
    complaints = []
    scene.page.on("console", lambda said: said.type == "error" and complaints.append(said.text))
    scene.page.on("pageerror", lambda error: complaints.append(str(error)))
    return complaints


@pytest.fixture
def page(scene, complaints):
    scene.page.set_viewport_size({"width": 1440, "height": 900})
    yield scene.open(DESK)
    assert complaints == []


def rows(page):
    return page.locator("#rvs .rv__t a")


def one(page):
    return page.locator("#one")


def test_keys_move_in_the_list_and_the_record_follows(page):
    rows(page).first.focus()
    page.keyboard.press("j")
    expect(rows(page).nth(1)).to_be_focused()
    expect(page.locator("#announcer")).to_have_text(re.compile(r"2 of 3: Approved, "))
    page.keyboard.press("ArrowDown")
    expect(one(page).get_by_role("heading", level=2)).to_have_text(REFUND.title)
    expect(rows(page).nth(2)).to_be_focused()
    expect(page.locator("#rvs [aria-current]")).to_contain_text(REFUND.title)
    page.keyboard.press("k")
    expect(one(page).get_by_role("heading", level=2)).to_have_text(RELEASE.title)


def test_whoever_hurries_fetches_the_last_record_alone(page):
    fetched = []
    page.on("request", lambda asked: asked.resource_type == "fetch" and fetched.append(asked.url))
    rows(page).first.focus()
    page.evaluate(J_TWICE)
    expect(one(page).get_by_role("heading", level=2)).to_have_text(REFUND.title)
    assert len(fetched) == 1


def test_enter_opens_a_record_and_escape_goes_back(page):
    rows(page).nth(2).focus()
    page.keyboard.press("Enter")
    expect(one(page)).to_be_focused()
    expect(one(page).get_by_role("heading", level=2)).to_have_text(REFUND.title)
    page.keyboard.press("k")
    expect(one(page).get_by_role("heading", level=2)).to_have_text(RELEASE.title)
    expect(one(page)).to_be_focused()
    page.keyboard.press("Escape")
    expect(rows(page).nth(1)).to_be_focused()


def test_a_letter_is_a_letter_where_one_writes_and_elsewhere_does_nothing(page):
    before = one(page).get_attribute("data-one")
    field = page.get_by_label("Note, or the reason")
    field.press_sequentially("jk")
    expect(field).to_have_value("jk")
    page.get_by_role("combobox", name="Month").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("j")
    page.wait_for_timeout(400)  # longer than the rest after which a record follows
    assert one(page).get_attribute("data-one") == before


def test_keys_can_be_switched_off_and_stay_so(page):
    page.get_by_role("button", name="Switch keys off").click()
    page.reload()
    rows(page).first.focus()
    page.keyboard.press("j")
    expect(rows(page).first).to_be_focused()
    page.get_by_role("button", name="Switch keys on").click()
    rows(page).first.focus()
    page.keyboard.press("j")
    expect(rows(page).nth(1)).to_be_focused()


def test_figures_change_in_place_and_rows_never(scene, page):
    page.evaluate("document.querySelector('#tile-error-n').textContent = '99'")
    page.evaluate("document.querySelector('#rvs').dataset.same = 'yes'")
    page.locator("#tile-error").focus()
    page.evaluate("htmx.trigger('#watch', 'due')")
    expect(page.locator("#tile-error-n")).to_have_text("1")
    expect(page.locator("#tile-error")).to_be_focused()
    expect(page.locator("#rvs")).to_have_attribute("data-same", "yes")


def override(page, words):
    page.get_by_role("radio", name="Override").check()
    page.get_by_label("Note, or the reason").fill(words)
    page.get_by_label("Rejected").check()
    page.get_by_role("button", name="Add").click()


def test_who_keeps_has_overridden_nothing_and_still_has_the_reason(scene, page):
    page.goto(f"{scene.site.url}{reverse('review-one', args=[scene.judgement('approved')])}?look=swayed")
    override(page, "Wait for Monday.")
    expect(page.get_by_text("This cannot be undone. The agents' verdict stays.")).to_be_visible()
    page.get_by_role("button", name="Keep").click()
    expect(page.get_by_label("Note, or the reason")).to_have_value("Wait for Monday.")
    expect(one(page).locator(".stamp-big")).to_have_count(0)


def test_an_override_is_asked_for_once_more_and_then_stands_everywhere(scene, page):
    pk = scene.judgement("approved")
    page.goto(f"{scene.site.url}{reverse('review-one', args=[pk])}?look=swayed")
    override(page, "Wait for Monday.")
    expect(page.locator("#sure")).to_be_focused()
    one(page).get_by_role("button", name="Override").click()
    expect(page.locator("#said")).to_be_focused()
    expect(page.locator("#said")).to_contain_text("Overridden: rejected. It is in the record.")
    expect(one(page).locator(".stamp-big")).to_contain_text("Rejected")
    expect(page.locator(f"#rv-{pk}")).to_have_class(re.compile("rv--void"))
    expect(page.locator(f"#rv-{pk}")).to_have_attribute("aria-current", "true")


def test_without_a_script_links_and_forms_do_the_same(scene):
    context = scene.context.browser.new_context(java_script_enabled=False, storage_state=scene.context.storage_state())
    page = context.new_page()
    page.goto(f"{scene.site.url}{DESK}")
    expect(page.get_by_text("Switch keys off")).to_be_hidden()
    rows(page).filter(has_text=REFUND.title).click()
    expect(one(page).get_by_role("heading", level=2)).to_have_text(REFUND.title)
    page.get_by_label("Note, or the reason").fill("Asked the customer.")
    page.get_by_role("button", name="Add").click()
    expect(page.locator("#said")).to_contain_text("Your note is in the record.")
    one(page).get_by_role("link", name="Previous").click()
    expect(one(page).get_by_role("heading", level=2)).to_have_text(RELEASE.title)
    context.close()


def test_on_a_phone_a_record_is_a_page_of_its_own(scene, page):
    page.set_viewport_size({"width": 390, "height": 844})
    expect(one(page)).to_be_hidden()
    rows(page).filter(has_text=REFUND.title).click()
    expect(one(page)).to_be_visible()
    expect(page.locator("#rvs")).to_be_hidden()
    page.get_by_role("link", name="Back to the list").click()
    expect(rows(page)).to_have_count(3)
