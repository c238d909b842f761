"""Many follow and wait at once, and nobody else notices: no thread each, and a place for whoever comes next.

    python -m tests.load.many_streams --streams 200 --waits 200 --users 4

A site in a process of its own; its threads are counted in /proc. Exit status 0 if they stay few and a user who comes
last follows, waits and gets a page within a second.
"""

import argparse
import asyncio
import re
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from tests.acceptance.site import ServedSite
from tests.stage import stage

MORE_THREADS = 12  # that may be there beside those of before: requests that are under way
SETTLING = 20.0  # seconds for a loaded machine to take in what came last
LONGEST = 1.0  # seconds for what the last user asks


def threads_of(pid: int) -> int:
    found = re.search(r"Threads:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) if found else 0


class OpenStreams:
    """Calls that stay open."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.writers: list[asyncio.StreamWriter] = []

    async def open(self, path: str, **headers: str) -> asyncio.StreamReader:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", *(f"{k}: {v}" for k, v in headers.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        await writer.drain()
        self.writers.append(writer)
        return reader

    async def follow(self, path: str, token: str) -> float:
        """Seconds to the first event."""
        began = time.monotonic()
        reader = await self.open(f"/api/v1{path}/events", Authorization=f"Bearer {token}")
        async with asyncio.timeout(60):
            await reader.readuntil(b"event: judgement")
        return time.monotonic() - began

    async def wait(self, path: str, token: str) -> None:
        await self.open(f"/api/v1{path}?wait=60", Authorization=f"Bearer {token}")

    async def page(self, path: str, session: str) -> float:
        began = time.monotonic()
        reader = await self.open(path, Cookie=f"sessionid={session}", Connection="close")
        async with asyncio.timeout(60):
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.read()
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode())
        return time.monotonic() - began

    def close(self) -> None:
        for writer in self.writers:
            writer.close()


def person(name: str) -> tuple[str, str, str]:
    """The path of a judgement of a new user, a token and a session."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.models import User
    from django.contrib.sessions.backends.db import SessionStore

    from judgements.models import Judgement
    from magi_site.models import Token
    from tests.conftest import JAPAN, agents

    user = User.objects.create(username=name)
    judgement = Judgement.objects.submit(owner=user, content=JAPAN, agents=agents())
    session = SessionStore()
    session[SESSION_KEY], session[HASH_SESSION_KEY] = str(user.pk), user.get_session_auth_hash()
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session.create()
    return f"/judgements/{judgement.pk}", Token.objects.make(user).secret, session.session_key


async def settled(pid: int, few: int) -> int:
    """How many threads there are when those that came last have been taken in, and have looked at the rows again."""
    end = time.monotonic() + SETTLING
    while threads_of(pid) > few and time.monotonic() < end:
        await asyncio.sleep(0.5)
    await asyncio.sleep(4)
    return threads_of(pid)


async def play(site: ServedSite, people: list[tuple[str, str, str]], streams: int, waits: int) -> bool:
    *many, last = people
    held, pid = OpenStreams(site.port), site.process.pid
    await held.follow(last[0], last[1])  # what starts once is there
    before = threads_of(pid)
    for number in range(streams):
        await held.follow(*many[number % len(many)][:2])
    for number in range(waits):
        await held.wait(*many[number % len(many)][:2])
    meanwhile = await settled(pid, before + MORE_THREADS)
    path, token, session = last
    asked: dict[str, Coroutine[Any, Any, float]] = {
        "stream": held.follow(path, token),
        "page": held.page(f"{path}/", session),
        "health": held.page("/healthz", session),
    }
    took = {name: await call for name, call in asked.items()}
    held.close()
    said = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in took.items())
    print(f"{streams} streams and {waits} waits of {len(many)} users: threads {before} before, {meanwhile} meanwhile.")
    print(f"One user more: {said}.")
    return meanwhile <= before + MORE_THREADS and max(took.values()) < LONGEST


def main(streams: int, waits: int, users: int) -> bool:
    with stage("sqlite") as place:
        people = [person(f"user{number}") for number in range(users + 1)]
        with ServedSite(place.folder, "--no-engine") as site:
            return asyncio.run(play(site, people, streams, waits))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Hold many streams and waits open, and count threads.")
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--waits", type=int, default=200)
    parser.add_argument("--users", type=int, default=4)
    options = parser.parse_args()
    sys.exit(0 if main(options.streams, options.waits, options.users) else 1)
