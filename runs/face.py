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

from engine.evidence.told import Said
from engine.models import Gate, ModelCall, Run, ToolCall
from engine.procedure import Procedure, procedures

from . import past
from .api import schemas
from .as_model import AsModel
from .at_gates import AtGates
from .compared import Compares
from .contradictions import contradictions
from .filters import HistoryForm, People
from .fragments import Fragment
from .glance import Glance
from .looks import Look
from .models import Flag, SearchText
from .offers import Held, Offer
from .questions import Question, questions_of
from .retention import INSTALLATION, KeptFor
from .shelves import Shelf
from .stamps import Stamp
from .uses import use_at, uses_of
from .waits import Wait, gate_at, gates_of, parks_of, wait_of, waiting_at
from .words import came_to

if TYPE_CHECKING:
    from .forking import Forks

PAGES = "live record record-file evidence fragments replay replay-file replay-frames".split()
PAGES += ["cancel", "retry", "redact", "made", "share"]

IDLE, JUDGING, FAILED, STOPPED = "idle", "judging", "failed", "stopped"  # signs and colours that every kind has
STANDINGS: dict[str, tuple[str, str]] = {
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
class Snapshot(Generic[Row]):
    """One look at all rows of a run. `texts` are growing now, by the step that they are for; of a moment in the past
    they are what each grew to."""

    run: Run
    row: Row
    calls: Sequence[ModelCall]
    texts: Mapping[str, str]
    parks: Sequence[datetime] = ()
    gates: Sequence[Gate] = ()
    uses: Sequence[ToolCall] = ()
    questions: Sequence[Question] = ()  # that models are asked now

    @property
    def wait(self) -> Wait | None:
        return wait_of(self.run, self.parks, self.gates)

    @property
    def end(self) -> datetime:
        return self.run.ended or past.beginning_of(self.run)

    def at(self, moment: datetime) -> "Snapshot[Row]":
        """The same as it was then."""
        if self.run.ended and moment >= self.run.ended:
            return self
        calls = [past.call_at(call, moment) for call in self.calls if call.started <= moment]
        later = [call for call in self.calls if call.started > moment]
        face = face_of(self.run)
        run = past.run_at(self.run, moment, calls, later, partial(face.failure, self.row), face.survives)
        uses = [use_at(call, moment) for call in self.uses if call.made <= moment]
        run = waiting_at(run, moment, self.parks, self.gates, calls, uses)
        row = copy(face.at(self.row, moment))
        row.run = run
        answers = face.answers(self.row)
        under_way = [call for call in calls if call.status == ModelCall.Status.OPEN]
        coming = {call.step: answers[call.pk] for call in under_way if call.pk in answers}
        parks = [park for park in self.parks if park <= moment]
        gates = [gate_at(gate, moment) for gate in self.gates if gate.made <= moment]
        return Snapshot(run, row, calls, coming, parks, gates, uses)


class Display(Protocol):
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
    def stamp(self) -> Stamp | None: ...
    @property
    def announcement(self) -> str: ...
    @property
    def over(self) -> bool: ...
    @property
    def final(self) -> bool: ...


class Face(AtGates, Compares, Procedure, Generic[Row, Displayed]):
    noun: ClassVar[str]
    nouns: ClassVar[str]  # of addresses, and the folder of its templates
    sign: ClassVar[str] = "run"  # the small picture of its stage, in templates/_signs.html
    schema: ClassVar[type[Schema]] = schemas.Run  # of its object in the API
    waits: ClassVar[bool] = True  # whether its runs may be parked
    acts: ClassVar[bool] = False  # whether its runs use tools
    begins_from: ClassVar[str] = ""  # of a run of it, the column with the run from which that one began
    forks: ClassVar["Forks | None"] = None  # how a run goes on from a step or message of another one
    flags: ClassVar[Sequence[TextChoices]] = ()  # its own, beside those that any run may have
    looks: ClassVar[Sequence[Look]] = ()  # those of its flags that need a look first
    stays: ClassVar[str] = "The outcome stays."  # what an override does not change
    going_on: ClassVar[str] = "going on"  # as in "Keep going on", instead of cancelling it
    outcomes: ClassVar[Sequence[str]] = ()  # that it can come to, where they are known before
    # where a page starts one: the name of its address, what one does there, and what that is good for
    begun_at: ClassVar[str] = ""
    begun_with: ClassVar[str] = ""  # the field of that page in which the text stands
    longest_text: ClassVar[int] = 0  # characters of what `of_text` takes
    verb: ClassVar[str] = ""
    good_for: ClassVar[str] = ""
    shelves: ClassVar[Sequence[Shelf]] = ()  # what is kept of it to be used again
    as_model: ClassVar[AsModel | None] = None  # how it is asked for where a language model is
    offers: ClassVar[Sequence[Offer]] = ()  # what models of others may ask for
    held: ClassVar[Sequence[Held]] = ()  # what they may read of one run, beside its record

    @property
    def room(self) -> str:  # the package that it stands in
        return type(self).__module__.rpartition(".")[0]

    @property
    def kind(self) -> str:
        """What stands in `Run.procedure`."""
        return next(name for name, face in faces().items() if face is self)

    def runs(self) -> QuerySet[Run]:
        return Run.objects.filter(procedure=self.kind)

    @property
    def a_noun(self) -> str:
        """At the beginning of a sentence."""
        return f"{'An' if self.noun[0] in 'aeiou' else 'A'} {self.noun}"

    def rows(self) -> QuerySet[Any]:
        """All that a page shows, in few queries: `runs.rows.with_run`, and its own. The key of a row is its run's."""
        raise NotImplementedError

    def calls(self, row: Row) -> list[ModelCall]:
        """Those of a row that was read with `rows`, oldest first."""
        raise NotImplementedError

    def facts(self, row: Row) -> dict[str, Any]:
        """What the API says of a row that was read with `rows`, beside what it says of any run or in place of it."""
        return {}

    def rows_of_list(self) -> QuerySet[Any]:
        """As much of each as `facts_of_list` needs, with what `runs.rows.with_run` brings."""
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

    def bound(self, run: UUID) -> QuerySet[Run]:
        """Others that hold texts of this one, beside those that it has made: named before it is redacted."""
        return Run.objects.none()

    def seen(self, row: Any, calls: Sequence[ModelCall] | None = None) -> Snapshot[Any]:
        """A row that was read with `rows`, and what belongs to it, as they are now; `calls` where they are read."""
        calls = self.calls(row) if calls is None else calls
        parks, gates = (parks_of(row.run.pk), gates_of(row.run.pk)) if self.waits else ((), ())
        uses = uses_of(row.run.pk) if self.acts else ()
        questions = questions_of(row.run, calls, self.asker)
        return Snapshot(row.run, row, calls, self.grown(row), parks, gates, uses, questions)

    def grown(self, row: Row) -> Mapping[str, str]:
        """What its page shows that grows outside the rows and outside of models' answers, by names of its own: while
        there is any, open pages look at it again and again."""
        return {}

    def at(self, row: Row, moment: datetime) -> Any:
        """The row as it was then."""
        return past.row_at(row, moment)

    survives: ClassVar[bool] = False  # whether it goes on when a call has failed for good

    def failure(self, row: Row, call: ModelCall) -> dict[str, Any]:
        """What a run told, as its `error`, of the call that it failed by."""
        return {"message": call.error}

    def display(self, seen: Snapshot[Row]) -> Displayed:
        """Every word and number that a page shows, before any HTML."""
        raise NotImplementedError

    def fragments(self, display: Displayed) -> Iterator[Fragment]:
        """Every part of the page that changes."""
        raise NotImplementedError

    def halts(self, row: Row) -> Sequence[datetime]:
        """Moments, in their order, at which its live page halts for a little while before it goes on."""
        return ()

    def moments(self, seen: Snapshot[Row]) -> Iterable[datetime]:
        """When its page changed while it went on: a replay shows it as it was at each of them."""
        return (time for call in seen.calls for time in (call.started, call.ended) if time)

    def answers(self, row: Row) -> Mapping[int, str]:
        """The texts that models gave, by the model call that brought them: a look back writes them as they came."""
        return {}

    def chapter(self, before: Displayed | None, display: Any) -> str:
        """The name of what begins here on the time line of a replay; empty where nothing does."""
        return ""

    def mark(self, before: Displayed | None, display: Any) -> str:
        """The state that stands out on the time line of a replay: of the end, and of what else it chooses."""
        return display.state if before is not None and display.over else ""

    # ---- its pages ----------------------------------------------------------------------------------------

    def page_name(self, page: str) -> str:
        """Under which name a page of its runs, as in `runs.urls`, is asked for its address."""
        return f"{self.noun}-{page}"

    def address(self, page: str, pk: UUID) -> str:
        return reverse(self.page_name(page), args=[pk])

    def page(self, pk: UUID) -> dict[str, Any]:
        """What the templates of all procedures need to know of this one."""
        return {"face": self, "links": {page.replace("-", "_"): self.address(page, pk) for page in PAGES}}

    def extra(self, request: HttpRequest, row: Row) -> dict[str, Any]:
        """More that its live page and its record show, each to those who may see it."""
        return {}

    def beside(self, run: Run) -> Sequence[Any]:
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

    def listed(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """These rows of its own, with what a list shows of each."""
        return rows.select_related("run__owner")

    def places(self, steps: Collection[tuple[UUID, str]]) -> Mapping[tuple[UUID, str], tuple[str, str]]:
        """What people call these steps of runs, each with its place on the page of the run, as far as there are any."""
        return {}

    def form(self, asked: Mapping[str, Any], people: People = (), user: Any = None) -> HistoryForm:
        """What its history is asked for by this user; `people`: who may be asked for as having asked."""
        return HistoryForm(asked, (*self.outcomes, *self.standings), people)

    def outcomes_of(self, run: Run) -> Sequence[str]:
        """What this run can come to, which a person may decide instead."""
        return self.outcomes

    def shown(self, run: Run) -> tuple[str, str]:
        """Sign and word of a run in a list."""
        return self.decided(run.outcome) if run.outcome else STANDINGS[run.status]

    def decided(self, outcome: str) -> tuple[str, str]:
        """Sign and word of an outcome, whoever decided it."""
        return STANDINGS[Run.Status.FINISHED][0], outcome.capitalize()

    def may_come_to(self, outcome: str) -> bool:
        """Whether that is the word of an outcome."""
        return outcome in self.outcomes

    def signs(self, runs: Sequence[UUID]) -> Mapping[UUID, Mapping[str, str]]:
        """Of runs whose outcomes are their own words, the sign of each; in one query for all."""
        return {}

    def glances(self, rows: Sequence[Row]) -> Mapping[UUID, Glance]:
        """What stands in a cell of its own, of rows that were read with `listed`, in one query for all."""
        runs = SearchText.objects.rehearsed([row.run.pk for row in cast(Sequence[Any], rows)])
        return {pk: Glance(rehearsal=rehearsal) for pk, rehearsal in runs.items()}

    # ---- its tables ---------------------------------------------------------------------------------------

    heads: ClassVar[tuple[Sequence[str], Sequence[str]]] = ((), ())  # before the outcome: what was asked; and behind it

    def tabled(self) -> QuerySet[Any]:
        """Its rows with what a table says of each."""
        return self.rows()

    def columns(self, row: Row) -> tuple[Sequence[object], Sequence[object]]:
        """What stands under its `heads`."""
        return (), ()

    def word(self, run: Run) -> str:
        """Its outcome, or its status, as tables and commands show it."""
        return self.in_words(run.outcome) or run.status

    def in_words(self, outcome: str | None) -> str:
        return came_to(outcome)

    # ---- its record ---------------------------------------------------------------------------------------

    record_styles: ClassVar[Sequence[str]] = ()  # sheets beside record.css; for the admin, see review.css
    record_without: ClassVar[Sequence[str]] = ()  # columns of its model calls that may be long, and that it leaves out

    def recorded(self, seen: Snapshot[Row], display: Displayed) -> dict[str, Any]:
        """What its `_record.html` shows beside what any record does."""
        return {}

    def withheld(self, runs: Iterable[Run]) -> Mapping[UUID, str]:
        """Of which of these the sealed record is given to nobody yet, and why, in a sentence."""
        return {}

    def provenance(self, row: Row) -> Iterable[tuple[str, str]]:
        """How it came about, by names: what a record says before it names the models."""
        return ()

    def asked(self, row: Row) -> dict[str, str]:
        """The texts that came with it, by names: a record has their digests."""
        return {}

    def calls_shown(self, row: Row, calls: Sequence[ModelCall]) -> list[ModelCall]:
        """Those whose prompts and answers whoever sees it may read now."""
        return list(calls)

    def rehearsal(self, row: Row) -> str:
        """Who asked no model, in a sentence; empty where everybody did."""
        return ""

    # ---- its review ---------------------------------------------------------------------------------------

    def why(self, row: Row, look: Look) -> str:
        """In a sentence, why this run has the flag."""
        return look.sentence

    # ---- what is found, kept and erased -------------------------------------------------------------------

    def labels(self, said: Said) -> Iterator[str]:
        """Those that its runs are found by beside what any run is, from what is told of one."""
        return iter(())

    def kept_for(self) -> KeptFor:
        return {(settings.RETENTION_DAYS, INSTALLATION): Q()} if settings.RETENTION_DAYS else {}

    def contradictions(self, told: Mapping[Any, Said]) -> Iterator[tuple[Any, str]]:
        return contradictions(self, told)


def snapshot_of(run: Run) -> Snapshot[Any]:
    """All rows of a run as they are now."""
    face = face_of(run)
    return face.seen(face.rows().get(pk=run.pk))


def rows_in(
    pks: Sequence[UUID], read: Callable[[Face[Any, Any]], QuerySet[Any]] = lambda face: face.rows()
) -> list[Any]:
    """These runs, of any kind, as rows of their procedures in this order; in as many queries however many there are."""
    kinds = dict(Run.objects.filter(pk__in=pks).values_list("pk", "procedure"))
    rows: dict[UUID, Any] = {}
    for kind in faces().keys() & set(kinds.values()):
        rows |= read(faces()[kind]).in_bulk([pk for pk in pks if kinds.get(pk) == kind])
    return [rows[pk] for pk in pks if pk in rows]


def face_of(run: Run) -> Face[Any, Any]:
    return faces()[run.procedure]


def faces() -> Mapping[str, Face[Any, Any]]:
    """By what stands in `Run.procedure`."""
    return cast(Mapping[str, Face[Any, Any]], procedures())


def flags_known(face: Face[Any, Any] | None = None) -> list[TextChoices]:
    """What runs of this kind may be flagged with, or those of any."""
    own = [flag for one in ([face] if face else faces().values()) for flag in one.flags]
    return list(dict.fromkeys([*own, *Flag]))
