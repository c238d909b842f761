"""Every state that a page can be seen in, each with the way to it on a real site: one line in `STATES`.

The screenshots, the accessibility tests and whatever else must hold for all pages go through this one list. A new page
is one more line.
"""

import contextlib
import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from django.urls import reverse
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from tests.acceptance.cases import REFUND, RELEASE, Case
from tests.acceptance.chromium import visit
from tests.acceptance.site import Site
from tests.endpoint import Endpoint

PATIENCE = 60.0


# colours fade into one another for a moment when the theme changes
AT_ONCE = "document.getAnimations().forEach(a => a instanceof CSSTransition && a.finish())"


# ---- judgements, stopped at the moment that is to be seen ------------------------------------------------------


@dataclass(frozen=True)
class Moment:
    """A judgement in a certain state: `changes` of what the agents do, `sign` in its page once it is there."""

    sign: str
    case: Case = RELEASE
    changes: dict[tuple[int, int], dict[str, Any]] | None = None
    cancelled: bool = False
    overridden: bool = False
    redacted: bool = False


def stalls(pieces: int) -> dict[str, Any]:
    return {"behaviour": "stall", "cut_after": pieces, "chunk_delay": 0.5}


BUSY = {"behaviour": "status", "error": "rate_limit_exceeded", "headers": {"Retry-After": "60"}}
ROUND_2 = {(2, 2): stalls(10), (3, 2): stalls(8)}
MOMENTS = {
    "approved": Moment(">Approved<"),
    "rejected": Moment(">Rejected<", REFUND),
    "error": Moment(">Error<", changes={(3, 2): {"behaviour": "prose"}}),
    "cancelled": Moment("4 of 9 decisions", changes=ROUND_2, cancelled=True),
    "overridden": Moment(">Approved<", overridden=True),
    "redacted": Moment(">Approved<", overridden=True, redacted=True),
    "round1": Moment(">Judging<", changes={(1, 1): stalls(9), (2, 1): stalls(7), (3, 1): stalls(6)}),
    "round2": Moment("4 of 9 decisions", changes=ROUND_2),
    "retry": Moment("Retry 1 of 3", changes={(3, 2): BUSY}),
}

REVIEWS = (
    ("note", "Seen with the release manager.\nThe window was agreed by phone;\u00ad the ticket is CHG-2211."),
    ("rejected", "The rollback was rehearsed on other data than ours. Wait for Monday."),
)


