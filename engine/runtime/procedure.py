"""The base class of procedures for the engine. `settings.PROCEDURES` maps values of `Run.procedure` to them."""

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
    """A decision at a gate is invalid. `problems` are pairs of field path and sentence."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        super().__init__(" ".join(sentence for _, sentence in problems))
        self.problems = problems


CommitChange = Callable[[], None]
Answerer = Callable[[list[dict[str, str]]], str]
"""Returns the answer of a rehearsal to messages; a `TruncatedAnswer` simulates an endpoint's limit of length."""


class TruncatedAnswer(str):
    """The beginning of an answer, up to an endpoint's limit of length."""


Chore = Callable[[], bool]
"""Does a part of some periodic work in short transactions; returns whether there is more."""


class StepRequester(NamedTuple):
    """Who asks a model in a step, and for what, for sentences such as “Melchior gave no decision in round 2”."""

    who: str = "The model"
    what: str = "answer"


class Procedure:
    """A procedure. It has no state of its own: everything about a run is in rows."""

    outcome_name: ClassVar[str] = "outcome"  # key of the outcome in the evidence file
    rehearsals: ClassVar[Mapping[str, Answerer]] = {}  # by name of the response format
    rehearsal_speed: ClassVar[float] = 1.0  # factor to the speed of reading aloud
    documents: "ClassVar[DocumentLimits | None]" = None  # limits of documents; None: it takes none
    chores: ClassVar[Sequence[Chore]] = ()
    timeout: ClassVar[float | None] = None  # seconds for one claim; None: settings.RUN_TIMEOUT
    tools: "ClassVar[Sequence[Tool[Any]]]" = ()  # its own tools, which are in no toolbox
    chains: "ClassVar[Sequence[ChainEntrySource]]" = ()  # chains of entries about rows that belong to no run

    async def perform(self, run: "RunContext") -> CommitChange:
        """Perform what is left of a run. The returned change is committed together with the run's end."""
        raise NotImplementedError

    def build_entries(self, told: "dict[UUID, RunEntries]", *, new: bool = False) -> None:
        """Add facts and texts to the entries of these runs. `new`: they are being submitted, so that only the
        submission needs to be read."""

    def erase(self, run: UUID) -> None:
        """Empty the texts of its own rows, in the transaction of a redaction."""
        raise NotImplementedError

    def apply_decision(self, gate: "Gate", choice: str, answer: Any) -> None:
        """Apply the gate's last decision, in its transaction. May write rows that the decision's entry describes.

        Raises InvalidAnswer to refuse the decision; nothing is written then.
        """

    def reaches_out(self, gate: "Gate") -> bool:
        """Whether an approval lets something leave this installation irrevocably: an email, a web write, a command with
        network."""
        return gate.reaches_out

    def place_of_words(self, gate: "Gate", decision: str) -> str | None:
        """The place of the run that reads the text of a decision at this gate; empty: the whole run, None: nothing."""
        return ""

    def word_sources(self, run: UUID, step: str) -> Collection[str] | None:
        """The places (see `place_of_words`) whose texts may be part of a gate's text in this step; None: all."""
        return None

    def begun_from(self, runs: Collection[UUID]) -> Iterable[tuple[UUID, UUID]]:
        """Pairs of run and origin, for runs that continue the work of another run."""
        return ()

    def explanation(self, run: UUID) -> str:
        """The reason for a run's outcome, in words, for the gate at which it decides."""
        return ""

    def judged_as(self, run: UUID) -> str:
        """Name and version of the run's council, for the record of the gate."""
        return ""

    def council_uses(self) -> "Iterable[CouncilUse]":
        """Uses of councils in the procedure's own saved rows."""
        return ()

    def reserved_cost(self, run: "Run") -> int:
        """The amount that stays reserved while the run waits, for its end, in billionths of a US dollar."""
        return 0

    def asker(self, run: UUID, step: str) -> StepRequester:
        """Who asks the model in this step of a run, for error messages."""
        return StepRequester()

    def runs_read_from(self, run: "Run") -> Q:
        """A filter for other topmost runs that this one has read from, whose untrusted text counts as read here."""
        return Q(pk__in=())

    def validate_entries(self, entries: Sequence[dict[str, Any]]) -> str:
        """A sentence about a contradiction in the entries of one run by the procedure's rules; empty if there is none.

        Each entry has `kind`, `facts`, and `texts` unless they are redacted.
        """
        return ""

    def unsealed_mismatches(self, told: "Mapping[UUID, RunEntries]") -> Iterator[tuple[UUID, str]]:
        """Pairs of run and fault for rows that are not sealed and do not match the entries, such as search labels."""
        return iter(())


class _Known(Mapping[str, Procedure]):
    """Imports each procedure when it is first used, so that submitting a run of one does not load the others."""

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
