"""Many inquiries at once: how soon their pages hear of each order, and how much memory one takes that is under way.

    python -m tests.load.inquiry_load --inquiries 200 --watched 10
    python -m tests.load.inquiry_load --database postgres --apart

A site with its engine in one process, or apart from it in a second one as on a server with two processors, and an
endpoint beside it that answers by the rules of a rehearsal after 10 ms.
Of those that are watched, each order is timed from its row to the message in which the page lists it. Exit status 0 if
all are answered, 95 of 100 orders arrive within 300 ms, and one inquiry takes no more than 1 MB.
"""

import argparse
import asyncio
import contextlib
import json
import re
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from http.server import ThreadingHTTPServer
from pathlib import Path
from statistics import quantiles
from typing import Any
from uuid import UUID

from tests.acceptance.site import EngineProcess, ServedSite
from tests.inquiries.peers import InquiryPeerHandler
from tests.stage import DATABASES, stage

THINKS = 0.01  # seconds
SOON, MOST_MEMORY = 300.0, 1.0  # ms of 95 of 100 orders; MB of one inquiry
ENDLESS = 900
QUESTION = "How is a judgement approved by its three agents? ({})"


class Rehearsed:
    """Says what a rehearsal does, a little later."""

    def say(self, form: str, given: Mapping[str, Any]) -> str:
        from engine.llm.prompt_blocks import fence
        from runs.procedure.spec import specs

        time.sleep(THINKS)
        return specs()["inquiry"].rehearsals[form]([{}, {"content": fence(dict(given), "0")}])


class InquiryEndpoint(InquiryPeerHandler):
    protocol_version = "HTTP/1.1"
    reader: Any = Rehearsed()


def submitted(owner: Any, number: int) -> list[UUID]:
    from inquiries.examples import about_magi
    from inquiries.models import ROLES, Inquiry

    models = dict.fromkeys(ROLES, "peer/one")
    asked = {"models": models, "documents": about_magi()[:2]}
    return [Inquiry.objects.submit(owner=owner, question=QUESTION.format(n), **asked).pk for n in range(number)]


def session_of(owner: Any) -> str:
    from django.test import Client

    client = Client()
    client.force_login(owner)
    return client.cookies["sessionid"].value


async def play(
    site: ServedSite, pid: int, owner: Any, number: int, watched: int
) -> tuple[list[UUID], dict[UUID, list[float]], float]:
    """The inquiries; when each order of those that are watched was on its page; and MB that one took of the engine."""
    import aiohttp
    from asgiref.sync import sync_to_async

    await ended(await sync_to_async(submitted)(owner, 1))  # what loads once is loaded
    before = memory_of(pid)
    pks = await sync_to_async(submitted)(owner, number)
    cookie = {"Cookie": f"sessionid={await sync_to_async(session_of)(owner)}", "Origin": site.url}
    arrived: dict[UUID, list[float]] = {pk: [] for pk in pks[:watched]}
    async with aiohttp.ClientSession() as client:
        listening = [asyncio.create_task(listen(client, site, pk, cookie, arrived[pk])) for pk in arrived]
        sizes = list[float]()
        measuring = asyncio.create_task(measure(pid, sizes))
        await ended(pks)
        await asyncio.sleep(1)
        for task in (*listening, measuring):
            task.cancel()
    return pks, arrived, (max(sizes) - before) / number


async def listen(client: Any, site: ServedSite, pk: UUID, headers: Mapping[str, str], arrived: list[float]) -> None:
    async with client.ws_connect(f"{site.url}/ws/inquiries/{pk}/", headers=headers) as page:
        async for message in page:
            now = time.time()
            listed = re.search(r'id="before".*?</section>', message.data, re.DOTALL)
            seen = listed[0].count("<li data-state=") if listed else 0
            arrived += [now] * (seen - len(arrived))
            await page.send_str(message.data[4 : message.data.index("-->")])


async def measure(pid: int, sizes: list[float]) -> None:
    while True:
        sizes.append(memory_of(pid))
        await asyncio.sleep(0.2)


def memory_of(pid: int) -> float:
    """MB of its own."""
    said = re.search(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(said[1]) / 1024 if said else 0.0


async def ended(pks: Sequence[UUID]) -> None:
    from engine.models import Run

    async with asyncio.timeout(ENDLESS):
        while await Run.objects.filter(pk__in=pks, ended=None).aexists():
            await asyncio.sleep(0.5)


def late(arrived: Mapping[UUID, Sequence[float]]) -> list[float]:
    """Milliseconds from each order to its page; of those that it lists, oldest first, which were not there at first."""
    from inquiries.models import Assignment, AssignmentKind

    found = list[float]()
    for pk, times in arrived.items():
        orders = Assignment.objects.filter(inquiry=pk).exclude(kind=AssignmentKind.FINAL).order_by("number")
        first = times[0] if times else 0
        found += [
            (at - one.made.timestamp()) * 1000
            for at, one in zip(times, orders, strict=False)
            if at > first or one.made.timestamp() > first - 1
        ]
    return found


def main(options: argparse.Namespace) -> bool:
    server = ThreadingHTTPServer(("127.0.0.1", 0), InquiryEndpoint)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    providers = json.dumps({"peer": {"base_url": f"http://127.0.0.1:{server.server_port}/v1"}})
    env = {"MAGI_PROVIDERS": providers, "MAGI_ENGINE_CONCURRENCY": str(options.inquiries)}
    with stage(options.database, **env) as place:
        from django.contrib.auth.models import User

        from engine.models import Run

        owner = User.objects.create_superuser("ada")
        alone = ["--no-engine"] if options.apart else []
        with contextlib.ExitStack() as stack:
            site = stack.enter_context(ServedSite(place.folder, *alone, **{**place.env, **env}))
            engine = EngineProcess({**place.env, **env}, place.folder / "engine.log")
            performing = stack.enter_context(engine) if options.apart else site
            began = time.monotonic()
            pid = performing.process.pid
            pks, arrived, memory = asyncio.run(play(site, pid, owner, options.inquiries, options.watched))
            took = time.monotonic() - began
        answered = Run.objects.filter(pk__in=pks, outcome="answered").count()
        times = late(arrived)
    cuts = quantiles(times, n=100)
    print(
        f"{answered} of {len(pks)} answered in {took:.0f} s, "
        f"{InquiryPeerHandler.asked['calls']} calls of {THINKS * 1000:.0f} ms"
    )
    print(f"{len(times)} orders on {len(arrived)} pages: p50 {cuts[49]:.0f} ms, p95 {cuts[94]:.0f} ms")
    print(f"{memory:.2f} MB for each")
    return answered == len(pks) and cuts[94] <= SOON and memory <= MOST_MEMORY


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inquiries", type=int, default=200)
    parser.add_argument("--watched", type=int, default=10)
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument("--apart", action="store_true", help="on PostgreSQL: site and engine in two processes")
    sys.exit(0 if main(parser.parse_args()) else 1)