class Scene:
    """Two sites, one with an engine and one without, models that answer as written, and one page that goes about.

    `pace` is how many seconds an agent takes for an answer.
    """

    def __init__(self, browser: Browser, folder: Path, pace: float = 0.0) -> None:
        self.pace = pace
        self._browser, self._folder, self._judgements = browser, folder, dict[str, str]()
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "Scene":
        with contextlib.ExitStack() as stack:
            self.endpoint = stack.enter_context(Endpoint())
            with ThreadPoolExecutor() as both:
                starting = [both.submit(self._start, stack, name, *options) for name, *options in SITES]
            self.site, self.idle_site = (site.result() for site in starting)
            self.context = visit(self._browser, viewport={"width": 1440, "height": 900})
            stack.callback(self.context.close)
            self.page = self.context.new_page()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self, stack: contextlib.ExitStack, name: str, *options: str) -> Site:
        provider = {"base_url": self.endpoint.base_url, "price": {"input": 2.5, "output": 10}}
        providers = {model.partition("/")[0]: provider for model in MODELS}
        folder = self._folder / name
        folder.mkdir()
        env = {"MAGI_PROVIDERS": json.dumps(providers), "MAGI_CALL_TIMEOUT": "3600"}
        site = stack.enter_context(Site(folder, *options, **env))
        cast(site)
        return site

    # ---- going about

    def sign_in(self, site: Site) -> None:
        self.context.clear_cookies()
        self.context.add_cookies([{"name": "sessionid", "value": site.visitor_session, "url": site.url}])

    def open(self, path: str, site: Site | None = None) -> Page:
        self.page.goto(f"{(site or self.site).url}{path}")
        return self.page

    def open_live(self, moment: str) -> Page:
        page = self.open(reverse("live", args=[self.judgement(moment)]))
        if moment in ("round1", "round2"):
            self.wait_for_reasons(page)
        return page

    def wait_for_reasons(self, page: Page) -> None:
        """Until those that grow have grown as far as they will."""
        beginnings = re.compile("|".join(reason[:60] for _, reason in RELEASE.members[2].says))
        expect(page.locator("#agent-3-reason [data-stream]")).to_contain_text(beginnings, timeout=PATIENCE * 1000)

    # ---- what there is to see

    def judgement(self, moment: str) -> str:
        """The judgement that stands in this moment, made when it is first asked for."""
        if moment not in self._judgements:
            wanted = MOMENTS[moment]
            self.endpoint.script(by_text=wanted.case.rules(wanted.changes), delay=self.pace)
            pk = self._judgements[moment] = self.submit(wanted.case)
            self.wait_for(pk, wanted.sign)
            if wanted.cancelled:
                self.post(self.site, reverse("cancel", args=[pk]))
            for what, text in REVIEWS if wanted.overridden else ():
                self.post(
                    self.site, reverse("admin:judgements_judgement_review", args=[pk]), {"what": what, "text": text}
                )
            if wanted.redacted:
                self.post(self.site, reverse("redact", args=[pk]), {"reason": "Demand of the tenant, ticket 812."})
        return self._judgements[moment]

    def submit(self, case: Case, site: Site | None = None, **changes: str) -> str:
        answer = self.post(site or self.site, reverse("new"), case.form(**changes))
        found = re.search(r"/judgements/([0-9a-f-]{36})/", answer.headers.get("location", ""))
        assert found, answer.text()[:2000]
        return found[1]

    def post(self, site: Site, path: str, form: dict[str, str] | None = None) -> Any:
        """As a page of the site would, token and all."""
        self.sign_in(site)
        html = self.context.request.get(f"{site.url}{reverse('password')}").text()
        token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', html)[0]
        fields = {"csrfmiddlewaretoken": token, **(form or {})}
        return self.context.request.post(f"{site.url}{path}", form=fields, max_redirects=0)

    def wait_for(self, pk: str, sign: str) -> None:
        end = time.monotonic() + PATIENCE
        address = f"{self.site.url}{reverse('live', args=[pk])}"
        while sign not in (html := self.context.request.get(address).text()):
            assert time.monotonic() < end, f"no {sign} in\n{html}"
            time.sleep(0.05)


SITES = (("site",), ("idle", "--no-engine"))
MODELS = [member.model for case in (RELEASE, REFUND) for member in case.members]


def cast(site: Site) -> None:
    """The people and the council of the cases, in the rows of a site."""
    version = "(SELECT current_id FROM judgements_council WHERE id = ?)"
    guard = "SELECT sql FROM sqlite_master WHERE name = 'judgements_member_kept'"
    with rows(site) as database:
        database.execute("UPDATE auth_user SET first_name = 'M.', last_name = 'Okafor'")
        [put_up_again] = database.execute(guard).fetchone()
        database.execute("DROP TRIGGER judgements_member_kept")
        for seat, member in zip("ABC", RELEASE.members, strict=True):
            change = f"UPDATE judgements_member SET model = ? WHERE seat = ? AND version_id = {version}"
            database.execute(change, (member.model, seat, RELEASE.council))
        database.execute(put_up_again)


def file_of(site: Site) -> Path:
    return site.log.parent / "magi.sqlite3"


@contextlib.contextmanager
def rows(site: Site) -> Iterator[sqlite3.Connection]:
    database = sqlite3.connect(file_of(site), timeout=60)
    with contextlib.closing(database), database:
        yield database


# ---- the ways to the states ------------------------------------------------------------------------------------


def signed_out(scene: Scene) -> Page:
    scene.context.clear_cookies()
    return scene.open(reverse("login"))


def wrong_password(scene: Scene) -> Page:
    page = signed_out(scene)
    page.get_by_label("User name").fill("m.okafor")
    page.get_by_label("Password").fill("not this one")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    return page


def new_token(scene: Scene) -> Page:
    """The page that shows a token, beside one that holds for ever and one that has ended."""
    page = scene.open(reverse("tokens"))
    for name, days in (("Old release gate", "30"), ("Watches the queue", "0"), ("Release gate", "90")):
        page.get_by_label("What it is for").fill(name)
        page.get_by_label("Days for which it holds").fill(days)
        page.get_by_role("button", name="Make token").click()
        expect(page.locator("#token")).to_be_visible()
    page.get_by_role("button", name="Revoke Old release gate").first.click()
    expect(page.locator("#token")).to_have_count(0)
    page.get_by_label("What it is for").fill("Nightly report")
    page.get_by_label("Cancel and retry work").uncheck()
    page.get_by_role("button", name="Make token").click()
    expect(page.locator("#token")).to_be_visible()
    page.get_by_text("Ended").first.click()
    return page


