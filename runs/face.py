"""What a procedure shows of itself to all doors. The engine knows the half above, `Procedure`, and never this one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, cast

from django.db.models import QuerySet

from engine.models import ModelCall, Run
from engine.procedure import Procedure, procedures

from .fragments import Fragment

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


def face_of(run: Run) -> Face[Any, Any]:
    return cast(Face[Any, Any], procedures()[run.procedure])
