"""The ways to the states in which a page can be seen: each takes the scene and leaves its page in that state."""

import re
from collections.abc import Callable
from typing import Any

from django.urls import reverse
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.acceptance.cases import RELEASE
from tests.acceptance.scene import PATIENCE, AcceptanceScene, file_of, rows
from tests.acceptance.site import ServedSite


def signed_out(scene: AcceptanceScene) -> Page:
    scene.context.clear_cookies()
    return scene.open(reverse("login"))


def wrong_password(scene: AcceptanceScene) -> Page:
    page = signed_out(scene)
    page.get_by_label("User name").fill("m.okafor")
    page.get_by_label("Password").fill("not this one")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    return page


def used_link(scene: AcceptanceScene) -> Page:
    scene.context.clear_cookies()
    return scene.open(reverse("enter", args=[1, "x-y"]))


def new_token(scene: AcceptanceScene) -> Page:
    """The page that shows a token, beside one that holds for ever and one that has ended."""
    for name, days in (("Old release gate", "30"), ("Watches the queue", "0")):
        scene.post(scene.site, reverse("tokens"), {"name": name, "days": days})
    with rows(scene.site) as database:
        [old] = database.execute("SELECT min(id) FROM magi_site_token").fetchone()
    scene.post(scene.site, reverse("revoke-token", args=[old]))
    page = scene.open(reverse("tokens"))
    page.get_by_label("What it is for").fill("Nightly report")
    page.get_by_label("Cancel and retry runs").uncheck()
    page.get_by_role("button", name="Make token").click()
    expect(page.locator("#made-h")).to_contain_text("Nightly report")
    page.get_by_text("Ended").first.click()
    return page


def tokens_with_errors(scene: AcceptanceScene) -> Page:
    page = scene.open(reverse("tokens"))
    page.get_by_label("Valid for (days)").fill("-1")
    page.get_by_role("button", name="Make token").click()
    expect(page).to_have_title(re.compile("2 things to correct"))
    return page


def too_many_attempts(scene: AcceptanceScene) -> Page:
    page = signed_out(scene)
    for _ in range(6):
        page.get_by_label("User name").fill("m.lindqvist")
        page.get_by_label("Password").fill("not this one")
        page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("too many attempts")
    return page


def at(url_name: str, *args: Any, **query: str) -> Callable[[AcceptanceScene], Page]:
    """The page of this URL; a callable argument is asked for its value when the scene is there."""

    def go(scene: AcceptanceScene) -> Page:
        values = [arg(scene) if callable(arg) else arg for arg in args]
        question = "?" + "&".join(f"{key}={value}" for key, value in query.items()) if query else ""
        return scene.open(reverse(url_name, args=values) + question)

    return go


def of(moment: str) -> Callable[[AcceptanceScene], str]:
    return lambda scene: scene.judgement(moment)


def filled_input(scene: AcceptanceScene, site: ServedSite | None = None) -> Page:
    scene.judgement("approved")  # it is not the first visit any more
    scene.sign_in(site or scene.site)
    page = scene.open(reverse("new"), site)
    page.get_by_text("Release gate").click()
    expect(page.locator("#a1-name")).to_have_value(RELEASE.members[0].name)
    page.get_by_text("Give it a title").click()
    page.get_by_label("Title").fill(RELEASE.title)
    page.get_by_label("What is to be decided?").fill(RELEASE.content)
    expect(page.locator("#cost")).to_contain_text("9 calls")
    page.evaluate("document.activeElement.blur()")
    return page


def typed_input(scene: AcceptanceScene) -> Page:
    """An example took the place of what was typed."""
    page = scene.open(reverse("new"))
    page.get_by_label("What is to be decided?").fill("Something of my own.")
    page.get_by_role("link", name="Release on Friday").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    page.evaluate("document.activeElement.blur()")
    return page


def first_visit(scene: AcceptanceScene) -> Page:
    """Who looks has judged nothing yet: what there is belongs to nobody."""
    with rows(scene.idle_site) as database:
        database.execute("UPDATE engine_run SET owner_id = NULL")
    scene.sign_in(scene.idle_site)
    return scene.open(reverse("new"), scene.idle_site)


def open_agents(page: Page) -> None:
    page.locator("#change:not([open]) summary").click()
    expect(page.locator("#a1-name")).to_be_visible()


def whole_input(scene: AcceptanceScene) -> Page:
    page = filled_input(scene)
    open_agents(page)
    return page


def empty_input(scene: AcceptanceScene) -> Page:
    scene.judgement("approved")
    page = scene.open(reverse("new"))
    page.get_by_text("My own three").click()
    expect(page.locator("#a1-name")).to_have_value("")
    return page


def new_debate(scene: AcceptanceScene) -> Page:
    page = scene.open(reverse("debate-new") + "?example=grant")
    expect(page.locator("#cost")).to_contain_text("At most")
    return page