def tokens_with_errors(scene: Scene) -> Page:
    page = scene.open(reverse("tokens"))
    page.get_by_label("Days for which it holds").fill("-1")
    page.get_by_role("button", name="Make token").click()
    expect(page).to_have_title(re.compile("2 things to correct"))
    return page


def too_many_attempts(scene: Scene) -> Page:
    page = signed_out(scene)
    for _ in range(6):
        page.get_by_label("User name").fill("m.lindqvist")
        page.get_by_label("Password").fill("not this one")
        page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("too many attempts")
    return page


def at(url_name: str, *args: Any, **query: str) -> Callable[[Scene], Page]:
    """The page of this URL; a callable argument is asked for its value when the scene is there."""

    def go(scene: Scene) -> Page:
        values = [arg(scene) if callable(arg) else arg for arg in args]
        question = "?" + "&".join(f"{key}={value}" for key, value in query.items()) if query else ""
        return scene.open(reverse(url_name, args=values) + question)

    return go


def of(moment: str) -> Callable[[Scene], str]:
    return lambda scene: scene.judgement(moment)


def filled_input(scene: Scene, site: Site | None = None) -> Page:
    page = scene.open(reverse("new"), site)
    page.get_by_text("Release gate").click()
    expect(page.locator("#a1-name")).to_have_value(RELEASE.members[0].name)
    page.get_by_label("Title").fill(RELEASE.title)
    page.get_by_label("Content").fill(RELEASE.content)
    expect(page.locator("#cost")).to_contain_text("9 calls")
    page.evaluate("document.activeElement.blur()")
    return page


def empty_input(scene: Scene) -> Page:
    page = scene.open(reverse("new"))
    page.get_by_text("My own three").click()
    expect(page.locator("#a1-name")).to_have_value("")
    return page


def input_with_errors(scene: Scene) -> Page:
    page = filled_input(scene)
    page.get_by_label("Content").fill("")
    page.locator("#a2-name").fill(RELEASE.members[0].name)
    page.locator("#a3-model").fill("")
    page.locator("#a3-criteria").fill("")
    page.get_by_role("button", name="Start judgement").click()
    expect(page).to_have_title(re.compile("4 things to correct"))
    return page


def overtaken_input(scene: Scene) -> Page:
    """As if its council had been changed while the page was open."""
    page = scene.open(reverse("council-edit", args=[3]))
    criteria = page.locator("#a1-criteria")
    before = criteria.input_value()
    criteria.fill(f"{before} Say who pays.")
    page.get_by_role("button", name="Save changes").click()
    page = scene.open(f"{reverse('new')}?council=3")
    page.locator("[name=version]").evaluate("field => field.value -= 1")
    criteria.fill(before)
    page.get_by_label("Content").fill(RELEASE.content)
    page.get_by_role("button", name="Start judgement").click()
    expect(page.get_by_role("alert")).to_contain_text("was changed meanwhile")
    return page


def input_of_councils_only(scene: Scene) -> Page:
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


def locked_council(scene: Scene) -> Page:
    scene.post(scene.site, reverse("council-switch", args=[1]), {"do": "lock"})
    return scene.open(reverse("council", args=[1]))


def live(moment: str) -> Callable[[Scene], Page]:
    return lambda scene: scene.open_live(moment)


def idle(scene: Scene) -> Page:
    pk = scene.submit(RELEASE, scene.idle_site)
    return scene.open(reverse("live", args=[pk]), scene.idle_site)


def open_panel(page: Page, number: int) -> None:
    """Anew at every size: its height is measured when it opens."""
    page.keyboard.press("Escape")
    button = page.locator(f"#agent-{number} .agent__more")
    button.evaluate("button => button.click()")
    expect(page.locator(f"#agent-{number}-detail")).to_be_visible()


def ask_before_cancelling(scene: Scene) -> Page:
    page = scene.open_live("round2")
    page.get_by_role("link", name="Cancel judgement").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    return page


