"""Judgements as a file, read and sent a few at a time however many there are."""

import csv
import io
import weakref
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import RLock
from typing import Any, Protocol
from uuid import UUID

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db.models import Prefetch
from django.http import StreamingHttpResponse
from django.template.loader import render_to_string
from django.utils import timezone

from engine.evidence import bundles
from engine.evidence.bundles import Tree
from engine.hidden import visible_json, visible_text
from engine.models import ModelCall
from engine.models.pace import LimitReached
from runs.api.objects import run_object
from runs.face import face_of
from runs.record import record_lines, record_of
from runs.words import asked_by

from . import rules
from .models import Agent, Judgement, JudgementQuerySet, RoundDecision

BATCH = 100
HEAD = ["id", "url", "title", "content", "council", "council version", "outcome"]
OF_AGENT = ["name", "score", "verdict"]
TAIL = ["created", "started", "ended", "asked by", "redacted"]
FORMULA = (*"=+-@", *"＝＋－＠", "\t", "\r", "\n")

Render = Callable[[Sequence[Judgement], str], str]


@dataclass(frozen=True)
class Kind:
    """How judgements are read and some of them written; `frame` gives what stands before and behind all of them.

    `begun`: what writes is made anew for each file, where all of it has to be of one moment.
    """

    content_type: str
    read: Callable[[], JudgementQuerySet]
    begun: Callable[[], Render]
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


_under_way: Counter[Any] = Counter()  # by user, in this process
_counting = RLock()  # views run in many threads, and what is forgotten ends in any of them
AGAIN = 10.0  # seconds


def download(source: Source, kind: str, address: str, user: Any) -> StreamingHttpResponse:
    """The answer that brings them; `address` as in https://host. LimitReached where the user has too many under way.

    Whoever reads slowly keeps all of a file waiting in memory, so that their number has an end.
    """
    response = StreamingHttpResponse(pieces(source, kind, address), content_type=KINDS[kind].content_type)
    how = "attachment" if KINDS[kind].saved else "inline"
    response["Content-Disposition"] = f'{how}; filename="judgements-{timezone.now():%Y-%m-%d}.{kind}"'
    response["Cache-Control"] = "no-store"
    _begin(user.pk)
    # when it is closed, or forgotten without that because its reader has gone early
    response._resource_closers.append(weakref.finalize(response, _end, user.pk))  # type: ignore[attr-defined]
    return response


def _begin(user: Any) -> None:
    with _counting:
        if _under_way[user] >= settings.USER_EXPORTS:
            most = f"You have {settings.USER_EXPORTS} exports under way, as many as one person may. Let one end first."
            raise LimitReached(most, AGAIN)
        _under_way[user] += 1


def _end(user: Any) -> None:
    with _counting:
        _under_way[user] -= 1
        if not _under_way[user]:
            del _under_way[user]


async def pieces(source: Source, kind: str, address: str) -> AsyncIterator[str]:
    """The file, a batch at a time. Reading and writing it never hold up the loop that serves everybody else."""
    batches = source.batches(BATCH)
    start, end = KINDS[kind].frame()
    yield start
    render = await sync_to_async(KINDS[kind].begun)()
    while judgements := await sync_to_async(_next_of)(batches, KINDS[kind].read):
        yield await sync_to_async(render)(judgements, address)
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
    """What nobody sees has a mark, and a text that begins like a formula stays a text in whatever opens the file."""
    text = "" if value is None else visible_text(str(value))
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
        judgement.run.title,
        judgement.content,
        version.name if version else "",
        version.number if version else "",
        judgement.status,
        *agents,
        *(_time(moment) for moment in (run.created, run.started, run.ended)),
        asked_by(run),
        _time(judgement.run.redacted),
    ]


def _agent(agent: Agent) -> tuple[str, str, str]:
    return agent.name, rules.tenths(rules.score(agent.history)), agent.verdict or ""


def _time(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}" if moment else ""


# ---- lines of JSON ----------------------------------------------------------------------------------------


def _json_lines(judgements: Sequence[Judgement], address: str) -> str:
    usage = ModelCall.objects.usage_of([judgement.pk for judgement in judgements])
    objects = (run_object(judgement, address, usage[judgement.pk]) for judgement in judgements)
    return "".join(f"{visible_json(one)}\n" for one in objects)


def _evidence() -> Render:
    """All by one checkpoint: where another record has a newer one, one without a proof passes for forged."""
    tree = bundles.tree()
    return lambda judgements, _: "".join(record_lines([judgement.pk for judgement in judgements], tree))


# ---- records to print -------------------------------------------------------------------------------------

PLACE = "<!-- records -->"


def _page() -> tuple[str, str]:
    start, end = render_to_string("judgements/printout.html").split(PLACE)
    return start, end


def _records(judgements: Sequence[Judgement], address: str) -> str:
    calls: dict[UUID, list[ModelCall]] = defaultdict(list)
    for call in ModelCall.objects.filter(run__in=[judgement.pk for judgement in judgements]).order_by("pk"):
        calls[call.run_id].append(call)
    return "".join(_record(judgement, calls[judgement.pk]) for judgement in judgements)


def _record(judgement: Judgement, calls: list[ModelCall]) -> str:
    context = {"face": face_of(judgement.run), "at": f"{str(judgement.pk)[:8]}-", "many": True}
    return render_to_string("judgements/_record.html", context | record_of(judgement, calls))


# the mark at a table's beginning tells spreadsheets that it is UTF-8
KINDS = {
    "csv": Kind("text/csv; charset=utf-8", _with_votes, lambda: _csv, lambda: ("\ufeff" + _table([_heads()]), "")),
    "jsonl": Kind("application/x-ndjson; charset=utf-8", Judgement.objects.whole, lambda: _json_lines),
    "evidence.jsonl": Kind("application/x-ndjson; charset=utf-8", Judgement.objects.whole, _evidence),
    "html": Kind("text/html; charset=utf-8", Judgement.objects.whole, lambda: _records, _page, saved=False),
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
        yield _csv([judgements[pk] for pk in pks], address)


def bundle(pks: Sequence[UUID], tree: Tree | None) -> Iterator[str]:
    """The records of these, a line for each; `tree` is the log that the proofs lead to."""
    for batch in Chosen(pks).batches(BATCH):
        yield from record_lines(batch, tree)
