"""The scene of the pictures and of what must hold for all pages: sites, models that do as they are told, one page."""

import contextlib
import json
import re
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.cases import REFUND, RELEASE, AcceptanceCase
from tests.acceptance.chromium import visit
from tests.acceptance.site import ServedSite
from tests.endpoint import ScriptedEndpoint

PATIENCE = 60.0
TOKEN = "k" * 32  # a form is a page's own where it says what the cookie says


def rehearsed(case: AcceptanceCase) -> AcceptanceCase:
    criteria = "Approve everything."
    members = tuple(replace(one, model="rehearsal/instant", criteria=criteria) for one in case.members)
    return replace(case, members=members, council="")


def of_one_model(case: AcceptanceCase) -> AcceptanceCase:
    return replace(case, members=tuple(replace(one, model="openai/gpt-4o") for one in case.members), council="")


# longer than there is room for, and with all the notes that there are
LONG = replace(of_one_model(RELEASE), title=f"{RELEASE.title}: {RELEASE.content}"[:120])


@dataclass(frozen=True)
class Moment:
    """A judgement in a certain state: `changes` of what the agents do, `sign` in its page once it is there."""

    sign: str
    case: AcceptanceCase = RELEASE
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
    "watched": Moment("4 of 9 decisions", changes=ROUND_2),
    "carried": Moment(">Approved<", changes={(2, 3): {"decision": "reject"}}),
    "rehearsed": Moment(">Approved<", rehearsed(RELEASE)),
    "long": Moment(">Approved<", LONG),
    "retry": Moment("Waits", changes={(3, 2): BUSY}),
}

REVIEWS = (
    ("note", "Seen with the release manager.\nThe window was agreed by phone;\u00ad the ticket is CHG-2211."),
    ("rejected", "The rollback was rehearsed on other data than ours. Wait for Monday."),
)


class AcceptanceScene:
    """Two sites, one with an engine and one without, models that answer as written, and one page that goes about.

    The one without an engine is started when it is first asked for. `pace` is how many seconds an agent takes for an
    answer.
    """

    def __init__(self, browser: Browser, folder: Path, pace: float = 0.0) -> None:
        self.pace = pace
        self._browser, self._folder, self._judgements = browser, folder, dict[str, str]()
        self._stack = contextlib.ExitStack()
        self.listed = tuple(MOMENTS)  # what there is at least in lists of judgements

    def __enter__(self) -> "AcceptanceScene":
        with self._stack:
            self.endpoint = self._stack.enter_context(ScriptedEndpoint())
            self.site = self._start("site")
            self.context = visit(self._browser, viewport={"width": 1440, "height": 900})
            self._stack.callback(self.context.close)
            self.page = self.context.new_page()
            self._stack = self._stack.pop_all()
        return self

    @cached_property
    def idle_site(self) -> ServedSite:
        return self._start("idle", "--no-engine")

    def __exit__(self, *_: object) -> None:
        self.site.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.site.process.wait(1)
        self.site.process.kill()  # it would give the answers that never come their ten seconds
        self._stack.close()

    def _start(self, name: str, *options: str) -> ServedSite:
        provider = {"base_url": self.endpoint.base_url, "price": {"input": 2.5, "output": 10}}
        providers = {model.partition("/")[0]: provider for model in MODELS}
        folder = self._folder / name
        folder.mkdir()
        env = {"MAGI_PROVIDERS": json.dumps(providers), "MAGI_CALL_TIMEOUT": "3600"}
        if "--no-engine" in options:  # so that nothing ever asks it
            env["MAGI_MCP_SERVERS"] = json.dumps({"others": {"url": "https://tools.example/mcp"}})
        site = self._stack.enter_context(ServedSite(folder, *options, **env))
        cast(site)
        return site

    # ---- going about

    def sign_in(self, site: ServedSite) -> None:
        self.context.clear_cookies()
        self.context.add_cookies([{"name": "sessionid", "value": site.visitor_session, "url": site.url}])

    def open(self, path: str, site: ServedSite | None = None) -> Page:
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

    def fill_lists(self) -> None:
        for moment in self.listed:
            self.judgement(moment)

    def submit(self, case: AcceptanceCase, site: ServedSite | None = None, **changes: str) -> str:
        answer = self.post(site or self.site, reverse("new"), case.form(**changes))
        found = re.search(r"/judgements/([0-9a-f-]{36})/", answer.headers.get("location", ""))
        assert found, answer.text()[:2000]
        return found[1]

    def post(self, site: ServedSite, path: str, form: dict[str, str] | None = None) -> Any:
        """As a page of the site would, token and all."""
        self.sign_in(site)
        self.context.add_cookies([{"name": "csrftoken", "value": TOKEN, "url": site.url}])
        fields = {"csrfmiddlewaretoken": TOKEN, **(form or {})}
        return self.context.request.post(f"{site.url}{path}", form=fields, max_redirects=0)

    def wait_for(self, pk: str, sign: str) -> None:
        end = time.monotonic() + PATIENCE
        address = f"{self.site.url}{reverse('live', args=[pk])}"
        while sign not in (html := self.context.request.get(address).text()):
            assert time.monotonic() < end, f"no {sign} in\n{html}"
            time.sleep(0.2)  # to answer with a whole page is work for the site


MODELS = [member.model for case in (RELEASE, REFUND) for member in case.members]


def cast(site: ServedSite) -> None:
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


@contextlib.contextmanager
def unguarded(database: sqlite3.Connection, table: str) -> Iterator[None]:
    """As long as it lasts, the rows of this table can be changed by who owns the database."""
    guards = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?"
    found = database.execute(guards, (table,)).fetchall()
    for name, _ in found:
        database.execute(f"DROP TRIGGER {name}")
    yield
    for _, sql in found:
        database.execute(sql)


def file_of(site: ServedSite) -> Path:
    return site.log.parent / "magi.sqlite3"


@contextlib.contextmanager
def rows(site: ServedSite) -> Iterator[sqlite3.Connection]:
    database = sqlite3.connect(file_of(site), timeout=60)
    with contextlib.closing(database), database:
        yield database
