"""Runs of one kind, or of any, as a file, read and sent a few at a time however many there are."""

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
from django.db.models import QuerySet, TextChoices
from django.http import StreamingHttpResponse
from django.template.loader import render_to_string
from django.utils import timezone

from engine.audit import bundles
from engine.audit.bundles import LogTree
from engine.models import Gate, ModelCall, Run, last_override
from engine.models.rate_limits import RateLimitReached
from engine.text.invisible_chars import visible_json, visible_text

from ..access_log import log_views
from ..formatting import failure_cause, requester_label
from ..models import SearchText
from ..procedure.spec import ProcedureSpec, known_flags, rows_in, spec_of_run, specs
from ..procedure.wait_reason import gates_in
from ..row_queries import with_reviews
from ..run_object import run_object
from .document import record_lines, record_of

AnyFace = ProcedureSpec[Any, Any]

BATCH = 100
FIRST_COLUMNS = ["id", "url", "title"]
LAST_COLUMNS = ["created", "started", "ended", "asked by", "redacted"]
KIND_COLUMN = "kind"
# what came later stands behind what programs have read by its place
EXTRA_COLUMNS = ["override", "override_by", "override_reason", "rehearsal", "flags", "cause", "record_hash"]
FORMULA_PREFIXES = (*"=+-@", *"＝＋－＠", "\t", "\r", "\n")

RenderBatch = Callable[[Sequence[Any], str], str]


@dataclass(frozen=True)
class ExportFormat:
    """How runs are read and some of them written; `frame` gives what stands before and behind all of them.

    `begun`: what writes is made anew for each file, where all of it has to be of one moment.
    """

    content_type: str
    read: Callable[[AnyFace], QuerySet[Any]]
    begun: Callable[[AnyFace | None], RenderBatch]
    frame: Callable[[AnyFace | None], tuple[str, str]] = lambda _: ("", "")
    saved: bool = True  # a file; otherwise a page to look at


class ExportSource(Protocol):
    """Which runs: a `History`, or those that are `SelectedRuns`."""

    def batches(self, size: int) -> Iterator[list[UUID]]: ...


class SelectedRuns:
    def __init__(self, runs: Iterable[UUID]) -> None:
        self._runs = list(runs)

    def batches(self, size: int) -> Iterator[list[UUID]]:
        for start in range(0, len(self._runs), size):
            yield self._runs[start : start + size]


class LoggedExport:
    """Another source; that somebody gets what they were given is on record before it is sent."""

    def __init__(self, source: ExportSource, user: Any) -> None:
        self._source, self._user = source, user

    def batches(self, size: int) -> Iterator[list[UUID]]:
        for pks in self._source.batches(size):
            log_views(pks, self._user)
            yield pks


_under_way: Counter[Any] = Counter()  # by user, in this process
_counting = RLock()  # views run in many threads, and what is forgotten ends in any of them
ALREADY_STARTED = 10.0  # seconds


def download(source: ExportSource, format: str, address: str, user: Any, face: AnyFace | None) -> StreamingHttpResponse:
    """The answer that brings them, runs of this face or of any; `address` as in https://host. LimitReached where the
    user has too many under way.

    Whoever reads slowly keeps all of a file waiting in memory, so that their number has an end.
    """
    file = pieces(LoggedExport(source, user), format, address, face)
    response = StreamingHttpResponse(file, content_type=FORMATS[format].content_type)
    how = "attachment" if FORMATS[format].saved else "inline"
    response["Content-Disposition"] = f'{how}; filename="{_nouns(face)}-{timezone.now():%Y-%m-%d}.{format}"'
    response["Cache-Control"] = "no-store"
    _begin(user.pk)
    # when it is closed, or forgotten without that because its reader has gone early
    response._resource_closers.append(weakref.finalize(response, _end, user.pk))  # type: ignore[attr-defined]
    return response


def _begin(user: Any) -> None:
    with _counting:
        if _under_way[user] >= settings.USER_EXPORTS:
            most = f"You have {settings.USER_EXPORTS} exports under way, as many as one person may. Let one end first."
            raise RateLimitReached(most, ALREADY_STARTED)
        _under_way[user] += 1


def _end(user: Any) -> None:
    with _counting:
        _under_way[user] -= 1
        if not _under_way[user]:
            del _under_way[user]


