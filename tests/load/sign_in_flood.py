"""Somebody guesses passwords as fast as the site answers; nobody else notices, and no answer tells who has an account.

    python -m tests.load.sign_in_flood --guesses 10000 --at-once 16

A site in a process of its own. Half of the guesses come from one address, the others each from an address and for a
name of their own, as from a botnet. Exit status 0 if most are refused, if meanwhile ordinary requests stay below a
second for 99 of 100, and if the median times of wrong guesses for known and unknown names differ by less than 20 ms.
"""

import argparse
import asyncio
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count

from tests.acceptance.site import ServedSite
from tests.load.many_streams import person
from tests.stage import stage

KNOWN_NAMES = 4
PAUSE = 0.05  # between two ordinary requests


class Visitor:
    """Sends requests, each on a connection of its own, from any address: the site believes this machine."""

    def __init__(self, port: int, session: str = "") -> None:
        self.port, self.cookies = port, f"sessionid={session}"
        self.form = ""

    async def ask(self, method: str, path: str, body: str = "", address: str = "192.0.2.1") -> tuple[int, str]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            "Connection: close",
            f"Cookie: {self.cookies}",
            f"X-Forwarded-For: {address}",
            "Content-Type: application/x-www-form-urlencoded",
            f"Content-Length: {len(body)}",
        ]
        writer.write("\r\n".join([*lines, "", body]).encode())
        answer = (await reader.read()).decode(errors="replace")
        writer.close()
        return int(answer[9:12]), answer

    async def get_form(self) -> None:
        _, page = await self.ask("GET", "/accounts/login/")
        cookie, field = (re.search(rf"{name}(\w+)", page) for name in ("csrftoken=", 'csrfmiddlewaretoken" value="'))
        if not cookie or not field:
            raise RuntimeError(page)
        self.cookies, self.form = cookie[0], field[1]

    async def guess(self, name: str, address: str) -> int:
        body = f"csrfmiddlewaretoken={self.form}&username={name}&password=wrong+{name}"
        return (await self.ask("POST", "/accounts/login/", body, address))[0]


def addresses() -> Iterator[str]:
    return (f"198.{18 + n // 65_536}.{n // 256 % 256}.{n % 256}" for n in count())


async def median_of(visitor: Visitor, names: list[list[str]], times: int, elsewhere: Iterator[str]) -> list[float]:
    """Of wrong guesses at each of these lists of names, by turns."""
    took: list[list[float]] = [[] for _ in names]
    for number in range(times):
        for which, of in enumerate(names):
            began = time.monotonic()
            status = await visitor.guess(of[number % len(of)], next(elsewhere))
            took[which].append(time.monotonic() - began)
            if status != 200:
                raise RuntimeError(f"a guess was answered by {status}")
    return [statistics.median(of) for of in took]


async def ordinary(visitor: Visitor, took: dict[str, list[float]], done: asyncio.Event) -> None:
    while not done.is_set():
        for path, of in took.items():
            began = time.monotonic()
            status, _ = await visitor.ask("GET", path)
            of.append(time.monotonic() - began)
            if status != 200:
                raise RuntimeError(f"{path} was answered by {status}")
        await asyncio.sleep(PAUSE)


async def flood(visitor: Visitor, guesses: int, at_once: int, elsewhere: Iterator[str]) -> Counter[int]:
    left = iter(range(guesses))
    answers: Counter[int] = Counter()

    async def guesser() -> None:
        for number in left:
            spread = number % 2
            name, address = (f"name{number}", next(elsewhere)) if spread else ("known0", "203.0.113.9")
            answers[await visitor.guess(name, address)] += 1

    await asyncio.gather(*(guesser() for _ in range(at_once)))
    return answers


def p99(took: list[float]) -> float:
    return sorted(took)[int(len(took) * 0.99)]


async def play(
    site: ServedSite, session: str, guesses: int, at_once: int, times: int, alike: float, longest: float
) -> bool:
    guesser, reader = Visitor(site.port), Visitor(site.port, session)
    await guesser.get_form()
    elsewhere = addresses()
    names = [[f"{kind}{number}" for number in range(KNOWN_NAMES)] for kind in ("known", "nobody")]
    known, unknown = await median_of(guesser, names, times, elsewhere)
    print(f"A wrong guess: {known * 1000:.0f} ms for known names, {unknown * 1000:.0f} ms for unknown ones (median).")
    took: dict[str, list[float]] = {"/healthz": [], "/judgements/": []}
    done, began = asyncio.Event(), time.monotonic()
    reading = asyncio.create_task(ordinary(reader, took, done))
    answers = await flood(guesser, guesses, at_once, elsewhere)
    done.set()
    await reading
    print(f"{guesses:,} guesses, {at_once} at once, in {time.monotonic() - began:.0f} s: {dict(answers)}.")
    for path, of in took.items():
        print(f"{path}: {len(of)} times, p50 {statistics.median(of):.3f} s, p99 {p99(of):.3f} s, max {max(of):.3f} s.")
    refused = answers[429] + answers[503]
    return refused > answers[200] and abs(known - unknown) < alike and max(map(p99, took.values())) < longest


def main(guesses: int, at_once: int, times: int, alike: float, longest: float) -> bool:
    with stage("sqlite", MAGI_PROXIES="127.0.0.1") as place:
        from django.contrib.auth.models import User

        for number in range(KNOWN_NAMES):
            User.objects.create_user(f"known{number}", password="a long enough secret")
        _, _, session = person("reader")
        with ServedSite(place.folder, "--no-engine", MAGI_PROXIES="127.0.0.1") as site:
            return asyncio.run(play(site, session, guesses, at_once, times, alike, longest))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Guess passwords while others use the site.")
    parser.add_argument("--guesses", type=int, default=10_000)
    parser.add_argument("--at-once", type=int, default=16)
    parser.add_argument("--times", type=int, default=40, help="guesses for which known and unknown names are compared")
    parser.add_argument("--alike", type=float, default=0.020, help="seconds between the two medians")
    parser.add_argument("--longest", type=float, default=1.0, help="seconds for 99 of 100 ordinary requests")
    sys.exit(0 if main(**vars(parser.parse_args())) else 1)