def cut_off(scene: Scene, *, offline: bool = False) -> Page:
    """A page whose socket breaks and does not come back, and perhaps all of its network."""
    page, connected = scene.context.new_page(), list[WebSocketRoute]()

    def route(socket: WebSocketRoute) -> None:
        if connected:
            return socket.close(code=1012)
        connected.append(socket)
        socket.connect_to_server()

    page.route_web_socket(re.compile("/ws/"), route)
    page.goto(f"{scene.site.url}{reverse('live', args=[scene.judgement('round2')])}")
    scene.wait_for_reasons(page)
    scene.context.set_offline(offline)
    connected[0].close(code=1012)
    expect(page.locator("#conn-banner")).to_be_visible()
    return page


def redact_without_reason(scene: Scene) -> Page:
    page = scene.open(reverse("redact", args=[scene.judgement("approved")]))
    page.get_by_role("button", name="Erase the texts").click()
    expect(page).to_have_title(re.compile("1 thing to correct"))
    return page


def review_without_text(scene: Scene) -> Page:
    page = scene.open(reverse("admin:judgements_judgement_change", args=[scene.judgement("approved")]))
    page.get_by_role("button", name="Add to the record").click()
    expect(page.get_by_label("Note or reason")).to_have_attribute("aria-invalid", "true")
    return page


def short_council(scene: Scene, url_name: str = "council") -> Page:
    with rows(scene.site) as database:
        database.execute("UPDATE judgements_council SET retention_days = 90 WHERE id = 3")
        columns = "council_id, version_id, name, owner, owner_name, archived, locked"
        last = f"SELECT 'kept', '2026-11-20 09:30:00', 'ines', 90, {columns} FROM judgements_councilchange"
        insert = f"INSERT INTO judgements_councilchange (kind, made, by, retention_days, {columns})"
        database.execute(f"{insert} {last} WHERE council_id = 3 LIMIT 1")
    return scene.open(reverse(url_name, args=[3]))


def replay(scene: Scene) -> Page:
    """In the middle: the fifth of its frames."""
    page = scene.open(reverse("replay", args=[scene.judgement("approved")]))
    page.get_by_role("button", name="Step forward").click()  # and it plays no more, however far it had come
    page.get_by_role("slider", name="Time").press("Home")
    for _ in range(5):
        page.get_by_role("button", name="Step forward").click()
    expect(page.locator("#plate")).to_contain_text("Judging")
    page.evaluate("document.activeElement.blur()")
    return page


def menu(scene: Scene) -> Page:
    page = scene.open(reverse("history"))
    page.locator("details.account summary").click()
    return page


def full_history(scene: Scene) -> Page:
    for moment in MOMENTS:
        scene.judgement(moment)
    return scene.open(reverse("history"))


def reviewers_list(scene: Scene) -> Page:
    for moment in MOMENTS:
        scene.judgement(moment)
    return scene.open(reverse("admin:judgements_judgement_changelist"))


def printout(scene: Scene) -> Page:
    page = reviewers_list(scene)
    page.locator("#action-toggle").check()
    page.get_by_label("Action:").select_option("print_records")
    page.get_by_role("button", name="Go").click()
    expect(page.get_by_role("article")).to_have_count(len(MOMENTS))
    return page


def empty_history(scene: Scene) -> Page:
    scene.sign_in(scene.idle_site)
    return scene.open(reverse("history"), scene.idle_site)


def not_understood(scene: Scene) -> Page:
    return scene.open(reverse("history") + "?" + "&".join(f"a{n}=" for n in range(200)))


def not_allowed(scene: Scene) -> Page:
    """A form whose token the page has lost."""
    page = scene.open(reverse("password"))
    page.locator("input[name=csrfmiddlewaretoken]").evaluate("field => field.remove()")
    page.get_by_role("button", name="Set password").click()
    return page


def broken(scene: Scene) -> Page:
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


def no_database(scene: Scene) -> Page:
    """Its file is out of reach while a form is sent."""
    scene.sign_in(scene.idle_site)
    page = filled_input(scene, scene.idle_site)
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


@dataclass(frozen=True)
class State:
    """`settle` is done again at every size; `ours` is the part of the page that is ours, where not all of it is."""

    name: str
    reach: Callable[[Scene], Page]
    settle: Callable[[Page], None] | None = None
    ours: str = "html"
    printed: bool = False


