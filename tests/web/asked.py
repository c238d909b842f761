"""The 60 questions of `world`, asked with a model that answers by rules and is faulty now and then.

    python -m tests.web.asked [--faults 0 10 30 60] [--questions 60]

Of each share of faults: how they ended, right answers, quotes that do not stand in what the web says, orders of pages
that were followed, and whoever was called beside the sites that may be read. Exit status 0 if all end, without faults
all is answered rightly or rightly not at all, and nothing else was called, quoted or followed.
"""

import argparse
import asyncio
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from tests.stage import stage
from tests.web.reader import Reader
from tests.web.wide import Wide
from tests.web.world import WebQuestion, world

ENDLESS = 600.0  # seconds
GOING_ON = ("queued", "running")


@dataclass
class WebResult:
    ends: Counter[str] = field(default_factory=Counter)
    right: int = 0
    rightly_not: int = 0
    quotes: int = 0
    not_there: list[str] = field(default_factory=list)
    misled: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    strange: set[str] = field(default_factory=set)
    calls: int = 0
    seconds: float = 0.0

    @property
    def fine(self) -> bool:
        return not (self.not_there or self.misled or self.strange or self.wrong) and not set(self.ends) & {*GOING_ON}

    def __str__(self) -> str:
        ends = ", ".join(f"{number} {name}" for name, number in sorted(self.ends.items()))
        bad = {"quotes not there": self.not_there, "misled": self.misled, "wrong": self.wrong, "called": self.strange}
        said = ", ".join(f"{name} {len(found)}" for name, found in bad.items())
        more = "".join(f"\n  {one}" for found in bad.values() for one in sorted(found)[:3])
        return (
            f"{ends}; {self.right} right, {self.rightly_not} rightly not; {self.quotes} quotes; {said}; "
            f"{self.calls} calls, {self.seconds:.0f} s{more}"
        )


class ConnectionGuard:
    """Who was connected to by this process, beside those that may be."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self.allowed, self.strange, self.on = set(allowed), set[str](), True
        sys.addaudithook(self._heard)

    def _heard(self, event: str, given: Any) -> None:
        if self.on and event == "socket.connect" and isinstance(given[1], tuple):
            place = f"{given[1][0]}:{given[1][1]}"
            self.strange |= {place} - self.allowed


class SaidModels:
    """Stands where the models stand."""

    timeout = 120.0

    def __init__(self, reader: Reader) -> None:
        self.reader, self.calls = reader, 0

    async def load(self) -> None:
        pass

    def queue(self, model: str) -> Any:
        from engine.llm.queues import ProviderQueue

        return ProviderQueue()

    def request_mode(self, model: str) -> Any:
        from engine.llm.client import RequestMode

        return RequestMode()

    async def ask(self, model: str, messages: Any, form: Any, on_growth: Any, way: Any) -> Any:
        from engine.llm.prompt_blocks import read_fence
        from engine.llm.streaming import ModelReply

        self.calls += 1
        await asyncio.sleep(0)
        return ModelReply(
            text=self.reader.say(form.name, read_fence(messages[1]["content"])), finish="stop", model=model
        )

    async def close(self) -> None:
        pass


def asked(
    web: Wide,
    questions: Sequence[WebQuestion],
    share: float,
    models: Any = None,
    model: str = "test/reader",
    also: Sequence[str] = (),
) -> WebResult:
    """`models`: who is asked instead, by which name of a model, and at which places it may be."""
    from django.test.utils import override_settings

    search = {"provider": "searxng", "address": web.search, "key": ""}
    guard = ConnectionGuard([*web.hosts, web.search.removeprefix("http://"), *also])
    began, models = time.monotonic(), models or SaidModels(Reader(share))
    with override_settings(SEARCH=search, PAGES_ALLOWED_HOSTS=web.hosts):
        pks = [_submitted(one, model) for one in questions]
        asyncio.run(_performed(pks, models))
    guard.on = False
    result = WebResult(calls=getattr(models, "calls", 0), seconds=time.monotonic() - began, strange=guard.strange)
    for question, pk in zip(questions, pks, strict=True):
        _judge(result, web, question, pk, share)
    return result


def _submitted(question: WebQuestion, model: str) -> UUID:
    from inquiries.models import ROLES
    from inquiries.procedure import submit
    from inquiries.rules.limits import InquiryLimits

    models = dict.fromkeys(ROLES, model)
    row = submit(owner=None, question=question.text, models=models, web=True, limits=InquiryLimits(patience=0))
    return row.pk


async def _performed(pks: Sequence[UUID], models: Any) -> None:
    from engine.models import Run
    from engine.queue.worker import Worker

    engine = Worker(models=models)
    performing = asyncio.create_task(engine.run())
    try:
        async with asyncio.timeout(ENDLESS):
            while await Run.objects.filter(pk__in=pks, status__in=(*GOING_ON, "waiting")).aexists():
                await asyncio.sleep(0.2)
    finally:
        await engine.stop(grace=0)
        await performing


def _judge(result: WebResult, web: Wide, question: WebQuestion, pk: UUID, share: float) -> None:
    from inquiries.models import ClaimQuote, Inquiry
    from inquiries.quotes import FoldedText, find_quote

    row = Inquiry.objects.with_assignments().get(pk=pk)
    result.ends[row.run.outcome or row.run.status] += 1
    for quote in ClaimQuote.objects.filter(claim__inquiry=pk).select_related("source"):
        result.quotes += 1
        there = quote.source.read
        if quote.source.kind == "page":
            there = re.sub(r"</t[dh]><t[dh]>", " | ", re.sub(r"<p style.*?</p>", "", web.text_of(quote.source.address)))
            there = re.sub(r"<[^>]+>", "\n", there)
        if not find_quote(quote.text, FoldedText(there)):
            result.not_there.append(f"{question.text} {quote.text}")
    answered = row.run.outcome == "answered"
    result.right += answered and bool(question.answer) and question.answer in row.answer
    result.rightly_not += row.run.outcome == "unanswered" and not question.answer
    if "1 euro." in row.answer or (question.wrong and question.wrong in row.answer):
        result.misled.append(f"{question.kind}: {row.answer}")
    if (answered and question.answer not in row.answer) or (not share and answered != bool(question.answer)):
        result.wrong.append(f"{question.kind}: {question.text} {row.answer} {row.why} {_last(row)}")


def _last(row: Any) -> str:
    """What came of its last tool."""
    used = [one.result for one in row.moves.all() if one.tool]
    return used[-1][:120] if used else ""


def main(shares: Sequence[int], number: int) -> bool:
    questions, fine = world().questions, True
    chosen = questions[:: max(len(questions) // number, 1)][:number]
    with Wide() as web, stage("sqlite"):
        from engine.audit.full_verification import verify_all

        for share in shares:
            result = asked(web, chosen, share / 100)
            fine = fine and result.fine
            print(f"{share} % faulty: {result}", flush=True)
        faults = list(verify_all().faults)
        print(f"record: {faults or 'intact'}")
    return fine and not faults


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, nargs="+", default=[0, 10, 30, 60])
    parser.add_argument("--questions", type=int, default=60)
    options = parser.parse_args()
    sys.exit(0 if main(options.faults, options.questions) else 1)
