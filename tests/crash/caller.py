"""A program that acts behind a gate is killed at random between the approval and the act, and begun again: each act
happened at most once and by exactly the arguments that were approved, and wherever nobody was killed after the approval
was used up it did happen.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.acceptance.site import ROOT, ServedSite, manage

COUNCIL = "Yes"
MAKE = f"""
from judgements.models import Council
agents = [dict(name=n, model="rehearsal/instant", criteria="Approve everything.", fallback="") for n in "ABC"]
Council.objects.create_first(name="{COUNCIL}", owner=None, agents=agents)
"""
MANY = {"MAGI_USER_SUBMISSIONS": "100000", "MAGI_USER_RECEIPTS": "100000", "MAGI_USER_QUEUED": "100000"}
LONGEST = 60.0
MEASURED = 2  # that nobody kills, to know how long one takes


class CallerPlay:
    def __init__(self, site: ServedSite, folder: Path, token: str) -> None:
        self.acts = folder / "acts"
        self.env = {"PATH": "/usr/bin:/bin", "MAGI_URL": site.url, "MAGI_TOKEN": token}
        self.took = 0.3

    def start(self, key: str) -> "subprocess.Popen[str]":
        words = [
            sys.executable,
            str(ROOT / "tests" / "crash" / "gate_actor.py"),
            COUNCIL,
            str(self.acts),
            key,
            f"word-{key}",
        ]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(words, env=self.env, **pipes)  # type: ignore[call-overload, no-any-return]

    def to_its_end(self, key: str) -> str:
        began = time.monotonic()
        said, complained = self.start(key).communicate(timeout=LONGEST)
        self.took = time.monotonic() - began  # as busy as the machine is now
        if not said:
            raise AssertionError(complained)
        return said.strip()

    def approved_before(self, keys: list[str]) -> None:
        """So that all that is left of an actor's life lies between the approval and the act."""
        sys.path.insert(0, str(ROOT / "client"))
        from magi import Magi

        magi = Magi(self.env["MAGI_URL"], self.env["MAGI_TOKEN"])

        def judge(key: str) -> bool:
            content = (
                "Call of __main__.act with these arguments:\n"
                f'{{\n "key": "{key}",\n "what": {{\n  "word": "word-{key}"\n }}\n}}'
            )
            return magi.judge(content, council=COUNCIL, key=key).holds == "approved"

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(judge, keys))

    def kill(self, key: str) -> str:
        """How it ended after a kill at some moment, and how the same call that came after it did."""
        actor = self.start(key)
        time.sleep(random.uniform(0.5, 1.4) * self.took)
        actor.kill()
        said = actor.communicate(timeout=LONGEST)[0].strip()
        after = self.to_its_end(key)
        acted = self.acts_of(key)
        if not said and not acted:
            return "killed with the approval used up: nobody acts" if after == "already done" else "wrong"
        if said:
            return "too late to be killed"
        return "killed after the act" if after == "already done" else "killed before the approval was used"

    def acts_of(self, key: str) -> list[str]:
        lines = self.acts.read_text().splitlines() if self.acts.exists() else []
        return [line for line in lines if line.split()[0] == key]


def play(options: argparse.Namespace) -> bool:
    kills = options.kills
    with tempfile.TemporaryDirectory() as name, ServedSite(Path(name), **MANY) as site:
        made = manage("shell", "-c", MAKE, env=site.env)
        assert made.returncode == 0, made.stderr
        there = CallerPlay(site, Path(name), manage("create_token", "admin", env=site.env).stdout.strip())
        keys = [f"key-{number}" for number in range(kills * 5 + 20)]  # most kills come too late on a busy machine
        there.approved_before(keys[:MEASURED])
        assert [there.to_its_end(key) for key in keys[:MEASURED]] == ["done"] * MEASURED
        ends: Counter[str] = Counter()
        wrong = []
        for number, key in enumerate(keys[MEASURED:]):
            if number % min(50, 2 * kills) == 0:
                there.approved_before(keys[MEASURED + number : MEASURED + number + min(50, 2 * kills)])
            ends[there.kill(key)] += 1
            if len(acts := there.acts_of(key)) > 1 or any(act != f"{key} word-{key}" for act in acts):
                wrong.append(key)
            if sum(ends.values()) - ends["too late to be killed"] >= kills:
                break
    for said, number in ends.most_common():
        print(f"{number:5} {said}")
    print(f"{len(wrong)} acted twice or with other arguments")
    killed = sum(ends.values()) - ends["too late to be killed"]
    return not wrong and not ends["wrong"] and killed >= kills