def new_debate_with_errors(scene: AcceptanceScene) -> Page:
    page = new_debate(scene)
    page.locator("#question").fill("")
    page.locator("#o2-word").fill("SIGN")
    page.locator("#m3-name").fill("Chair")
    page.locator("#m4-model").fill("")
    page.locator("form.newd .btn--go").click()
    expect(page).to_have_title(re.compile("4 things to correct"))
    return page


def new_debate_with_documents(scene: AcceptanceScene) -> Page:
    """One that can be read and shows its lines, one that cannot, and a text that is typed."""
    page = scene.open(reverse("debate-new"))
    lines = "She led the imaging group for nine years. " * 20
    read = {"name": "A letter of some length.md", "mimeType": "text/markdown", "buffer": lines.encode()}
    broken = {"name": "scan.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4 nothing"}
    page.locator("#documents").set_input_files([read, broken])
    expect(page.locator(".doc")).to_have_count(1)
    page.locator(".doc summary").click()
    page.get_by_text("Paste a text").click()
    return page


def debate_saved_as_panel(scene: AcceptanceScene) -> Page:
    page = new_debate(scene)
    page.get_by_role("button", name="Save as panel").click()
    expect(page.get_by_label("Name of the panel")).to_be_focused()
    return page


def input_with_errors(scene: AcceptanceScene) -> Page:
    page = whole_input(scene)
    page.get_by_label("What is to be decided?").fill("")
    page.locator("#a2-name").fill(RELEASE.members[0].name)
    page.locator("#a3-model").fill("")
    page.locator("#a3-criteria").fill("")
    page.get_by_role("button", name="Start judgement").click()
    expect(page).to_have_title(re.compile("4 things to correct"))
    return page


def overtaken_input(scene: AcceptanceScene) -> Page:
    """As if its council had been changed while the page was open."""
    page = scene.open(reverse("council-edit", args=[3]))
    criteria = page.locator("#a1-criteria")
    before = criteria.input_value()
    criteria.fill(f"{before} Say who pays.")
    page.get_by_role("button", name="Save changes").click()
    page = scene.open(f"{reverse('new')}?council=3")
    page.locator("[name=version]").evaluate("field => field.value -= 1")
    open_agents(page)
    criteria.fill(before)
    page.get_by_label("What is to be decided?").fill(RELEASE.content)
    page.get_by_role("button", name="Start judgement").click()
    expect(page.get_by_role("alert")).to_contain_text("was changed meanwhile")
    return page


def input_of_councils_only(scene: AcceptanceScene) -> Page:
    """Who looks is no superuser for a moment, and nobody may judge by agents of one's own."""
    right = "SELECT id FROM auth_permission WHERE codename = 'own_agents'"
    with rows(scene.idle_site) as database:
        database.execute(f"DELETE FROM auth_group_permissions WHERE permission_id = ({right})")
        database.execute("UPDATE auth_user SET is_superuser = 0")
    scene.sign_in(scene.idle_site)
    try:
        return scene.open(reverse("new"), scene.idle_site)
    finally:
        with rows(scene.idle_site) as database:
            database.execute("UPDATE auth_user SET is_superuser = 1")


def library(scene: AcceptanceScene) -> Page:
    """With a council that has judged often, and one that is archived."""
    page = scene.open(reverse("library"))
    if not page.locator(".shelf__came svg").count():
        scene.judgement("error")
        scene.judgement("overridden")
        refusals = {(agent, number): {"decision": "reject"} for agent in (1, 2, 3) for number in (1, 2, 3)}
        for changes, sign, times in (({}, ">Approved<", 4), (refusals, ">Rejected<", 4)):
            scene.endpoint.script(by_text=RELEASE.rules(changes))
            for pk in [scene.submit(RELEASE) for _ in range(times)]:
                scene.wait_for(pk, sign)
        scene.post(scene.site, reverse("council-new"), RELEASE.form(name="Letters that leave the house"))
        with rows(scene.site) as database:
            [made] = database.execute("SELECT max(id) FROM judgements_council").fetchone()
        scene.post(scene.site, reverse("council-switch", args=[made]), {"do": "archive"})
        page.reload()
    page.locator("summary", has_text="Archived").click()
    return page


def locked_council(scene: AcceptanceScene) -> Page:
    scene.post(scene.site, reverse("council-switch", args=[1]), {"do": "lock"})
    return scene.open(reverse("council", args=[1]))


def live(moment: str) -> Callable[[AcceptanceScene], Page]:
    return lambda scene: scene.open_live(moment)


def idle(scene: AcceptanceScene) -> Page:
    pk = scene.submit(RELEASE, scene.idle_site)
    return scene.open(reverse("live", args=[pk]), scene.idle_site)


def open_panel(page: Page, number: int) -> None:
    """Anew at every size: its height is measured when it opens."""
    page.keyboard.press("Escape")
    button = page.locator(f"#agent-{number} .agent__more")
    button.evaluate("button => button.click()")
    expect(page.locator(f"#agent-{number}-detail")).to_be_visible()


