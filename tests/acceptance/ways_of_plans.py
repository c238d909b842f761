"""The ways to the states of a plan, on the site that carries them out, as `tests/plans/cast.py` makes them."""

from collections.abc import Callable

from django.urls import reverse
from playwright.sync_api import Page, expect

from tests.acceptance.scene import AcceptanceScene
from tests.acceptance.ways_of_debates import key_of

CAST = "tests.plans.cast"


def plan(name: str, page: str = "plan-live") -> Callable[[AcceptanceScene], Page]:
    """Its live page, connected where anything can still happen, or another one of it."""

    def go(scene: AcceptanceScene) -> Page:
        site = scene.site
        scene.sign_in(site)
        opened = scene.open(reverse(page, args=[key_of(site, name, CAST)]), site)
        if opened.locator("#conn").count():
            expect(opened.locator("#conn")).to_have_text("Live")
        return opened

    return go


def changed(scene: AcceptanceScene) -> Page:
    """One step is being changed, and another one refused."""
    page = plan("proposed")(scene)
    page.get_by_role("link", name="Change step 2").click()
    page.get_by_label("Action").wait_for()
    page.locator("#at-3").get_by_text("Reject").first.click()
    return page


def waiting(scene: AcceptanceScene) -> Page:
    key_of(scene.site, "letter", CAST)
    scene.sign_in(scene.site)
    page = scene.open(reverse("waiting"))
    expect(page.locator("#tell-state")).to_contain_text("rowser")
    return page


def gate(scene: AcceptanceScene) -> Page:
    """A letter, on the page of its gate."""
    page = waiting(scene)
    page.get_by_role("link", name="Read and decide").first.click()
    expect(page.get_by_role("heading", name="Your decision")).to_be_visible()
    return page


def ticked(scene: AcceptanceScene) -> Page:
    """Some are alike, and were approved before one was ticked."""
    key_of(scene.site, "alike", CAST)
    page = waiting(scene)
    page.locator(".batch").first.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was ticked")
    page.locator(".batch").first.get_by_role("checkbox").first.check()
    return page


def at_batch(page: Page) -> None:
    page.locator(".batch").first.evaluate("batch => batch.scrollIntoView()")
