"""How long a change takes from its commit to every one of many watchers of one judgement, all of one process.

`python -m tests.acceptance.watchers 1000` starts a private Redis and a site, opens the sockets and prints.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.acceptance.redis import RedisProxy
from tests.acceptance.site import ServedSite

SOCKETS_PER_USER = 20


def measure(watchers: int, folder: Path) -> dict[str, float]:
    """Milliseconds from commit to arrival, over nine decisions and all watchers."""
    with RedisProxy(folder) as redis, ServedSite(folder, "--no-engine", REDIS_URL=redis.url) as site:
        os.environ |= {**site.env, "DJANGO_SETTINGS_MODULE": "magi_site.settings"}
        import django

        django.setup()
        times, busy = asyncio.run(_watch(site, watchers))
    cuts = statistics.quantiles(times, n=100)
    return {"p50": cuts[49], "p99": cuts[98], "messages": len(times), "CPU us per message": busy / len(times) * 1e6}


async def _watch(site: ServedSite, watchers: int) -> tuple[list[float], float]:
    import aiohttp
    from asgiref.sync import sync_to_async

    from engine import pubsub

    judgement, sessions = await sync_to_async(_cast)(-(-watchers // SOCKETS_PER_USER))
    url = f"{site.url}/ws/judgements/{judgement.pk}/"
    arrivals: list[float] = []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
        listening = []
        for number in range(watchers):
            headers = {"Cookie": f"sessionid={sessions[number // SOCKETS_PER_USER]}", "Origin": site.url}
            page = await client.ws_connect(url, headers=headers)
            listening.append(asyncio.create_task(_listen(page, arrivals)))
        await _until(lambda: len(arrivals) == watchers)
        times: list[float] = []
        before = _seconds_of(site.process.pid)
        for step in [f"{seat}{number}" for number in (1, 2, 3) for seat in "ABC"]:
            arrivals.clear()
            await sync_to_async(_decide)(judgement, step)
            committed = time.monotonic()
            pubsub.announce(judgement.pk)
            await _until(lambda: len(arrivals) >= watchers)
            times += [(arrived - committed) * 1000 for arrived in arrivals]
            await asyncio.sleep(0.5)
        busy = _seconds_of(site.process.pid) - before
        for task in listening:
            task.cancel()
    return times, busy


def _seconds_of(process: int) -> float:
    """How long a process has been at work."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _listen(page: Any, arrivals: list[float]) -> None:
    async for message in page:
        arrivals.append(time.monotonic())
        await page.send_str(message.data[4 : message.data.index("-->")])


async def _until(true: Any) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


def _cast(users: int) -> tuple[Any, list[str]]:
    """A judgement that nobody performs, and the sessions of staff who may see it."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.models import User
    from django.contrib.sessions.backends.db import SessionStore

    from judgements.models import Judgement
    from tests.conftest import JAPAN, agents

    sessions = []
    for number in range(users):
        user = User.objects.create_superuser(f"watcher {number}")
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.create()
        sessions.append(session.session_key)
    return Judgement.objects.submit(owner=user, content=JAPAN, agents=agents()), sessions


def _decide(judgement: Any, step: str) -> None:
    from django.db import transaction

    from engine.models import ModelCall, Run

    with transaction.atomic():
        run = Run.objects.get(pk=judgement.pk)
        Run.objects.filter(pk=run.pk).update(status="running", revision=run.revision + 1)
        call = ModelCall.objects.create(
            run=run, step=step, attempt=1, status="answered", model="x", prompt="[]", deadline=run.created
        )
        agent = judgement.agents.get(seat=step[0])
        agent.decisions.create(round=int(step[1]), decision="approve", reason="It is clear. " * 20, call=call)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(int(sys.argv[1]), Path(folder))
        print(json.dumps({name: round(value, 1) for name, value in measured.items()}))