EVERY = [
    State("sign-in", signed_out),
    State("sign-in-error", wrong_password),
    State("sign-in-limit", too_many_attempts),
    State("password", at("password")),
    State("tokens", at("tokens")),
    State("tokens-new", new_token),
    State("tokens-errors", tokens_with_errors),
    State("input", filled_input),
    State("input-empty", empty_input),
    State("input-errors", input_with_errors),
    State("input-overtaken", overtaken_input),
    State("input-councils", input_of_councils_only),
    State("history-empty", empty_history),
    State("live-idle", idle),
    State("live-round1", live("round1")),
    State("live-round2", live("round2")),
    State("live-retry", live("retry")),
    State("live-approved", live("approved")),
    State("live-rejected", live("rejected")),
    State("live-error", live("error")),
    State("live-cancelled", live("cancelled")),
    State("live-detail", live("round2"), settle=partial(open_panel, number=1)),
    State("live-detail-left", live("round2"), settle=partial(open_panel, number=2)),
    State("live-detail-approved", live("approved"), settle=partial(open_panel, number=3)),
    State("live-cancel", ask_before_cancelling),
    State("live-reconnecting", cut_off),
    State("live-offline", partial(cut_off, offline=True)),
    State("cancel", at("cancel", of("round2"))),
    State("redact", at("redact", of("approved"))),
    State("redact-error", redact_without_reason),
    State("redact-not-over", at("redact", of("round2"))),
    State("overridden-live", live("overridden")),
    State("overridden-record", at("record", of("overridden"))),
    State("redacted-live", live("redacted")),
    State("redacted-record", at("record", of("redacted"))),
    State("history", full_history),
    State("history-search", at("history", q="release", outcome="approved")),
    State("history-none", at("history", q="zeppelin")),
    State("menu", menu, ours=".bar"),  # what it covers is not looked at
    State("record", at("record", of("approved"))),
    State("record-error", at("record", of("error"))),
    State("record-print", at("record", of("approved")), printed=True),
    State("live-print", live("approved"), printed=True),
    State("replay", replay),
    State("councils", at("councils")),
    State("council", at("council", 2)),
    State("council-short", short_council),
    State("council-short-edit", partial(short_council, url_name="council-edit")),
    State("council-locked", locked_council),
    State("council-version", at("council-version", 2, 1)),
    State("council-new", at("council-new")),
    State("council-edit", at("council-edit", 2)),
    State("api-docs", at("api:openapi-view")),
    State("400", not_understood),
    State("403", not_allowed),
    State("404", lambda scene: scene.open("/nowhere/")),
    State("500", broken),
    State("503", no_database),
    State("admin", at("admin:index"), ours="#content-related"),
    State("admin-list", reviewers_list, ours="#changelist"),
    State("admin-list-none", at("admin:judgements_judgement_changelist", q="zeppelin", who="zed"), ours="#changelist"),
    State("admin-judgement", at("admin:judgements_judgement_change", of("error")), ours=".review"),
    State("admin-judgement-approved", at("admin:judgements_judgement_change", of("approved")), ours=".review"),
    State("admin-judgement-overridden", at("admin:judgements_judgement_change", of("overridden")), ours=".review"),
    State("admin-judgement-redacted", at("admin:judgements_judgement_change", of("redacted")), ours=".review"),
    State("admin-review-error", review_without_text, ours=".review"),
    State("admin-printout", printout),
    State("doctor", at("doctor"), ours="#content"),
]


def states(only: str = "") -> list[State]:
    """All of them, or those whose names begin so."""
    return [state for state in EVERY if state.name.startswith(only)]


def reach(scene: Scene, state: State) -> Page:
    """The page in this state. One that is not the scene's own is to be closed by whoever asked for it."""
    scene.context.set_offline(False)
    scene.sign_in(scene.site)
    scene.page.emulate_media(media="screen")  # on paper there is nothing to press
    page = state.reach(scene)
    page.emulate_media(media="print" if state.printed else "screen")
    page.evaluate("document.fonts.ready.then(() => null)")
    return page


def resize(page: Page, state: State, width: int, height: int, theme: str) -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme="light" if theme == "light" else "dark")
    page.evaluate("scrollTo(0, 0)")
    if state.settle:
        state.settle(page)
    page.evaluate(AT_ONCE)