async def pieces(source: ExportSource, format: str, address: str, face: AnyFace | None) -> AsyncIterator[str]:
    """The file, a batch at a time. Reading and writing it never hold up the loop that serves everybody else."""
    batches = source.batches(BATCH)
    start, end = FORMATS[format].frame(face)
    yield start
    render = await sync_to_async(FORMATS[format].begun)(face)
    while rows := await sync_to_async(_next_of)(batches, FORMATS[format].read, face):
        yield await sync_to_async(render)(rows, address)
    yield end


def _next_of(
    batches: Iterator[list[UUID]], read: Callable[[AnyFace], QuerySet[Any]], face: AnyFace | None
) -> list[Any]:
    pks = next(batches, [])
    if not face:
        return rows_in(pks, read)
    found = read(face).in_bulk(pks) if pks else {}
    return [found[pk] for pk in pks]


def _nouns(face: AnyFace | None) -> str:
    return face.nouns if face else "runs"


# ---- a table ----------------------------------------------------------------------------------------------


def _heads(face: AnyFace | None) -> list[str]:
    """Where kinds are mixed, none has columns of its own."""
    if not face:
        return [*FIRST_COLUMNS, KIND_COLUMN, "outcome", *LAST_COLUMNS, *EXTRA_COLUMNS]
    asked, came = face.heads
    return [*FIRST_COLUMNS, *asked, "outcome", *came, *LAST_COLUMNS, KIND_COLUMN, *EXTRA_COLUMNS]


def _table(rows: Sequence[Sequence[object]]) -> str:
    written = io.StringIO()
    csv.writer(written).writerows([[_cell(value) for value in row] for row in rows])
    return written.getvalue()


def _cell(value: object) -> str:
    """What nobody sees has a mark, and a text that begins like a formula stays a text in whatever opens the file."""
    text = "" if value is None else visible_text(str(value))
    return f"'{text}" if text.startswith(FORMULA_PREFIXES) else text


def _csv(face: AnyFace | None) -> RenderBatch:
    return lambda rows, address: _table(_rows(rows, address, mixed=not face))


def _rows(rows: Sequence[Any], address: str, *, mixed: bool) -> list[list[object]]:
    flags = SearchText.objects.flags_of([row.pk for row in rows], known_flags())
    kinds = [[] if mixed else [row.run.procedure] for row in rows]
    return [
        [*_row(row, address, mixed=mixed), *kind, *_added(row, flags.get(row.pk, []))]
        for row, kind in zip(rows, kinds, strict=True)
    ]


def _added(row: Any, flags: Iterable[TextChoices]) -> list[object]:
    """What stands under `EXTRA_COLUMNS`."""
    run, last = row.run, last_override(row.run.reviews.all())
    rehearsal = "yes" if _rehearsed(row) else "no"
    overridden = [spec_of_run(run).in_words(last.outcome), last.by, last.text] if last else ["", "", ""]
    return [*overridden, rehearsal, ", ".join(str(flag.label) for flag in flags), failure_cause(run), row.record_hash]


def _rehearsed(row: Any) -> bool:
    return bool(spec_of_run(row.run).rehearsal(row))


def _row(row: Any, address: str, *, mixed: bool) -> list[object]:
    run = row.run
    face = spec_of_run(run)
    asked, came = ([run.procedure], []) if mixed else face.columns(row)
    return [
        run.pk,
        f"{address}/{face.nouns}/{run.pk}/",
        run.title,
        *asked,
        face.status_label(run),
        *came,
        *(_time(moment) for moment in (run.created, run.started, run.ended)),
        requester_label(run),
        _time(run.redacted),
    ]


def _time(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}" if moment else ""


# ---- lines of JSON ----------------------------------------------------------------------------------------


def _json_lines(rows: Sequence[Any], address: str) -> str:
    pks = [row.pk for row in rows]
    usage, flags = ModelCall.objects.usage_of(pks), SearchText.objects.flags_of(pks, known_flags())
    gates = gates_in(pks)
    objects = (
        {"rehearsal": _rehearsed(row), "flags": list(map(str, flags.get(row.pk, [])))}
        | run_object(row, address, usage[row.pk], gates[row.pk])
        for row in rows
    )
    return "".join(f"{visible_json(one)}\n" for one in objects)


