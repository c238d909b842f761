"""The ways to the states of a debate: rows on a site that performs nothing, as `tests/debates/cast.py` makes them."""

from collections.abc import Callable

from django.urls import reverse
from playwright.sync_api import Page, expect

from tests.acceptance.scene import AcceptanceScene, rows
from tests.acceptance.site import ServedSite, python

_keys: dict[tuple[str, ...], str] = {}


def cast(site: ServedSite, *words: str, module: str = "tests.debates.cast") -> str:
    """The key of what this module makes of the words."""
    made = python("-m", module, *words, env=site.env | {"DJANGO_SETTINGS_MODULE": "magi_site.settings"}, wait=600)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def key_of(site: ServedSite, name: str, module: str = "tests.debates.cast") -> str:
    """Of the run of this name, made when it is first asked for."""
    asked = site.url, module, name
    if asked not in _keys:
        _keys[asked] = cast(site, name, module=module)
    return _keys[asked]


def debate(name: str) -> Callable[[AcceptanceScene], Page]:
    """The live page of this debate, connected where anything can still happen."""

    def go(scene: AcceptanceScene) -> Page:
        site = scene.idle_site
        scene.sign_in(site)
        page = scene.open(reverse("debate-live", args=[key_of(site, name)]), site)
        if page.locator("#conn").count():
            expect(page.locator("#conn")).to_have_text("Live")
        return page

    return go


def told(name: str, page: str = "debate-record") -> Callable[[AcceptanceScene], Page]:
    """Its record, or another page that tells of it."""

    def go(scene: AcceptanceScene) -> Page:
        site = scene.idle_site
        scene.sign_in(site)
        return scene.open(reverse(page, args=[key_of(site, name)]), site)

    return go


def looked_alone(scene: AcceptanceScene) -> Page:
    """What the members said alone while a person has a seat, after a look on record."""
    page = told("waited_for", "debate-alone")(scene)
    look = page.get_by_role("button", name="Look, and put it on record")
    if look.count():
        look.click()
    expect(page.get_by_text("alone, before the debate").first).to_be_visible()
    return page


def replayed(scene: AcceptanceScene) -> Page:
    """Half of it is over."""
    page = told("decided", "debate-replay")(scene)
    page.locator(".player__controls").wait_for()
    page.locator("[data-time]").evaluate(
        "line => { line.value = line.max / 2; line.dispatchEvent(new Event('input')) }"
    )
    if page.locator("#player[data-playing]").count():
        page.locator("[data-play]").click()
    return page


def asked(scene: AcceptanceScene) -> Page:
    """All that a model was asked for one message."""
    key = key_of(scene.idle_site, "early")
    with rows(scene.idle_site) as database:
        query = "SELECT max(id) FROM engine_modelcall WHERE run_id = ?"
        [call] = database.execute(query, [key.replace("-", "")]).fetchone()
    scene.sign_in(scene.idle_site)
    return scene.open(reverse("debate-asked", args=[key, call]), scene.idle_site)


def own_turn(scene: AcceptanceScene) -> Page:
    """With words typed that are not sent yet."""
    page = debate("waiting")(scene)
    page.get_by_label("What you say").fill("The workshop can keep both instruments running until September, if")
    page.evaluate("document.activeElement.blur()")
    return page


def about_to_leave(scene: AcceptanceScene) -> Page:
    page = debate("seated")(scene)
    page.get_by_text("Leave the debate").click()
    return page
