"""What MAGI can be asked, in words of Python."""

import asyncio
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Callable
from urllib.parse import urlencode

from ._wire import HttpWire

RUN_PATHS = {
    "judgement": "judgements",
    "debate": "debates",
    "inquiry": "inquiries",
    "plan": "plans",
    "mission": "missions",
}
LONGEST_WAIT = 50.0
APPROVING_OUTCOMES = {"judgement": "approved", "inquiry": "answered", "plan": "done", "mission": "done"}


@dataclass(frozen=True)
class RunResult:
    """One run as MAGI told of it. `all` has everything that the API says of one of its kind."""

    id: str
    kind: str
    url: str
    title: str
    status: str
    outcome: str | None
    over: bool
    all: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "RunResult":
        names = ("id", "kind", "url", "title", "status", "outcome")
        return cls(**{name: told[name] for name in names}, over=told["ended"] is not None, all=told)

    @property
    def holds(self) -> str | None:
        """What counts: what a person decided instead, last, or the outcome. None where nothing came of it."""
        override = self.all.get("override") or {}
        word = override.get("verdict") or override.get("outcome")
        return str(word) if word else self.outcome

    @property
    def approved(self) -> bool:
        """Of a judgement: whether it may pass. A failure is never an approval, and neither is a rehearsal's yes."""
        return self.kind == "judgement" and self.holds == "approved" and not self.all.get("rehearsal")

    @property
    def well(self) -> bool:
        """Whether it came out well: approved, answered, done. Of a debate: whether it came to an option."""
        if self.kind == "debate":
            return self.holds not in (None, "no_decision")
        return self.holds == APPROVING_OUTCOMES.get(self.kind)

    @property
    def waits_for_people(self) -> bool:
        return any(gate["state"] == "pending" for gate in self.all.get("gates") or ())