def cancelled_while_watched(scene: AcceptanceScene) -> Page:
    """What agents had written by then stays, where it was seen: once, for it is in no row."""
    pk = scene.judgement("watched")
    page = scene.open(reverse("live", args=[pk]))
    if "Judging" in page.locator("#plate").inner_text().title():
        scene.wait_for_reasons(page)
        scene.post(scene.site, reverse("cancel", args=[pk]))
    expect(page.locator("#plate")).to_contain_text("Cancelled", timeout=PATIENCE * 1000)
    return page


def ask_before_cancelling(scene: AcceptanceScene) -> Page:
    page = scene.open_live("round2")
    page.get_by_role("link", name="Cancel judgement").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    return page


def cut_off(scene: AcceptanceScene, *, offline: bool = False) -> Page:
    """A page whose socket breaks and does not come back, and perhaps all of its network."""
    page, connected = scene.context.new_page(), list[WebSocketRoute]()

    def route(socket: WebSocketRoute) -> None:
        if connected:
            return socket.close(code=1012)
        connected.append(socket)
        socket.connect_to_server()

    page.route_web_socket(re.compile("/ws/judgements/"), route)
    page.goto(f"{scene.site.url}{reverse('live', args=[scene.judgement('round2')])}")
    scene.wait_for_reasons(page)
    scene.context.set_offline(offline)
    connected[0].close(code=1012)
    expect(page.locator("#conn-banner")).to_be_visible()
    return page


def redact_without_reason(scene: AcceptanceScene) -> Page:
    page = scene.open(reverse("redact", args=[scene.judgement("approved")]))
    page.get_by_role("button", name="Erase the texts").click()
    expect(page).to_have_title(re.compile("1 thing to correct"))
    return page


def review_without_text(scene: AcceptanceScene) -> Page:
    page = scene.open(reverse("admin:judgements_judgement_change", args=[scene.judgement("approved")]))
    page.get_by_role("button", name="Add to the record").click()
    expect(page.get_by_label("Note or reason")).to_have_attribute("aria-invalid", "true")
    return page


def short_council(scene: AcceptanceScene, url_name: str = "council") -> Page:
    with rows(scene.site) as database:
        database.execute("UPDATE judgements_council SET retention_days = 90 WHERE id = 3")
        columns = "council_id, version_id, name, owner, owner_name, archived, locked"
        last = f"SELECT 'kept', '2026-11-20 09:30:00', 'ines', 90, {columns} FROM judgements_councilchange"
        insert = f"INSERT INTO judgements_councilchange (kind, made, by, retention_days, {columns})"
        database.execute(f"{insert} {last} WHERE council_id = 3 LIMIT 1")
    return scene.open(reverse(url_name, args=[3]))


def replay(scene: AcceptanceScene) -> Page:
    """In the middle: the fifth of its frames."""
    page = scene.open(reverse("replay", args=[scene.judgement("approved")]))
    page.get_by_role("button", name="Step forward").click()  # and it plays no more, however far it had come
    page.get_by_role("slider", name="Time").press("Home")
    for _ in range(5):
        page.get_by_role("button", name="Step forward").click()
    expect(page.locator("#plate")).to_contain_text("Judging")
    page.evaluate("document.activeElement.blur()")
    return page


def menu(scene: AcceptanceScene) -> Page:
    page = scene.open(reverse("history"))
    page.locator("details.account summary").click()
    return page


def not_understood(scene: AcceptanceScene) -> Page:
    return scene.open(reverse("history") + "?" + "&".join(f"a{n}=" for n in range(200)))


def not_allowed(scene: AcceptanceScene) -> Page:
    """A form whose token the page has lost."""
    page = scene.open(reverse("password"))
    page.locator("input[name=csrfmiddlewaretoken]").evaluate("field => field.remove()")
    page.get_by_role("button", name="Set password").click()
    return page


def broken(scene: AcceptanceScene) -> Page:
    """A table is missing while the page is asked for."""
    scene.sign_in(scene.idle_site)
    swap = "ALTER TABLE {} RENAME TO {}"
    with rows(scene.idle_site) as database:
        database.execute(swap.format("judgements_council", "away"))
    try:
        return scene.open(reverse("new"), scene.idle_site)
    finally:
        with rows(scene.idle_site) as database:
            database.execute(swap.format("away", "judgements_council"))


def no_database(scene: AcceptanceScene) -> Page:
    """Its file is out of reach while a form is sent."""
    scene.sign_in(scene.idle_site)
    page = scene.open(reverse("new"), scene.idle_site)
    page.get_by_label("What is to be decided?").fill(RELEASE.content)
    file = file_of(scene.idle_site)
    away = file.rename(file.with_suffix(".away"))
    file.mkdir()  # an empty file would be taken for a new database
    try:
        page.get_by_role("button", name="Start judgement").click()
        expect(page.get_by_role("heading", name="Not now")).to_be_visible()
    finally:
        file.rmdir()
        away.rename(file)
    return page
