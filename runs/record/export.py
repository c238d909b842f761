"""Export of runs as a file that is read and sent in batches."""

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
# new columns come last, because programs may read the others by position
EXTRA_COLUMNS = ["override", "override_by", "override_reason", "rehearsal", "flags", "cause", "record_hash"]
FORMULA_PREFIXES = (*"=+-@", *"＝＋－＠", "\t", "\r", "\n")

RenderBatch = Callable[[Sequence[Any], str], str]


@dataclass(frozen=True)
class ExportFormat:
    """How runs are read and a batch is rendered; `frame` returns what comes before and after all batches.

    `begun` creates the renderer for each file, so that a file can have one state for all batches.
    """

    content_type: str
    read: Callable[[AnyFace], QuerySet[Any]]
    begun: Callable[[AnyFace | None], RenderBatch]
    frame: Callable[[AnyFace | None], tuple[str, str]] = lambda _: ("", "")
    saved: bool = True  # a download; otherwise a page to view


class ExportSource(Protocol):
    """The runs to export: a `RunHistory` or `SelectedRuns`."""

    def batches(self, size: int) -> Iterator[list[UUID]]: ...


class SelectedRuns:
    def __init__(self, runs: Iterable[UUID]) -> None:
        self._runs = list(runs)

    def batches(self, size: int) -> Iterator[list[UUID]]:
        for start in range(0, len(self._runs), size):
            yield self._runs[start : start + size]


class LoggedExport:
    """A source that logs, before they are sent, that a user exports records which they see by a grant."""

    def __init__(self, source: ExportSource, user: Any) -> None:
        self._source, self._user = source, user

    def batches(self, size: int) -> Iterator[list[UUID]]:
        for pks in self._source.batches(size):
            log_views(pks, self._user)
            yield pks


_under_way: Counter[Any] = Counter()  # exports in progress by user, in this process
_counting = RLock()  # views run in many threads, and finalizers run in any of them
RETRY_SECONDS = 10.0  # seconds


def download(source: ExportSource, format: str, address: str, user: Any, face: AnyFace | None) -> StreamingHttpResponse:
    """Return the streaming response, with runs of one procedure or of any; `address` is like https://host.

    Raises RateLimitReached if the user has too many exports in progress. They are limited because a slow reader keeps a
    whole file in memory.
    """
    file = pieces(LoggedExport(source, user), format, address, face)
    response = StreamingHttpResponse(file, content_type=FORMATS[format].content_type)
    how = "attachment" if FORMATS[format].saved else "inline"
    response["Content-Disposition"] = f'{how}; filename="{_nouns(face)}-{timezone.now():%Y-%m-%d}.{format}"'
    response["Cache-Control"] = "no-store"
    _begin(user.pk)
    # on close, or on garbage collection if the client disconnected early
    response._resource_closers.append(weakref.finalize(response, _end, user.pk))  # type: ignore[attr-defined]
    return response


def _begin(user: Any) -> None:
    with _counting:
        if _under_way[user] >= settings.USER_EXPORTS:
            most = f"You have {settings.USER_EXPORTS} exports under way, as many as one person may. Let one end first."
            raise RateLimitReached(most, RETRY_SECONDS)
        _under_way[user] += 1


def _end(user: Any) -> None:
    with _counting:
        _under_way[user] -= 1
        if not _under_way[user]:
            del _under_way[user]


async def pieces(source: ExportSource, format: str, address: str, face: AnyFace | None) -> AsyncIterator[str]:
    """Yield the file in batches. Reading and rendering run in threads, so that they do not block the event loop."""
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
    """Return the headings. Mixed exports have no columns of procedures."""
    if not face:
        return [*FIRST_COLUMNS, KIND_COLUMN, "outcome", *LAST_COLUMNS, *EXTRA_COLUMNS]
    asked, came = face.heads
    return [*FIRST_COLUMNS, *asked, "outcome", *came, *LAST_COLUMNS, KIND_COLUMN, *EXTRA_COLUMNS]


