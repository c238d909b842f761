"""The judgements of a history as a file, read and sent a few at a time however many there are."""

import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import datetime
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db.models import Prefetch

from engine.models import ModelCall

from . import rules
from .api import judgement_object
from .board import name_of
from .history import History
from .models import Agent, Judgement, JudgementQuerySet, RoundDecision

BATCH = 100
HEAD = ["id", "url", "title", "content", "council", "council version", "outcome"]
OF_AGENT = ["name", "score", "verdict"]
TAIL = ["created", "started", "ended", "asked by"]
FORMULA = (*"=+-@", *"＝＋－＠", "\t", "\r", "\n")

# JSON allows them in a text, but many readers take them for the end of a line
LINE_ENDS = {ord(char): f"\\u{ord(char):04x}" for char in "\u0085\u2028\u2029"}

Render = Callable[[Sequence[Judgement], str], str]


async def pieces(history: History, kind: str, address: str) -> AsyncIterator[str]:
    """The file, a batch at a time. Reading and writing it never hold up the loop that serves everybody else."""
    start, read, render = KINDS[kind]
    batches = history.batches(BATCH)
    yield start
    while judgements := await sync_to_async(_next_of)(batches, read):
        yield await sync_to_async(render)(judgements, address)


def _next_of(batches: Iterator[list[UUID]], read: Callable[[], JudgementQuerySet]) -> list[Judgement]:
    pks = next(batches, [])
    found = read().in_bulk(pks) if pks else {}
    return [found[pk] for pk in pks]


# ---- a table ----------------------------------------------------------------------------------------------


def _heads() -> list[str]:
    return [*HEAD, *(f"agent {number} {what}" for number in (1, 2, 3) for what in OF_AGENT), *TAIL]


def _table(rows: Sequence[Sequence[object]]) -> str:
    written = io.StringIO()
    csv.writer(written).writerows([[_cell(value) for value in row] for row in rows])
    return written.getvalue()


def _cell(value: object) -> str:
    """A text that begins like a formula must stay a text in whatever opens the file."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def _with_votes() -> JudgementQuerySet:
    """What a table says, without the reasons and what was asked for them."""
    votes = Prefetch("agents__decisions", RoundDecision.objects.defer("reason"))
    judgements = Judgement.objects.select_related("run__owner", "council_version")
    return judgements.prefetch_related(Prefetch("agents", Agent.objects.defer("criteria")), votes)


def _csv(judgements: Sequence[Judgement], address: str) -> str:
    return _table([_row(judgement, address) for judgement in judgements])


def _row(judgement: Judgement, address: str) -> list[object]:
    run, version = judgement.run, judgement.council_version
    agents = [cell for agent in judgement.agents.all() for cell in _agent(agent)]
    return [
        judgement.pk,
        f"{address}/judgements/{judgement.pk}/",
        judgement.title,
        judgement.content,
        version.name if version else "",
        version.number if version else "",
        judgement.status,
        *agents,
        *(_time(moment) for moment in (run.created, run.started, run.ended)),
        name_of(run.owner),
    ]


def _agent(agent: Agent) -> tuple[str, str, str]:
    return agent.name, rules.tenths(rules.score(agent.history)), agent.verdict or ""


def _time(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}" if moment else ""


# ---- lines of JSON ----------------------------------------------------------------------------------------


def _json_lines(judgements: Sequence[Judgement], address: str) -> str:
    usage = ModelCall.objects.usage_of([judgement.pk for judgement in judgements])
    objects = (judgement_object(judgement, address, usage[judgement.pk]) for judgement in judgements)
    return "".join(f"{json.dumps(one, ensure_ascii=False).translate(LINE_ENDS)}\n" for one in objects)


Kind = tuple[str, Callable[[], JudgementQuerySet], Render]

KINDS: dict[str, Kind] = {
    # the mark at a table's beginning tells spreadsheets that it is UTF-8
    "csv": ("\ufeff" + _table([_heads()]), _with_votes, _csv),
    "jsonl": ("", Judgement.objects.whole, _json_lines),
}
