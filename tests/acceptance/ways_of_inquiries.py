"""The ways to the states of an inquiry, on the site without an engine, as `tests/inquiries/cast.py` makes them."""

import re
from collections.abc import Callable

from django.urls import reverse
from playwright.sync_api import Page, expect

from tests.acceptance.scene import AcceptanceScene
from tests.acceptance.ways_of_debates import key_of

CAST = "tests.inquiries.cast"


def inquiry(name: str, page: str = "inquiry-live", *more: int) -> Callable[[AcceptanceScene], Page]:
    """Its live page, connected where anything can still happen, or another one of it."""

    def go(scene: AcceptanceScene) -> Page:
        site = scene.idle_site
        scene.sign_in(site)
        opened = scene.open(reverse(page, args=[key_of(site, name, CAST), *more]), site)
        if opened.locator("#conn").count():
            expect(opened.locator("#conn")).to_have_text("Live")
        return opened

    return go


def opened(scene: AcceptanceScene) -> Page:
    """With the passage of its first claim open beside it, and then another."""
    page = inquiry("answered")(scene)
    expect(page.locator("details[open] mark")).to_be_visible()
    page.get_by_label("Source 2, open the passage").first.click()
    expect(page.locator("details[open] mark")).to_be_visible()
    return page


def roster(scene: AcceptanceScene) -> Page:
    """Which an inquiry began with."""
    key_of(scene.idle_site, "answered", CAST)
    scene.sign_in(scene.idle_site)
    return scene.open(reverse("roster", args=[1]), scene.idle_site)


def new(scene: AcceptanceScene) -> Page:
    scene.sign_in(scene.site)
    return scene.open(reverse("inquiry-new") + "?example=1")


def new_with_errors(scene: AcceptanceScene) -> Page:
    page = new(scene)
    page.locator("#question").fill("??")
    page.locator("#retry_limit").fill("21")
    page.get_by_role("button", name="Start inquiry").last.click()
    expect(page).to_have_title(re.compile("2 things to correct"))
    return page