def _evidence(face: AnyFace | None) -> RenderBatch:
    """All by one checkpoint: where another record has a newer one, one without a proof passes for forged. What these
    runs have made comes along: an approval that rests on the outcome of another run leads there."""
    tree, made = bundles.tree(), set[UUID]()

    def render(rows: Sequence[Any], _: str) -> str:
        asked = _given([row.run for row in rows])
        found = {run.pk: run for run in (*asked, *_given(_made_by(asked))) if run.pk not in made}
        made.update(pk for pk, run in found.items() if run.parent_id)  # among those that were asked for, too
        return "".join(record_lines(list(found), tree))

    return render


def _made_by(runs: Sequence[Run]) -> list[Run]:
    """All that is over and that these have caused, and what that has caused."""
    found = list(Run.objects.filter(parent__in=[run.pk for run in runs]).exclude(pk__in=Gate.objects.hidden()))
    return [*(run for run in found if run.is_ended), *_made_by(found)] if found else []


def _given(runs: Sequence[Run]) -> list[Run]:
    """Without those whose record is given to nobody yet."""
    withheld: set[UUID] = set()
    for kind in {run.procedure for run in runs}:
        withheld |= specs()[kind].hidden_run_ids([run for run in runs if run.procedure == kind]).keys()
    return [run for run in runs if run.pk not in withheld]


# ---- records to print -------------------------------------------------------------------------------------

POSITION_FIELD = "<!-- records -->"


def _page(face: AnyFace | None) -> tuple[str, str]:
    start, end = render_to_string("runs/printout.html", {"nouns": _nouns(face), "sheets": _sheets(face)}).split(
        POSITION_FIELD
    )
    return start, end


def _sheets(face: AnyFace | None) -> list[str]:
    """Those of this kind, or of all, each once."""
    return list(dict.fromkeys(sheet for one in ([face] if face else specs().values()) for sheet in one.record_styles))


def _records(rows: Sequence[Any], address: str) -> str:
    calls: dict[UUID, list[ModelCall]] = defaultdict(list)
    for call in ModelCall.objects.filter(run__in=[row.pk for row in rows]).order_by("pk"):
        calls[call.run_id].append(call)
    return "".join(_record(row, calls[row.pk]) for row in rows)


def _record(row: Any, calls: list[ModelCall]) -> str:
    face = spec_of_run(row.run)
    context = {"face": face, "at": f"{str(row.pk)[:8]}-", "many": True}
    return render_to_string(f"{face.nouns}/_record.html", context | record_of(row, calls))


def _tabled(face: AnyFace) -> QuerySet[Any]:
    return with_reviews(face.prefetch_for_table())


def _whole(face: AnyFace) -> QuerySet[Any]:
    return face.rows()


def _head(face: AnyFace | None) -> tuple[str, str]:
    """The mark at its beginning tells spreadsheets that it is UTF-8."""
    return "\ufeff" + _table([_heads(face)]), ""


FORMATS = {
    "csv": ExportFormat("text/csv; charset=utf-8", _tabled, _csv, _head),
    "jsonl": ExportFormat("application/x-ndjson; charset=utf-8", _whole, lambda _: _json_lines),
    "evidence.jsonl": ExportFormat("application/x-ndjson; charset=utf-8", _whole, _evidence),
    "html": ExportFormat("text/html; charset=utf-8", _whole, lambda _: _records, _page, saved=False),
}


# ---- for the command line ---------------------------------------------------------------------------------


def table(face: AnyFace, moment: datetime | None, address: str) -> Iterator[str]:
    """Of the runs of a kind that are over, of those submitted since then, oldest first. Not of what is shown to nobody
    before persons have decided."""
    found = face.runs().filter(ended__isnull=False).exclude(pk__in=Gate.objects.hidden())
    if moment:
        found = found.filter(created__gte=moment)
    yield _head(face)[0]
    for pks in SelectedRuns(found.order_by("created", "pk").values_list("pk", flat=True)).batches(BATCH):
        rows = _tabled(face).in_bulk(pks)
        yield _csv(face)([rows[pk] for pk in pks], address)


def evidence_bundle(pks: Sequence[UUID], tree: LogTree | None) -> Iterator[str]:
    """The records of these, a line for each; `tree` is the log that the proofs lead to."""
    for batch in SelectedRuns(pks).batches(BATCH):
        yield from record_lines(batch, tree)
