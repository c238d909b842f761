"""A site is killed (-9) while many submit: each Idempotency-Key has one judgement, and every answer names that one.
Eight callers submit each key until it is answered, and then once more.
"""

import argparse
import json
import random
import sqlite3
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from tests.acceptance.site import ServedSite, manage

MANY = {f"MAGI_USER_{name}": "100000" for name in ("QUEUED", "SUBMISSIONS")}
ASKED = {
    "content": "I am going to travel to Japan next week.",
    "agents": [{"name": name, "model": "rehearsal/instant", "criteria": "Approve it."} for name in "ABC"],
}
LONGEST = 900.0


class Callers:
    def __init__(self, site: ServedSite, token: str) -> None:
        self.site, self.until = site, time.monotonic() + LONGEST
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self.broken, self._counting = 0, threading.Lock()

    def submitted(self, key: str) -> set[str]:
        """The judgements that were named for it, in an answer that came and in one after that."""
        return {self._answered(key), self._answered(key)}

    def _answered(self, key: str) -> str:
        while time.monotonic() < self.until:
            try:
                return self._once(key)
            except (OSError, HTTPException):  # it was killed, or is not up yet
                with self._counting:
                    self.broken += 1
                time.sleep(0.1)
        raise AssertionError(f"{key} was never answered")

    def _once(self, key: str) -> str:
        with closing(HTTPConnection("127.0.0.1", self.site.port, timeout=60)) as connection:
            headers = self.headers | {"Idempotency-Key": key}
            connection.request("POST", "/api/v1/judgements", json.dumps({**ASKED, "title": key}), headers)
            answer = connection.getresponse()
            said = json.loads(answer.read())
        assert answer.status == 202, said
        return str(said["id"])


def kill_and_start(site: ServedSite) -> None:
    site.process.kill()
    site.process.wait(60)
    with site.log.open("ab") as log:
        site.process = site.start(log)
    site.wait_until_up()


def play(options: argparse.Namespace) -> bool:
    submissions, kills = options.judgements, options.kills
    with tempfile.TemporaryDirectory() as folder, ServedSite(Path(folder), "--no-engine", **MANY) as site:
        callers = Callers(site, manage("create_token", "admin", env=site.env).stdout.strip())
        keys = [f"key-{number}" for number in range(submissions)]
        # some come after the last kill, however fast they are
        parts = [keys[number :: kills + 1] for number in range(kills + 1)]
        named: list[set[str]] = []
        with ThreadPoolExecutor(8) as pool:
            for number, part in enumerate(parts):
                answers = [pool.submit(callers.submitted, key) for key in part]
                if number < kills:
                    time.sleep(random.uniform(0, 0.4))
                    kill_and_start(site)
                named += [answer.result() for answer in answers]
        with closing(sqlite3.connect(Path(folder) / "magi.sqlite3")) as rows:
            [(there, titles)] = rows.execute("SELECT count(*), count(DISTINCT title) FROM engine_run").fetchall()
    one_each = all(len(found) == 1 for found in named) and len(set().union(*named)) == submissions
    print(
        f"{submissions} submissions, {kills} kills, {callers.broken} broken calls: {there} judgements, {titles} titles"
    )
    return one_each and there == titles == submissions
