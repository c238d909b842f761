"""How long a decision takes from its commit to all who watch: `python -m tests.bench.push --watchers 1 100 1000`.

A site as it is served, and in this process the sockets of people with a session each. A decision bears the time just
before its commit, and a watcher has it when the first message comes that shows it: one machine, one clock.
"""

import argparse
import asyncio
import json
import os
import re
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple
from uuid import UUID

import aiohttp

from tests.acceptance.site import ServedSite
from tests.bench.work import SAID_AFTER
from tests.endpoint import ScriptedEndpoint
from tests.stage import stage

EACH = 20  # pages of one run that somebody may have open
CRITERIA = {"A": "May it be undone?", "B": "Can it be paid?", "C": "Is it lawful?"}
# decisions come one by one, as from models: two at once would be one commit and one message
APART = {"by_text": [[CRITERIA["B"], {"delay": 1.5}], [CRITERIA["C"], {"delay": 2.5}]], "delay": 0.5}
DECIDED = re.compile(r'id="(t-r\d-a\d)"(?:(?!<article).)*?<h4 data-state="(?:approve|reject)"', re.DOTALL)
TICKS = os.sysconf("SC_CLK_TCK")
ELSEWHERE = "a machine that is not there"  # whatever is bound to it waits


class PushedMessage(NamedTuple):
    """One message, as it came to one page."""

    at: float
    text: str


class PushPage:
    """An open page: it says which version it has, a moment later as `live.js` does, and keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[PushedMessage] = []

    async def follow(self, site: ServedSite, session: str, pk: UUID, client: aiohttp.ClientSession) -> None:
        headers = {"Cookie": f"sessionid={session}", "Origin": site.url}
        async with client.ws_connect(f"{site.url}/ws/judgements/{pk}/", headers=headers, max_msg_size=0) as socket:
            saying = None
            async for message in socket:
                self.told.append(PushedMessage(time.time(), message.data))
                if saying is None or saying.done():
                    saying = asyncio.create_task(self._acknowledge(socket))

    async def _acknowledge(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        await asyncio.sleep(SAID_AFTER)
        newest = self.told[-1].text
        await socket.send_str(newest[4 : newest.index("-->")])

    def first_shown(self) -> dict[str, float]:
        shown: dict[str, float] = {}
        for at, text in self.told:
            for cell in DECIDED.findall(text):
                shown.setdefault(cell, at)
        return shown


def person(name: str) -> str:
    """The session of somebody new who may see all."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.models import User
    from django.contrib.sessions.backends.db import SessionStore

    user, session = User.objects.create(username=name, is_superuser=True), SessionStore()
    session[SESSION_KEY], session[HASH_SESSION_KEY] = str(user.pk), user.get_session_auth_hash()
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session.create()
    return str(session.session_key)


def submitted() -> UUID:
    """A judgement that nobody takes on yet."""
    from django.db import transaction

    from engine.models import Run
    from judgements.models import Judgement
    from tests.bench.work import CONTENT

    agents = [
        {"name": f"Agent {seat}", "model": "openai/gpt-5-mini", "criteria": criteria, "fallback": ""}
        for seat, criteria in CRITERIA.items()
    ]
    with transaction.atomic():
        judgement = Judgement.objects.submit(owner=None, content=CONTENT, agents=agents)
        Run.objects.filter(pk=judgement.pk).update(host=ELSEWHERE)
    return judgement.pk


def performed(pk: UUID) -> dict[str, float]:
    """When each decision was made, when all of them are."""
    from engine.models import Run
    from judgements.models import RoundDecision

    Run.objects.filter(pk=pk).update(host="")
    while not Run.objects.get(pk=pk).is_ended:
        time.sleep(0.2)
    made = RoundDecision.objects.filter(agent__judgement=pk).values_list("round", "agent__seat", "created")
    return {f"t-r{number}-a{'ABC'.index(seat) + 1}": created.timestamp() for number, seat, created in made}


async def play(site: ServedSite, sessions: list[str], watchers: int) -> dict[str, float]:
    pk = await asyncio.to_thread(submitted)
    pages = [PushPage() for _ in range(watchers)]
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
        sockets = []
        for number, page in enumerate(pages):
            sockets.append(asyncio.create_task(page.follow(site, sessions[number // EACH], pk, client)))
            while number % EACH == EACH - 1 and not all(one.told for one in pages[: number + 1]):
                await asyncio.sleep(0.05)
        began = cpu_of(site)
        made = await asyncio.to_thread(performed, pk)
        await asyncio.sleep(2)
        spent = cpu_of(site) - began
        for socket in sockets:
            socket.cancel()
        await asyncio.gather(*sockets, return_exceptions=True)
    return figures(made, pages, spent)


def figures(made: dict[str, float], pages: list[PushPage], spent: float) -> dict[str, float]:
    shown = [page.first_shown() for page in pages]
    took = [1000 * (cells[cell] - at) for cells in shown for cell, at in made.items() if cell in cells]
    messages = sum(len(page.told) - 1 for page in pages)
    return {
        "p50 ms": round(median(took)),
        "p99 ms": round(quantiles(took, n=100)[98]),
        "missed": len(made) * len(pages) - len(took),
        "messages each": round(messages / len(pages), 1),
        "CPU us a message": round(1e6 * spent / messages),
    }


def cpu_of(site: ServedSite) -> float:
    """Seconds of the processor that the site has used, its engine included."""
    used = Path(f"/proc/{site.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, used)) / TICKS


def main(options: argparse.Namespace) -> None:
    found: dict[int, dict[str, Any]] = {}
    with (
        ScriptedEndpoint() as endpoint,
        stage("sqlite", OPENAI_BASE_URL=endpoint.base_url, OPENAI_API_KEY="none") as place,
    ):
        endpoint.script(**APART)
        sessions = [person(f"watcher{number}") for number in range(-(-max(options.watchers) // EACH))]
        with ServedSite(place.folder, **place.env) as site:
            for watchers in options.watchers:
                found[watchers] = asyncio.run(play(site, sessions, watchers))
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for watchers, row in found.items():
        print(f"{watchers:6} watchers: " + ", ".join(f"{value} {name}" for name, value in row.items()))
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.push", description=__doc__)
    parser.add_argument("--watchers", type=int, nargs="+", default=[1, 100, 1000])
    parser.add_argument("--json", action="store_true")
    main(parser.parse_args())
