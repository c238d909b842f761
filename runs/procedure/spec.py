"""What a procedure provides to all interfaces. The engine uses only the base class `Procedure`, never this one.

Why so: engine/DESIGN.md, One house for all procedures.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, cast
from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet, TextChoices
from django.http import HttpRequest
from django.urls import reverse
from ninja import Schema

from engine.audit.entries_from_rows import RunEntries
from engine.models import Gate, ModelCall, Run, ToolCall
from engine.runtime.procedure import Procedure, procedures

from ..formatting import came_to
from ..models import RunFlag, SearchText
from ..questions import OpenQuestion, questions_of
from ..retention import INSTALLATION, KeptFor
from . import point_in_time, schemas
from .comparison_parts import ComparisonHooks
from .exposure import ChatModel, McpExposedResource, McpExposedTool
from .filters import People, RunHistoryForm
from .fragments import PageFragment
from .gate_page import GatePage
from .library_section import LibrarySection
from .markers import ListSummary, OutcomeNote, ReviewFlag
from .tool_usage import tool_use_at, tool_uses
from .unsealed_columns import unsealed_mismatches
from .wait_reason import WaitReason, gate_at, gates_of, parks_of, wait_reason, wait_reason_at

if TYPE_CHECKING:
    from ..forking import Forks

RUN_PAGES = "live record record-file evidence fragments replay replay-file replay-frames".split()
RUN_PAGES += ["cancel", "retry", "redact", "made", "share"]

# icon and colour names that every procedure has
IDLE, JUDGING, FAILED, STOPPED = "idle", "judging", "failed", "stopped"
STATUS_LABELS: dict[str, tuple[str, str]] = {
    Run.Status.QUEUED: (IDLE, "Idle"),
    Run.Status.RUNNING: (JUDGING, "At work"),
    Run.Status.WAITING: ("pending", "Waiting"),
    Run.Status.FINISHED: ("approve", "Finished"),
    Run.Status.FAILED: (FAILED, "Error"),
    Run.Status.CANCELLED: (STOPPED, "Cancelled"),
}


Row = TypeVar("Row")


@dataclass(frozen=True)
class RunSnapshot(Generic[Row]):
    """All rows of a run, read at one time.

    `texts` are the streaming texts by step; for a moment in the past, each step's final text.
    """

    run: Run
    row: Row
    calls: Sequence[ModelCall]
    texts: Mapping[str, str]
    parks: Sequence[datetime] = ()
    gates: Sequence[Gate] = ()
    uses: Sequence[ToolCall] = ()
    questions: Sequence[OpenQuestion] = ()  # questions that models are answering now

    @property
    def wait(self) -> WaitReason | None:
        return wait_reason(self.run, self.parks, self.gates)

    @property
    def end(self) -> datetime:
        return self.run.ended or point_in_time.start_of(self.run)

    def at(self, moment: datetime) -> "RunSnapshot[Row]":
        """Return the snapshot as it was at `moment`."""
        if self.run.ended and moment >= self.run.ended:
            return self
        calls = [point_in_time.call_at_moment(call, moment) for call in self.calls if call.started <= moment]
        later = [call for call in self.calls if call.started > moment]
        face = spec_of_run(self.run)
        run = point_in_time.run_at_moment(
            self.run, moment, calls, later, partial(face.failure, self.row), face.survives
        )
        uses = [tool_use_at(call, moment) for call in self.uses if call.made <= moment]
        run = wait_reason_at(run, moment, self.parks, self.gates, calls, uses)
        row = copy(face.at_moment(self.row, moment))
        row.run = run
        answers = face.answers(self.row)
        under_way = [call for call in calls if call.status == ModelCall.Status.OPEN]
        coming = {call.step: answers[call.pk] for call in under_way if call.pk in answers}
        parks = [park for park in self.parks if park <= moment]
        gates = [gate_at(gate, moment) for gate in self.gates if gate.made <= moment]
        return RunSnapshot(run, row, calls, coming, parks, gates, uses)


class RunDisplay(Protocol):
    """What the pages of every run need from a procedure's display.

    `state` is the icon and colour of the status plate, `word` its text and `stamp` the note on the outcome.
    `announcement` is the newest event, for screen readers. `is_final` means that nothing can change any more.
    """

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def word(self) -> str: ...
    @property
    def stamp(self) -> OutcomeNote | None: ...
    @property
    def announcement(self) -> str: ...
    @property
    def is_ended(self) -> bool: ...
    @property
    def is_final(self) -> bool: ...


Displayed = TypeVar("Displayed", bound=RunDisplay)


class ProcedureSpec(GatePage, ComparisonHooks, Procedure, Generic[Row, Displayed]):
    noun: ClassVar[str]
    nouns: ClassVar[str]  # in addresses; also the name of the template folder
    sign: ClassVar[str] = "run"  # the icon in templates/_signs.html
    schema: ClassVar[type[Schema]] = schemas.RunOut  # schema of its object in the API
    waits: ClassVar[bool] = True  # whether its runs may be suspended
    acts: ClassVar[bool] = False  # whether its runs use tools
    takes_files: ClassVar[bool] = False  # whether the API takes files with a submission, in a multipart body
    begins_from: ClassVar[str] = ""  # column of its run that refers to the run it started from
    forks: ClassVar["Forks | None"] = None  # how a run continues from a step or message of another one
    flags: ClassVar[Sequence[TextChoices]] = ()  # its own flags, in addition to those of any run
    looks: ClassVar[Sequence[ReviewFlag]] = ()  # the flags that put a run into the review queue
    stays: ClassVar[str] = "The outcome stays."  # what an override does not change
    going_on: ClassVar[str] = "going on"  # completes "Keep …", the alternative to cancelling
    outcomes: ClassVar[Sequence[str]] = ()  # possible outcomes, if they are known in advance
    # the page that starts a run: the name of its address, the verb and the purpose
    begun_at: ClassVar[str] = ""
    begun_with: ClassVar[str] = ""  # the field of that page that takes the text
    longest_text: ClassVar[int] = 0  # maximum characters that `of_text` accepts
    verb: ClassVar[str] = ""
    good_for: ClassVar[str] = ""
    shelves: ClassVar[Sequence[LibrarySection]] = ()  # its sections of the library
    as_model: ClassVar[ChatModel | None] = None  # how it is exposed as a chat model
    offers: ClassVar[Sequence[McpExposedTool]] = ()  # MCP tools that it exposes
    held: ClassVar[Sequence[McpExposedResource]] = ()  # MCP resources of one run, in addition to its record

    @property
    def app_name(self) -> str:  # name of the package that defines it
        return type(self).__module__.rpartition(".")[0]

    @property
    def kind(self) -> str:
        """Return the value of `Run.procedure`."""
        return next(name for name, face in specs().items() if face is self)

    def runs(self) -> QuerySet[Run]:
        return Run.objects.filter(procedure=self.kind)

    @property
    def noun_with_article(self) -> str:
        """Return the noun with its article, capitalized."""
        return f"{'An' if self.noun[0] in 'aeiou' else 'A'} {self.noun}"

    def rows(self) -> QuerySet[Any]:
        """Return all rows that a page shows, in few queries (`runs.row_queries.with_run`). A row's key is its run's
        key.
        """
        raise NotImplementedError

    def calls(self, row: Row) -> list[ModelCall]:
        """Return the model calls of a row that was read with `rows`, oldest first."""
        raise NotImplementedError

    def facts(self, row: Row) -> dict[str, Any]:
        """Return API fields of a row that was read with `rows`; they extend or replace those of any run."""
        return {}

    def rows_of_list(self) -> QuerySet[Any]:
        """Return rows with what `facts_of_list` needs and what `runs.row_queries.with_run` reads."""
        return self.rows()

    def facts_of_list(self, row: Row) -> dict[str, Any]:
        """Return API fields for a list, of a row that was read with `rows_of_list`. Nothing that grows belongs here."""
        return {}

    def estimate(self, row: Row) -> int | None:
        """Return the expected cost of running everything (again), in billionths of a US dollar; None if unknown."""
        raise NotImplementedError

    def of_text(self, owner: Any, text: str, title: str) -> UUID | None:
        """Queue a run from a text alone and return its id; None if something has to be chosen first.

        Raises BudgetExceeded or RateLimitReached.
        """
        return None

    def begun_from(self, runs: Collection[UUID]) -> Iterable[tuple[UUID, UUID]]:
        if not self.begins_from:
            return ()
        began = Run.objects.filter(pk__in=runs, **{f"{self.begins_from}__isnull": False})
        return began.values_list("pk", self.begins_from)

    def related_run_ids(self, run: UUID) -> QuerySet[Run]:
        """Return other runs that contain texts of this one, except its child runs; a redaction lists them first."""
        return Run.objects.none()

    def snapshot(self, row: Any, calls: Sequence[ModelCall] | None = None) -> RunSnapshot[Any]:
        """Build the snapshot of a row that was read with `rows`. Pass `calls` if they have already been read."""
        calls = self.calls(row) if calls is None else calls
        parks, gates = (parks_of(row.run.pk), gates_of(row.run.pk)) if self.waits else ((), ())
        uses = tool_uses(row.run.pk) if self.acts else ()
        questions = questions_of(row.run, calls, self.asker)
        return RunSnapshot(row.run, row, calls, self.partial_text(row), parks, gates, uses, questions)

    def partial_text(self, row: Row) -> Mapping[str, str]:
        """Return growing texts that are neither in rows nor in model output, by name.

        Open pages poll while there are any.
        """
        return {}

    def at_moment(self, row: Row, moment: datetime) -> Any:
        """Return the row as it was at `moment`."""
        return point_in_time.row_at_moment(row, moment)

    survives: ClassVar[bool] = False  # whether a run continues after a call failed for good

    def failure(self, row: Row, call: ModelCall) -> dict[str, Any]:
        """Return the `error` of a run that failed because of this call."""
        return {"message": call.error}

    def display(self, seen: RunSnapshot[Row]) -> Displayed:
        """Compute every word and number that a page shows, before any HTML."""
        raise NotImplementedError

    def fragments(self, display: Displayed) -> Iterator[PageFragment]:
        """Yield every part of the page that changes."""
        raise NotImplementedError

    def reveal_pauses(self, row: Row) -> Sequence[datetime]:
        """Return the times, in order, at which the live page pauses briefly before it continues."""
        return ()

    def moments(self, seen: RunSnapshot[Row]) -> Iterable[datetime]:
        """Return the times at which the page changed during the run; a replay shows one frame for each."""
        return (time for call in seen.calls for time in (call.started, call.ended) if time)

    def answers(self, row: Row) -> Mapping[int, str]:
        """Return model output by the id of its model call; a replay shows it as it streamed."""
        return {}

    def chapter(self, before: Displayed | None, display: Any) -> str:
        """Return the name of the chapter that starts here on the replay's timeline; empty if none does."""
        return ""

    def replay_mark(self, before: Displayed | None, display: Any) -> str:
        """Return the state to highlight on the replay's timeline: by default only at the end."""
        return display.state if before is not None and display.is_ended else ""

    # ---- its pages ----------------------------------------------------------------------------------------

    def page_name(self, page: str) -> str:
        """Return the URL name of a page of its runs, as in `runs.urls`."""
        return f"{self.noun}-{page}"

    def address(self, page: str, pk: UUID) -> str:
        return reverse(self.page_name(page), args=[pk])

    def page(self, pk: UUID) -> dict[str, Any]:
        """Return the context that the templates of all procedures need."""
        return {"face": self, "links": {page.replace("-", "_"): self.address(page, pk) for page in RUN_PAGES}}

    def viewer_context(self, request: HttpRequest, row: Row) -> dict[str, Any]:
        """Return more context for the live page and the record that depends on the viewer."""
        return {}

    def rows_sharing_texts(self, run: Run) -> Sequence[Any]:
        """Return rows of other runs that may contain texts of this one and are not redacted with it."""
        return ()

    # ---- its lists ----------------------------------------------------------------------------------------

    filters: ClassVar[Sequence[str]] = ()  # labels by which its history can be filtered
    standings: ClassVar[Mapping[str, Sequence[str]]] = {  # filters for runs without an outcome, by these words
        "queued": [Run.Status.QUEUED],
        "running": [Run.Status.RUNNING],
        "waiting": [Run.Status.WAITING],
        "error": [Run.Status.FAILED],
        "cancelled": [Run.Status.CANCELLED],
    }

    def prefetch_for_list(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Extend the query of its rows with what a list shows."""
        return rows.select_related("run__owner")

    def step_labels(self, steps: Collection[tuple[UUID, str]]) -> Mapping[tuple[UUID, str], tuple[str, str]]:
        """Return the display name and page anchor of these steps, if they have any."""
        return {}

    def form(self, asked: Mapping[str, Any], people: People = (), user: Any = None) -> RunHistoryForm:
        """Build the filter form of its history for this user; `people` are the choices of the `by` filter."""
        return RunHistoryForm(asked, (*self.outcomes, *self.standings), people)

    def outcomes_of(self, run: Run) -> Sequence[str]:
        """Return the outcomes that a person may set on this run by an override."""
        return self.outcomes

    def filter_labels(self, run: Run) -> tuple[str, str]:
        """Return icon and word of a run in a list."""
        return self.outcome_filter(run.outcome) if run.outcome else STATUS_LABELS[run.status]

    def outcome_filter(self, outcome: str) -> tuple[str, str]:
        """Return icon and word of an outcome, whether a run or a person decided it."""
        return STATUS_LABELS[Run.Status.FINISHED][0], outcome.capitalize()

    def possible_outcomes(self, outcome: str) -> bool:
        """Return whether this is an outcome of the procedure."""
        return outcome in self.outcomes

    def outcome_icons(self, runs: Sequence[UUID]) -> Mapping[UUID, Mapping[str, str]]:
        """Return the icons of outcomes that are a run's own words, by run; one query for all."""
        return {}

    def glances(self, rows: Sequence[Row]) -> Mapping[UUID, ListSummary]:
        """Return the list summaries of rows that were read with `prefetch_for_list`, in one query for all."""
        runs = SearchText.objects.rehearsed([row.run.pk for row in cast(Sequence[Any], rows)])
        return {pk: ListSummary(rehearsal=rehearsal) for pk, rehearsal in runs.items()}

    # ---- its tables ---------------------------------------------------------------------------------------

    # table headings: the request, before the outcome column; and what follows it
    heads: ClassVar[tuple[Sequence[str], Sequence[str]]] = ((), ())

    def prefetch_for_table(self) -> QuerySet[Any]:
        """Return its rows with what a table shows."""
        return self.rows()

    def columns(self, row: Row) -> tuple[Sequence[object], Sequence[object]]:
        """Return the cells for `heads`."""
        return (), ()

    def status_label(self, run: Run) -> str:
        """Return its outcome, or its status without one, for tables and commands."""
        return self.in_words(run.outcome) or run.status

    def in_words(self, outcome: str | None) -> str:
        return came_to(outcome)

    # ---- its record ---------------------------------------------------------------------------------------

    record_styles: ClassVar[Sequence[str]] = ()  # stylesheets in addition to record.css; for the admin, see review.css
    record_without: ClassVar[Sequence[str]] = ()  # long columns of its model calls that the record leaves out

    def recorded(self, seen: RunSnapshot[Row], display: Displayed) -> dict[str, Any]:
        """Return the context that its `_record.html` needs in addition to the common one."""
        return {}

    def hidden_run_ids(self, runs: Iterable[Run]) -> Mapping[UUID, str]:
        """Return the runs whose sealed record is not available to anybody yet, each with the reason as a sentence."""
        return {}

    def provenance(self, row: Row) -> Iterable[tuple[str, str]]:
        """Return facts about the setup, by name; the record shows them before the models."""
        return ()

    def prompts(self, row: Row) -> dict[str, str]:
        """Return the prompt texts by name; a record contains their digests."""
        return {}

    def calls_shown(self, row: Row, calls: Sequence[ModelCall]) -> list[ModelCall]:
        """Return the model calls whose prompts and answers a viewer may read now."""
        return list(calls)

    def rehearsal(self, row: Row) -> str:
        """Return a sentence that names the agents that used no model; empty if all did."""
        return ""

    # ---- its review ---------------------------------------------------------------------------------------

    def flag_reason(self, row: Row, look: ReviewFlag) -> str:
        """Explain in a sentence why this run has the flag."""
        return look.sentence

    # ---- search, retention and verification ---------------------------------------------------------------

    def labels(self, said: RunEntries) -> Iterator[str]:
        """Yield the search labels of a run, in addition to the common ones, from its audit entries."""
        return iter(())

    def kept_for(self) -> KeptFor:
        return {(settings.RETENTION_DAYS, INSTALLATION): Q()} if settings.RETENTION_DAYS else {}

    def unsealed_mismatches(self, told: Mapping[Any, RunEntries]) -> Iterator[tuple[Any, str]]:
        return unsealed_mismatches(self, told)


def snapshot_of(run: Run) -> RunSnapshot[Any]:
    """Read all rows of a run."""
    face = spec_of_run(run)
    return face.snapshot(face.rows().get(pk=run.pk))


def rows_in(
    pks: Sequence[UUID], read: Callable[[ProcedureSpec[Any, Any]], QuerySet[Any]] = lambda face: face.rows()
) -> list[Any]:
    """Return these runs, of any procedure, as rows of their procedures in this order.

    The number of queries depends on the number of procedures, not of runs.
    """
    kinds = dict(Run.objects.filter(pk__in=pks).values_list("pk", "procedure"))
    rows: dict[UUID, Any] = {}
    for kind in specs().keys() & set(kinds.values()):
        rows |= read(specs()[kind]).in_bulk([pk for pk in pks if kinds.get(pk) == kind])
    return [rows[pk] for pk in pks if pk in rows]


def spec_of_run(run: Run) -> ProcedureSpec[Any, Any]:
    return specs()[run.procedure]


def specs() -> Mapping[str, ProcedureSpec[Any, Any]]:
    """Return all procedures by the value of `Run.procedure`."""
    return cast(Mapping[str, ProcedureSpec[Any, Any]], procedures())


def known_flags(face: ProcedureSpec[Any, Any] | None = None) -> list[TextChoices]:
    """Return the flags that runs of this procedure may have; without one, those of any."""
    own = [flag for one in ([face] if face else specs().values()) for flag in one.flags]
    return list(dict.fromkeys([*own, *RunFlag]))
