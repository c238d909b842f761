"""What a procedure shows of itself to all doors. The engine knows the half above, `Procedure`, and never this one.

Why so: docs/decisions.md, One house for all procedures.
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

IDLE, JUDGING, FAILED, STOPPED = "idle", "judging", "failed", "stopped"  # signs and colours that every kind has
STATUS_LABELS: dict[str, tuple[str, str]] = {
    Run.Status.QUEUED: (IDLE, "Idle"),
    Run.Status.RUNNING: (JUDGING, "At work"),
    Run.Status.WAITING: ("pending", "Waiting"),
    Run.Status.FINISHED: ("approve", "Finished"),
    Run.Status.FAILED: (FAILED, "Error"),
    Run.Status.CANCELLED: (STOPPED, "Cancelled"),
}


Row = TypeVar("Row")
Displayed = TypeVar("Displayed")


@dataclass(frozen=True)
class RunSnapshot(Generic[Row]):
    """One look at all rows of a run. `texts` are growing now, by the step that they are for; of a moment in the past
    they are what each grew to."""

    run: Run
    row: Row
    calls: Sequence[ModelCall]
    texts: Mapping[str, str]
    parks: Sequence[datetime] = ()
    gates: Sequence[Gate] = ()
    uses: Sequence[ToolCall] = ()
    questions: Sequence[OpenQuestion] = ()  # that models are asked now

    @property
    def wait(self) -> WaitReason | None:
        return wait_reason(self.run, self.parks, self.gates)

    @property
    def end(self) -> datetime:
        return self.run.ended or point_in_time.start_of(self.run)

    def at(self, moment: datetime) -> "RunSnapshot[Row]":
        """The same as it was then."""
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
    """What the pages of any run ask of what a procedure shows: `state` is the sign and colour of its plate, `word` what
    stands on it, `stamp` what is to be known of that, `announcement` the newest thing that happened, for those who hear
    the page. `final`: nothing can change any more."""

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
    def over(self) -> bool: ...
    @property
    def final(self) -> bool: ...


class ProcedureSpec(GatePage, ComparisonHooks, Procedure, Generic[Row, Displayed]):
    noun: ClassVar[str]
    nouns: ClassVar[str]  # of addresses, and the folder of its templates
    sign: ClassVar[str] = "run"  # the small picture of its stage, in templates/_signs.html
    schema: ClassVar[type[Schema]] = schemas.RunOut  # of its object in the API
    waits: ClassVar[bool] = True  # whether its runs may be parked
    acts: ClassVar[bool] = False  # whether its runs use tools
    begins_from: ClassVar[str] = ""  # of a run of it, the column with the run from which that one began
    forks: ClassVar["Forks | None"] = None  # how a run goes on from a step or message of another one
    flags: ClassVar[Sequence[TextChoices]] = ()  # its own, beside those that any run may have
    looks: ClassVar[Sequence[ReviewFlag]] = ()  # those of its flags that need a look first
    stays: ClassVar[str] = "The outcome stays."  # what an override does not change
    going_on: ClassVar[str] = "going on"  # as in "Keep going on", instead of cancelling it
    outcomes: ClassVar[Sequence[str]] = ()  # that it can come to, where they are known before
    # where a page starts one: the name of its address, what one does there, and what that is good for
    begun_at: ClassVar[str] = ""
    begun_with: ClassVar[str] = ""  # the field of that page in which the text stands
    longest_text: ClassVar[int] = 0  # characters of what `of_text` takes
    verb: ClassVar[str] = ""
    good_for: ClassVar[str] = ""
    shelves: ClassVar[Sequence[LibrarySection]] = ()  # what is kept of it to be used again
    as_model: ClassVar[ChatModel | None] = None  # how it is asked for where a language model is
    offers: ClassVar[Sequence[McpExposedTool]] = ()  # what models of others may ask for
    held: ClassVar[Sequence[McpExposedResource]] = ()  # what they may read of one run, beside its record

    @property
    def app_name(self) -> str:  # the package that it stands in
        return type(self).__module__.rpartition(".")[0]

    @property
    def kind(self) -> str:
        """What stands in `Run.procedure`."""
        return next(name for name, face in specs().items() if face is self)

    def runs(self) -> QuerySet[Run]:
        return Run.objects.filter(procedure=self.kind)

    @property
    def noun_with_article(self) -> str:
        """At the beginning of a sentence."""
        return f"{'An' if self.noun[0] in 'aeiou' else 'A'} {self.noun}"

    def rows(self) -> QuerySet[Any]:
        """All rows that a page shows, in few queries (`runs.row_queries.with_run`). A row's key is its run's."""
        raise NotImplementedError

    def calls(self, row: Row) -> list[ModelCall]:
        """Those of a row that was read with `rows`, oldest first."""
        raise NotImplementedError

    def facts(self, row: Row) -> dict[str, Any]:
        """What the API says of a row that was read with `rows`, beside what it says of any run or in place of it."""
        return {}

    def rows_of_list(self) -> QuerySet[Any]:
        """As much of each as `facts_of_list` needs, with what `runs.row_queries.with_run` brings."""
        return self.rows()

    def facts_of_list(self, row: Row) -> dict[str, Any]:
        """The same of a row that was read with `rows_of_list`: what a list needs, and nothing that grows."""
        return {}

    def estimate(self, row: Row) -> int | None:
        """What it may cost to ask all of it (again), in billionths of a dollar; None where that is unknown."""
        raise NotImplementedError

    def of_text(self, owner: Any, text: str, title: str) -> UUID | None:
        """Queue one of a text alone, and give its key; None where something has to be chosen first. BudgetUsedUp or
        LimitReached."""
        return None

    def begun_from(self, runs: Collection[UUID]) -> Iterable[tuple[UUID, UUID]]:
        if not self.begins_from:
            return ()
        began = Run.objects.filter(pk__in=runs, **{f"{self.begins_from}__isnull": False})
        return began.values_list("pk", self.begins_from)

    def related_run_ids(self, run: UUID) -> QuerySet[Run]:
        """Others that hold texts of this one, beside those that it has made: named before it is redacted."""
        return Run.objects.none()

    def snapshot(self, row: Any, calls: Sequence[ModelCall] | None = None) -> RunSnapshot[Any]:
        """A row that was read with `rows`, and what belongs to it, as they are now; `calls` where they are read."""
        calls = self.calls(row) if calls is None else calls
        parks, gates = (parks_of(row.run.pk), gates_of(row.run.pk)) if self.waits else ((), ())
        uses = tool_uses(row.run.pk) if self.acts else ()
        questions = questions_of(row.run, calls, self.asker)
        return RunSnapshot(row.run, row, calls, self.partial_text(row), parks, gates, uses, questions)

    def partial_text(self, row: Row) -> Mapping[str, str]:
        """What its page shows that grows outside the rows and outside of models' answers, by names of its own: while
        there is any, open pages look at it again and again."""
        return {}

    def at_moment(self, row: Row, moment: datetime) -> Any:
        """The row as it was then."""
        return point_in_time.row_at_moment(row, moment)

    survives: ClassVar[bool] = False  # whether it goes on when a call has failed for good

    def failure(self, row: Row, call: ModelCall) -> dict[str, Any]:
        """What a run told, as its `error`, of the call that it failed by."""
        return {"message": call.error}

    def display(self, seen: RunSnapshot[Row]) -> Displayed:
        """Every word and number that a page shows, before any HTML."""
        raise NotImplementedError

    def fragments(self, display: Displayed) -> Iterator[PageFragment]:
        """Every part of the page that changes."""
        raise NotImplementedError

    def reveal_pauses(self, row: Row) -> Sequence[datetime]:
        """Moments, in their order, at which its live page halts for a little while before it goes on."""
        return ()

    def moments(self, seen: RunSnapshot[Row]) -> Iterable[datetime]:
        """When its page changed while it went on: a replay shows it as it was at each of them."""
        return (time for call in seen.calls for time in (call.started, call.ended) if time)

    def answers(self, row: Row) -> Mapping[int, str]:
        """The texts that models gave, by the model call that brought them: a look back writes them as they came."""
        return {}

    def chapter(self, before: Displayed | None, display: Any) -> str:
        """The name of what begins here on the time line of a replay; empty where nothing does."""
        return ""

    def replay_mark(self, before: Displayed | None, display: Any) -> str:
        """The state that stands out on the time line of a replay: of the end, and of what else it chooses."""
        return display.state if before is not None and display.is_ended else ""

    # ---- its pages ----------------------------------------------------------------------------------------

    def page_name(self, page: str) -> str:
        """Under which name a page of its runs, as in `runs.urls`, is asked for its address."""
        return f"{self.noun}-{page}"

    def address(self, page: str, pk: UUID) -> str:
        return reverse(self.page_name(page), args=[pk])

    def page(self, pk: UUID) -> dict[str, Any]:
        """What the templates of all procedures need to know of this one."""
        return {"face": self, "links": {page.replace("-", "_"): self.address(page, pk) for page in RUN_PAGES}}

    def viewer_context(self, request: HttpRequest, row: Row) -> dict[str, Any]:
        """More that its live page and its record show, each to those who may see it."""
        return {}

    def page_context(self, run: Run) -> Sequence[Any]:
        """Rows of other runs in which texts of this one may stand, and do not go with it."""
        return ()

    # ---- its lists ----------------------------------------------------------------------------------------

    filters: ClassVar[Sequence[str]] = ()  # what its history is asked for by labels of the same names
    standings: ClassVar[Mapping[str, Sequence[str]]] = {  # asked for where there is no outcome (yet), by these words
        "queued": [Run.Status.QUEUED],
        "running": [Run.Status.RUNNING],
        "waiting": [Run.Status.WAITING],
        "error": [Run.Status.FAILED],
        "cancelled": [Run.Status.CANCELLED],
    }

    def prefetch_for_list(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """These rows of its own, with what a list shows of each."""
        return rows.select_related("run__owner")

    def step_labels(self, steps: Collection[tuple[UUID, str]]) -> Mapping[tuple[UUID, str], tuple[str, str]]:
        """What people call these steps of runs, each with its place on the page of the run, as far as there are any."""
        return {}

    def form(self, asked: Mapping[str, Any], people: People = (), user: Any = None) -> RunHistoryForm:
        """What its history is asked for by this user; `people`: who may be asked for as having asked."""
        return RunHistoryForm(asked, (*self.outcomes, *self.standings), people)

    def outcomes_of(self, run: Run) -> Sequence[str]:
        """What this run can come to, which a person may decide instead."""
        return self.outcomes

    def filter_labels(self, run: Run) -> tuple[str, str]:
        """Sign and word of a run in a list."""
        return self.outcome_filter(run.outcome) if run.outcome else STATUS_LABELS[run.status]

    def outcome_filter(self, outcome: str) -> tuple[str, str]:
        """Sign and word of an outcome, whoever decided it."""
        return STATUS_LABELS[Run.Status.FINISHED][0], outcome.capitalize()

    def possible_outcomes(self, outcome: str) -> bool:
        """Whether that is the word of an outcome."""
        return outcome in self.outcomes

    def outcome_icons(self, runs: Sequence[UUID]) -> Mapping[UUID, Mapping[str, str]]:
        """Of runs whose outcomes are their own words, the sign of each; in one query for all."""
        return {}

    def glances(self, rows: Sequence[Row]) -> Mapping[UUID, ListSummary]:
        """What stands in a cell of its own, of rows that were read with `listed`, in one query for all."""
        runs = SearchText.objects.rehearsed([row.run.pk for row in cast(Sequence[Any], rows)])
        return {pk: ListSummary(rehearsal=rehearsal) for pk, rehearsal in runs.items()}

    # ---- its tables ---------------------------------------------------------------------------------------

    heads: ClassVar[tuple[Sequence[str], Sequence[str]]] = ((), ())  # before the outcome: what was asked; and behind it

    def prefetch_for_table(self) -> QuerySet[Any]:
        """Its rows with what a table says of each."""
        return self.rows()

    def columns(self, row: Row) -> tuple[Sequence[object], Sequence[object]]:
        """What stands under its `heads`."""
        return (), ()

    def status_label(self, run: Run) -> str:
        """Its outcome, or its status, as tables and commands show it."""
        return self.in_words(run.outcome) or run.status

    def in_words(self, outcome: str | None) -> str:
        return came_to(outcome)

    # ---- its record ---------------------------------------------------------------------------------------

    record_styles: ClassVar[Sequence[str]] = ()  # sheets beside record.css; for the admin, see review.css
    record_without: ClassVar[Sequence[str]] = ()  # columns of its model calls that may be long, and that it leaves out

    def recorded(self, seen: RunSnapshot[Row], display: Displayed) -> dict[str, Any]:
        """What its `_record.html` shows beside what any record does."""
        return {}

    def hidden_run_ids(self, runs: Iterable[Run]) -> Mapping[UUID, str]:
        """Of which of these the sealed record is given to nobody yet, and why, in a sentence."""
        return {}

    def provenance(self, row: Row) -> Iterable[tuple[str, str]]:
        """How it came about, by names: what a record says before it names the models."""
        return ()

    def prompts(self, row: Row) -> dict[str, str]:
        """The texts that came with it, by names: a record has their digests."""
        return {}

    def calls_shown(self, row: Row, calls: Sequence[ModelCall]) -> list[ModelCall]:
        """Those whose prompts and answers whoever sees it may read now."""
        return list(calls)

    def rehearsal(self, row: Row) -> str:
        """Who asked no model, in a sentence; empty where everybody did."""
        return ""

    # ---- its review ---------------------------------------------------------------------------------------

    def outcome_reason(self, row: Row, look: ReviewFlag) -> str:
        """In a sentence, why this run has the flag."""
        return look.sentence

    # ---- what is found, kept and erased -------------------------------------------------------------------

    def labels(self, said: RunEntries) -> Iterator[str]:
        """Those that its runs are found by beside what any run is, from what is told of one."""
        return iter(())

    def kept_for(self) -> KeptFor:
        return {(settings.RETENTION_DAYS, INSTALLATION): Q()} if settings.RETENTION_DAYS else {}

    def unsealed_mismatches(self, told: Mapping[Any, RunEntries]) -> Iterator[tuple[Any, str]]:
        return unsealed_mismatches(self, told)


def snapshot_of(run: Run) -> RunSnapshot[Any]:
    """All rows of a run as they are now."""
    face = spec_of_run(run)
    return face.snapshot(face.rows().get(pk=run.pk))


def rows_in(
    pks: Sequence[UUID], read: Callable[[ProcedureSpec[Any, Any]], QuerySet[Any]] = lambda face: face.rows()
) -> list[Any]:
    """These runs, of any kind, as rows of their procedures in this order; in as many queries however many there are."""
    kinds = dict(Run.objects.filter(pk__in=pks).values_list("pk", "procedure"))
    rows: dict[UUID, Any] = {}
    for kind in specs().keys() & set(kinds.values()):
        rows |= read(specs()[kind]).in_bulk([pk for pk in pks if kinds.get(pk) == kind])
    return [rows[pk] for pk in pks if pk in rows]


def spec_of_run(run: Run) -> ProcedureSpec[Any, Any]:
    return specs()[run.procedure]


def specs() -> Mapping[str, ProcedureSpec[Any, Any]]:
    """By what stands in `Run.procedure`."""
    return cast(Mapping[str, ProcedureSpec[Any, Any]], procedures())


def known_flags(face: ProcedureSpec[Any, Any] | None = None) -> list[TextChoices]:
    """What runs of this kind may be flagged with, or those of any."""
    own = [flag for one in ([face] if face else specs().values()) for flag in one.flags]
    return list(dict.fromkeys([*own, *RunFlag]))
