"""The ways to the pages of what goes out: links that show a record, badges, webhooks."""

import json

from django.urls import reverse
from playwright.sync_api import Page, expect

from tests.acceptance.scene import AcceptanceScene, rows
from tests.acceptance.site import manage

DELIVERED = """
    INSERT INTO runs_delivery
    (hook_id, happening, run_id, what, happened, message_id, state, error, made, until, due, attempts)
    SELECT max(id), :number, :run, 'over', made, 'msg_' || :number, :state, :error, made, '2099-01-01', '2099-01-01', 3
    FROM runs_hook"""


def share_again(scene: AcceptanceScene) -> Page:
    """The page that shows a link, beside one that was opened and one that was ended."""
    page = made_link(scene, "Old auditors")
    page.get_by_role("button", name="End Old auditors").click()
    expect(page.locator("#link")).to_have_count(0)
    address = made_link(scene, "Auditors of 2026").locator("#link").inner_text()
    page.goto(address)
    return made_link(scene, "The works council")


def made_link(scene: AcceptanceScene, for_whom: str) -> Page:
    page = scene.open(reverse("share", args=[scene.judgement("approved")]))
    page.get_by_label("For whom").fill(for_whom)
    page.get_by_role("button", name="Make link").click()
    expect(page.locator("#link")).to_be_visible()
    return page


def shared(scene: AcceptanceScene) -> Page:
    page = made_link(scene, "Guests")
    address = page.locator("#link").inner_text()
    scene.context.clear_cookies()
    page.goto(address)
    return page


def shared_no_more(scene: AcceptanceScene) -> Page:
    scene.context.clear_cookies()
    return scene.open(reverse("shared", args=["nobody-made-it"]))


def checked(scene: AcceptanceScene, key: bool = True, was: bytes = b"", now: bytes = b"") -> Page:
    """The page that looks at evidence, with the record of a judgement in which something was changed, or nothing."""
    file = f"{scene.site.url}{reverse('record-file', args=[scene.judgement('approved')])}"
    assert not manage("checkpoint", env=scene.site.env).returncode
    scene.sign_in(scene.site)
    record = scene.context.request.get(file).body()
    scene.context.clear_cookies()
    page = scene.open(reverse("check-page"))
    data = record.replace(was, now, 1)
    page.locator("#file").set_input_files({"name": "magi.json", "mimeType": "application/json", "buffer": data})
    if key:
        page.get_by_label("Public key").fill(json.loads(record)["key"])
    page.locator("html[data-checked]").wait_for()
    return page


def given(scene: AcceptanceScene) -> Page:
    """The page that says to whom it was given, with a name that is nobody's."""
    page = scene.open(reverse("share", args=[scene.judgement("approved")]))
    page.get_by_label("Name of a person or of a group").fill("nobody of ours")
    page.get_by_role("button", name="Give", exact=True).click()
    expect(page.get_by_text("There is nobody and no group of that name.")).to_be_visible()
    return page


def badge(scene: AcceptanceScene) -> Page:
    """A badge that was just made, shown once, in the list of those that hold."""
    page = scene.open(f"{reverse('badges')}?of=run:{scene.judgement('approved')}")
    page.get_by_label("Words").fill("Release gate")
    page.get_by_role("button", name="Make badge").click()
    expect(page.locator("#code")).to_be_visible()
    return page


def hook_with_errors(scene: AcceptanceScene) -> Page:
    return _new_hook(scene, "http://192.168.1.1/magi")


def hook_made(scene: AcceptanceScene) -> Page:
    """A hook that was just made, with its secret, shown once."""
    page = _new_hook(scene, "https://hooks.example.org/magi")
    expect(page.locator("#secret")).to_be_visible()
    return page


def _new_hook(scene: AcceptanceScene, address: str) -> Page:
    page = scene.open(reverse("webhooks"))
    page.get_by_label("Address").fill(address)
    page.get_by_role("button", name="Create webhook").click()
    return page


def hook(scene: AcceptanceScene) -> Page:
    """Three messages: one arrived, one was given up, one could not be brought and is tried again."""
    page, run = hook_made(scene), scene.judgement("approved").replace("-", "")
    away = "The server could not be reached: the name hooks.example.org is not known."
    with rows(scene.site) as database:
        for number, (state, error) in enumerate((("given_up", away), ("to_send", away), ("sent", ""))):
            database.execute(DELIVERED, {"number": number, "run": run, "state": state, "error": error})
    page.get_by_role("link", name="https://hooks.example.org/magi").last.click()
    expect(page.locator(".post__why")).to_have_count(2)
    return page
