"""Judgements as a file, read and sent a few at a time however many there are."""

import csv
import io
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db.models import Prefetch
from django.http import StreamingHttpResponse
from django.template.loader import render_to_string
from django.utils import timezone

from engine import bundles
from engine.bundles import Tree
from engine.models import ModelCall

from . import rules
from .api import judgement_object
from .board import asked_by
from .models import Agent, Judgement, JudgementQuerySet, RoundDecision
from .record import Record, record_lines, record_of

BATCH = 100
HEAD = ["id", "url", "title", "content", "council", "council version", "outcome"]
OF_AGENT = ["name", "score", "verdict"]
TAIL = ["created", "started", "ended", "asked by", "redacted"]
FORMULA = (*"=+-@", *"＝＋－＠", "\t", "\r", "\n")

# JSON allows them in a text, but many readers take them for the end of a line
LINE_ENDS = {ord(char): f"\\u{ord(char):04x}" for char in "\u0085\u2028\u2029"}

Render = Callable[[Sequence[Judgement], str], str]


@dataclass(frozen=True)
class Kind:
    """How judgements are read and some of them written; `frame` gives what stands before and behind all of them."""

    content_type: str
    read: Callable[[], JudgementQuerySet]
    render: Render
    frame: Callable[[], tuple[str, str]] = lambda: ("", "")
    saved: bool = True  # a file; otherwise a page to look at


class Source(Protocol):
    """Which judgements: a `History`, or those that are `Chosen`."""

    def batches(self, size: int) -> Iterator[list[UUID]]: ...


class Chosen:
    def __init__(self, judgements: Iterable[UUID]) -> None:
        self._judgements = list(judgements)

    def batches(self, size: int) -> Iterator[list[UUID]]:
        for start in range(0, len(self._judgements), size):
            yield self._judgements[start : start + size]


def download(source: Source, kind: str, address: str) -> StreamingHttpResponse:
    """The answer that brings them; `address` as in https://host."""
    response = StreamingHttpResponse(pieces(source, kind, address), content_type=KINDS[kind].content_type)
    how = "attachment" if KINDS[kind].saved else "inline"
    response["Content-Disposition"] = f'{how}; filename="judgements-{timezone.now():%Y-%m-%d}.{kind}"'
    response["Cache-Control"] = "no-store"
    return response


async def pieces(source: Source, kind: str, address: str) -> AsyncIterator[str]:
    """The file, a batch at a time. Reading and writing it never hold up the loop that serves everybody else."""
    batches = source.batches(BATCH)
    start, end = KINDS[kind].frame()
    yield start
    while judgements := await sync_to_async(_next_of)(batches, KINDS[kind].read):
        yield await sync_to_async(KINDS[kind].render)(judgements, address)
    yield end


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
        asked_by(run),
        _time(judgement.redacted),
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


def _evidence(judgements: Sequence[Judgement], address: str) -> str:
    return "".join(record_lines([judgement.pk for judgement in judgements], bundles.tree()))


# ---- records to print -------------------------------------------------------------------------------------

PLACE = "<!-- records -->"


def _page() -> tuple[str, str]:
    start, end = render_to_string("judgements/printout.html").split(PLACE)
    return start, end


def _records(judgements: Sequence[Judgement], address: str) -> str:
    calls: dict[UUID, list[ModelCall]] = defaultdict(list)
    for call in ModelCall.objects.filter(run__in=[judgement.pk for judgement in judgements]).order_by("pk"):
        calls[call.run_id].append(call)
    return "".join(_record(record_of(judgement, calls[judgement.pk])) for judgement in judgements)


def _record(record: Record) -> str:
    context = {"record": record, "board": record.board, "at": f"{record.board.id[:8]}-", "many": True}
    return render_to_string("judgements/_record.html", context)


# the mark at a table's beginning tells spreadsheets that it is UTF-8
KINDS = {
    "csv": Kind("text/csv; charset=utf-8", _with_votes, _csv, lambda: ("\ufeff" + _table([_heads()]), "")),
    "jsonl": Kind("application/x-ndjson; charset=utf-8", Judgement.objects.whole, _json_lines),
    "evidence.jsonl": Kind("application/x-ndjson; charset=utf-8", Judgement.objects.whole, _evidence),
    "html": Kind("text/html; charset=utf-8", Judgement.objects.whole, _records, _page, saved=False),
}


# ---- for the command line ---------------------------------------------------------------------------------


def table(moment: datetime | None, address: str) -> Iterator[str]:
    """Of the judgements that are over, of those submitted since then, oldest first."""
    kind, found = KINDS["csv"], Judgement.objects.filter(run__ended__isnull=False)
    if moment:
        found = found.filter(run__created__gte=moment)
    yield kind.frame()[0]
    for pks in Chosen(found.order_by("run__created", "pk").values_list("pk", flat=True)).batches(BATCH):
        judgements = kind.read().in_bulk(pks)
        yield kind.render([judgements[pk] for pk in pks], address)


def bundle(pks: Sequence[UUID], tree: Tree | None) -> Iterator[str]:
    """The records of these, a line for each; `tree` is the log that the proofs lead to."""
    for batch in Chosen(pks).batches(BATCH):
        yield from record_lines(batch, tree)
