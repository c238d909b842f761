"""What a procedure gives the engine: one class, named in `settings.PROCEDURES` by what stands in `Run.procedure`."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from ..audit.entries_from_rows import ChainEntrySource, RunEntries
    from ..councils import CouncilUse
    from ..models import DocumentLimits, Gate, Run
    from ..tools import Tool
    from .run_context import RunContext


class InvalidAnswer(Exception):
    """What somebody said at a gate cannot be taken. `problems`: a path into what was said, and a sentence, of each."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        super().__init__(" ".join(sentence for _, sentence in problems))
        self.problems = problems


CommitChange = Callable[[], None]
Answerer = Callable[[list[dict[str, str]]], str]
"""Makes the text of an answer from the messages of a request; a `TruncatedAnswer` is one that an endpoint cut off."""


class TruncatedAnswer(str):
    """The beginning of an answer, up to an endpoint's limit of length."""


Chore = Callable[[], bool]
"""Does a little of what is due, in short transactions; returns whether there is more."""


class StepRequester(NamedTuple):
    """Who asks a model in a step, and for what, in words: “Melchior gave no decision in round 2 …”."""

    who: str = "The model"
    what: str = "answer"


class Procedure:
    """One way of deciding. It has no state: what it knows of a run stands in rows."""

    outcome_name: ClassVar[str] = "outcome"  # under which evidence says what came of a run
    rehearsals: ClassVar[Mapping[str, Answerer]] = {}  # by the name of the form of an answer
    rehearsal_speed: ClassVar[float] = (
        1.0  # so many times faster than read aloud its rehearsals come, where many follow each other
    )
    documents: "ClassVar[DocumentLimits | None]" = None  # how many its runs may have; none where nothing is said
    chores: ClassVar[Sequence[Chore]] = ()
    timeout: ClassVar[float | None] = None  # seconds for one claim; None: settings.RUN_TIMEOUT
    tools: "ClassVar[Sequence[Tool[Any]]]" = ()  # that stand in no toolbox: of its own
    chains: "ClassVar[Sequence[ChainEntrySource]]" = ()  # of what it has beside runs

    async def perform(self, run: "RunContext") -> CommitChange:
        """Do what is left of a run. What it returns is committed together with the run's end."""
        raise NotImplementedError

    def build_entries(self, told: "dict[UUID, RunEntries]", *, new: bool = False) -> None:
        """Add facts and texts to the drafts of these runs. `new`: they are being submitted, so that nothing has
        happened to them and nothing of that needs to be asked for."""

    def erase(self, run: UUID) -> None:
        """Empty the texts of its own rows, in the transaction of a redaction."""
        raise NotImplementedError

    def apply_decision(self, gate: "Gate", choice: str, answer: Any) -> None:
        """Somebody has decided at one of its gates, whose last decision it is, in that transaction. DoesNotFit where it
        cannot be taken: then nothing was said. May write rows of its own, that the entries of the decision tell of."""

    def reaches_out(self, gate: "Gate") -> bool:
        """Whether a yes at this gate lets something leave that cannot be taken back: a letter, a web write, a command
        with a network."""
        return gate.reaches_out

    def place_of_words(self, gate: "Gate", decision: str) -> str | None:
        """Where what somebody says with a decision at this gate comes into the run; empty: anywhere in it, None:
        nowhere."""
        return ""

    def word_sources(self, run: UUID, step: str) -> Collection[str] | None:
        """From which places of this run, as `place_of_words` names them, words come into what is asked at a gate of
        this step; None: from all."""
        return None

    def begun_from(self, runs: Collection[UUID]) -> Iterable[tuple[UUID, UUID]]:
        """Which of these of its runs began from another run, by whose work they go on, and from which."""
        return ()

    def explanation(self, run: UUID) -> str:
        """Why one of its runs came to its outcome, in words, for whoever asked it at a gate."""
        return ""

    def judged_as(self, run: UUID) -> str:
        """Which council one of its runs was, with its version: for the record of a gate that asked it."""
        return ""

    def council_uses(self) -> "Iterable[CouncilUse]":
        """What of its own is saved and lets a council decide."""
        return ()

    def reserved_cost(self, run: "Run") -> int:
        """What stays set aside while it waits, in billionths of a dollar: for an end that must not lack money."""
        return 0

    def asker(self, run: UUID, step: str) -> StepRequester:
        """For whom a model is asked in this step of one of its runs."""
        return StepRequester()

    def runs_read_from(self, run: "Run") -> Q:
        """Which other runs one at the top has heard of: where strangers' text was read there, it was read here."""
        return Q(pk__in=())

    def validate_entries(self, entries: Sequence[dict[str, Any]]) -> str:
        """What the entries of one run say that cannot be by its own rules, in a sentence; empty where nothing does.

        An entry as a mapping: `kind`, `facts`, and `texts` where they are not erased.
        """
        return ""

    def unsealed_mismatches(self, told: "Mapping[UUID, RunEntries]") -> Iterator[tuple[UUID, str]]:
        """Whose rows that are no evidence say otherwise than what is told of it, and in which way: those that decide
        who finds a run or gets it as an answer."""
        return iter(())


class _Known(Mapping[str, Procedure]):
    """Each is imported when it is first asked for: who submits a run of one does without the others."""

    def __getitem__(self, name: str) -> Procedure:
        return _made(settings.PROCEDURES[name])

    def __iter__(self) -> Iterator[str]:
        return iter(settings.PROCEDURES)

    def __len__(self) -> int:
        return len(settings.PROCEDURES)

    def __contains__(self, name: object) -> bool:
        return name in settings.PROCEDURES


_known = _Known()


def procedures() -> Mapping[str, Procedure]:
    """By what stands in `Run.procedure`."""
    return _known


@cache
def _made(path: str) -> Procedure:
    return import_string(path)()