class Magi:
    """`url` as in https://magi.example. Whatever begins something waits until it is over, for `wait` seconds at most;
    0 begins it and returns at once. A `key` begins the same request once, however often it is sent."""

    def __init__(self, url: str, token: str, *, timeout: float = 75.0) -> None:
        self._wire = HttpWire(url, token, timeout)

    def judge(
        self,
        content: str,
        *,
        council: str | int | None = None,
        agents: Any | None = None,
        title: str = "",
        version: int | None = None,
        wait: float = 600,
        key: str = "",
    ) -> RunResult:
        """By a council, or by three agents."""
        asked: dict[str, Any] = {"content": content, "council": council, "agents": agents, "version": version}
        return self.begin("judgement", {**asked, "title": title or None}, wait=wait, key=key)

    def debate(self, question: str, *, panel: str = "", wait: float = 1800, key: str = "", **more: Any) -> RunResult:
        return self.begin("debate", {"question": question, "panel": panel or None, **more}, wait=wait, key=key)

    def ask(self, question: str, *, wait: float = 1800, key: str = "", **more: Any) -> RunResult:
        """An inquiry."""
        return self.begin("inquiry", {"question": question, **more}, wait=wait, key=key)

    def plan(self, task: str, *, team: str = "", wait: float = 600, key: str = "", **more: Any) -> RunResult:
        """Returns early where somebody is asked to decide: see `waits_for_people`."""
        return self.begin("plan", {"task": task, "team": team or None, **more}, wait=wait, key=key)

    def mission(self, goal: str, *, crew: str = "", wait: float = 1800, key: str = "", **more: Any) -> RunResult:
        return self.begin("mission", {"goal": goal, **({"crew": crew} if crew else {}), **more}, wait=wait, key=key)

    def begin(self, kind: str, asked: Mapping[str, Any], *, wait: float = 0, key: str = "") -> RunResult:
        """Any kind, by the fields that the API takes; None is left out."""
        content = {name: value for name, value in asked.items() if value is not None}
        told = self._wire.send("POST", f"/{RUN_PATHS[kind]}", content, key=key or str(uuid.uuid4()))
        run = RunResult.of(told)
        return self.wait(run.id, wait) if wait and not run.over else run

    def look(self, run: str) -> RunResult:
        return RunResult.of(self._wire.send("GET", f"/runs/{run}"))

    def wait(self, run: str, seconds: float = 600) -> RunResult:
        """Until it is over, or somebody is asked to decide, or this time has passed."""
        end = time.monotonic() + seconds
        while True:
            left = max(0.0, min(LONGEST_WAIT, end - time.monotonic()))
            found = RunResult.of(
                self._wire.send("GET", f"/runs/{run}?{urlencode({'wait': left, 'until': 'end,gate'})}")
            )
            if found.over or found.waits_for_people or time.monotonic() >= end:
                return found

    def runs(self, **sought: str) -> Iterator[RunResult]:
        """All that may be seen, newest first; sought by kind, status, outcome, q, since, until. Each in short: `look`
        has all of one, and `full="1"` all of each."""
        cursor = ""
        while True:
            query = urlencode({name: value for name, value in {**sought, "cursor": cursor}.items() if value})
            page = self._wire.send("GET", f"/runs?{query}")
            yield from map(RunResult.of, page["results"])
            if not page["next"]:
                return
            cursor = page["results"][-1]["id"]

    def cancel(self, run: str) -> RunResult:
        return RunResult.of(self._wire.send("POST", f"/runs/{run}/cancel", again=True))

    def record(self, run: str) -> Any:
        return self._wire.send("GET", f"/runs/{run}/record")

    def councils(self) -> Any:
        """Each in short: its id, name, version, and the names and models of its agents."""
        return self._wire.send("GET", "/councils")["results"]

    def receipt(self, judgement: str, *, lifetime: int = 600, audience: str = "") -> dict[str, Any]:
        """A signed statement that exactly this content was approved."""
        asked = {"lifetime": lifetime, "audience": audience or None}
        found: dict[str, Any] = self._wire.send("POST", f"/judgements/{judgement}/receipt", asked, again=True)
        return found

    def consume(
        self,
        receipt: Mapping[str, Any],
        *,
        council: str | int | None,
        version: int | None = None,
        rehearsal: bool = False,
        audience: str = "",
        first: bool = False,
    ) -> dict[str, Any]:
        """Use it up. `first`: and only if no other receipt of its judgement was used. Never sent twice by itself: where
        no answer comes it may have been used."""
        asked = {"receipt": dict(receipt), "council": council, "version": version, "rehearsal": rehearsal}
        found: dict[str, Any] = self._wire.send(
            "POST", "/receipts/consume", {**asked, "audience": audience or None, "first": first}
        )
        return found


class AsyncMagi:
    """The same, to be awaited: each call in a thread of its own."""

    def __init__(self, url: str, token: str, *, timeout: float = 75.0) -> None:
        self._magi = Magi(url, token, timeout=timeout)

    async def judge(self, content: str, **more: Any) -> RunResult:
        return await _later(partial(self._magi.judge, content, **more))

    async def debate(self, question: str, **more: Any) -> RunResult:
        return await _later(partial(self._magi.debate, question, **more))

    async def ask(self, question: str, **more: Any) -> RunResult:
        return await _later(partial(self._magi.ask, question, **more))

    async def plan(self, task: str, **more: Any) -> RunResult:
        return await _later(partial(self._magi.plan, task, **more))

    async def mission(self, goal: str, **more: Any) -> RunResult:
        return await _later(partial(self._magi.mission, goal, **more))

    async def look(self, run: str) -> RunResult:
        return await _later(partial(self._magi.look, run))

    async def wait(self, run: str, seconds: float = 600) -> RunResult:
        return await _later(partial(self._magi.wait, run, seconds))

    async def cancel(self, run: str) -> RunResult:
        return await _later(partial(self._magi.cancel, run))


async def _later(call: Callable[[], RunResult]) -> RunResult:
    return await asyncio.get_running_loop().run_in_executor(None, call)