def _table(rows: Sequence[Sequence[object]]) -> str:
    written = io.StringIO()
    csv.writer(written).writerows([[_cell(value) for value in row] for row in rows])
    return written.getvalue()


def _cell(value: object) -> str:
    """Make invisible characters visible, and quote text that a spreadsheet would read as a formula."""
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
    """Return the cells for `EXTRA_COLUMNS`."""
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
    """Return a renderer that uses one checkpoint for the whole file, and adds child runs.

    With a newer checkpoint in some records, a record without a proof would look forged. Child runs are added because an
    approval may rest on the outcome of another run.
    """
    tree, made = bundles.tree(), set[UUID]()

    def render(rows: Sequence[Any], _: str) -> str:
        asked = _given([row.run for row in rows])
        found = {run.pk: run for run in (*asked, *_given(_made_by(asked))) if run.pk not in made}
        made.update(pk for pk, run in found.items() if run.parent_id)  # also if they were requested themselves
        return "".join(record_lines(list(found), tree))

    return render


def _made_by(runs: Sequence[Run]) -> list[Run]:
    """Return all descendants that are over."""
    found = list(Run.objects.filter(parent__in=[run.pk for run in runs]).exclude(pk__in=Gate.objects.hidden()))
    return [*(run for run in found if run.is_ended), *_made_by(found)] if found else []


def _given(runs: Sequence[Run]) -> list[Run]:
    """Filter out runs whose record is not available to anybody yet."""
    withheld: set[UUID] = set()
    for kind in {run.procedure for run in runs}:
        withheld |= specs()[kind].hidden_run_ids([run for run in runs if run.procedure == kind]).keys()
    return [run for run in runs if run.pk not in withheld]


# ---- records to print -------------------------------------------------------------------------------------

RECORDS_MARK = "<!-- records -->"


def _page(face: AnyFace | None) -> tuple[str, str]:
    start, end = render_to_string("runs/printout.html", {"nouns": _nouns(face), "sheets": _sheets(face)}).split(
        RECORDS_MARK
    )
    return start, end


def _sheets(face: AnyFace | None) -> list[str]:
    """Return the stylesheets of this procedure, or of all, without duplicates."""
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
    """Return the header row. The byte order mark tells spreadsheets that the file is UTF-8."""
    return "\ufeff" + _table([_heads(face)]), ""


FORMATS = {
    "csv": ExportFormat("text/csv; charset=utf-8", _tabled, _csv, _head),
    "jsonl": ExportFormat("application/x-ndjson; charset=utf-8", _whole, lambda _: _json_lines),
    "evidence.jsonl": ExportFormat("application/x-ndjson; charset=utf-8", _whole, _evidence),
    "html": ExportFormat("text/html; charset=utf-8", _whole, lambda _: _records, _page, saved=False),
}


# ---- for the command line ---------------------------------------------------------------------------------


def table(face: AnyFace, moment: datetime | None, address: str) -> Iterator[str]:
    """Yield the CSV of finished runs of a procedure, oldest first; since `moment` if given.

    Runs that are hidden until people have decided are left out.
    """
    found = face.runs().filter(ended__isnull=False).exclude(pk__in=Gate.objects.hidden())
    if moment:
        found = found.filter(created__gte=moment)
    yield _head(face)[0]
    for pks in SelectedRuns(found.order_by("created", "pk").values_list("pk", flat=True)).batches(BATCH):
        rows = _tabled(face).in_bulk(pks)
        yield _csv(face)([rows[pk] for pk in pks], address)


def evidence_bundle(pks: Sequence[UUID], tree: LogTree | None) -> Iterator[str]:
    """Yield the records of these runs, one line each; the proofs refer to `tree`."""
    for batch in SelectedRuns(pks).batches(BATCH):
        yield from record_lines(batch, tree)
