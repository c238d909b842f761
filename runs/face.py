"""What a procedure shows of itself to all doors. The engine knows the half above, `Procedure`, and never this one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, cast

from django.conf import settings
from django.db.models import Q, QuerySet, TextChoices

from engine.evidence.told import Said
from engine.models import ModelCall, Run
from engine.procedure import Procedure, procedures

from .contradictions import contradictions
from .fragments import Fragment
from .retention import INSTALLATION, KeptFor

Row = TypeVar("Row")
Shown = TypeVar("Shown")


@dataclass(frozen=True)
class Snapshot(Generic[Row]):
    """One look at all rows of a run. `texts` are growing now, by the step that they are for."""

    run: Run
    row: Row
    calls: Sequence[ModelCall]
    texts: Mapping[str, str]


class Face(Procedure, Generic[Row, Shown]):
    noun: ClassVar[str]
    nouns: ClassVar[str]  # of addresses, and the folder of its templates
    flags: ClassVar[Sequence[TextChoices]] = ()  # its own, beside those that any run may have
    outcomes: ClassVar[Sequence[str]] = ()  # that it can come to, where they are known before

    @property
    def room(self) -> str:
        """The package that it stands in."""
        return type(self).__module__.rpartition(".")[0]

    @property
    def a_noun(self) -> str:
        """At the beginning of a sentence."""
        return f"{'An' if self.noun[0] in 'aeiou' else 'A'} {self.noun}"

    def rows(self) -> QuerySet[Any]:
        """All that a page shows, in few queries. The key of a row is that of its run."""
        raise NotImplementedError

    def calls(self, row: Row) -> list[ModelCall]:
        """Those of a row that was read with `rows`, oldest first."""
        raise NotImplementedError

    def display(self, seen: Snapshot[Row]) -> Shown:
        """Every word and number that a page shows, before any HTML."""
        raise NotImplementedError

    def fragments(self, display: Shown) -> Iterator[Fragment]:
        """Every part of the page that changes."""
        raise NotImplementedError

    def labels(self, said: Said) -> Iterator[str]:
        """Those that its runs are found by beside what any run is, from what is told of one."""
        return iter(())

    def kept_for(self) -> KeptFor:
        return {(settings.RETENTION_DAYS, INSTALLATION): Q()} if settings.RETENTION_DAYS else {}

    def contradictions(self, told: Mapping[Any, Said]) -> Iterator[tuple[Any, str]]:
        return contradictions(self, told)


def face_of(run: Run) -> Face[Any, Any]:
    return faces()[run.procedure]


def faces() -> dict[str, Face[Any, Any]]:
    """By what stands in `Run.procedure`."""
    return cast(dict[str, Face[Any, Any]], procedures())
