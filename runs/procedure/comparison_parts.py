"""Hooks and value objects for the page that compares two runs; every hook has a default."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..text_diff import TextAmendment


@dataclass(frozen=True)
class Difference:
    """One sentence about a difference, with its icon."""

    sign: str
    lead: str
    rest: str


@dataclass(frozen=True)
class ComparedRun:
    """One side of a comparison row: status word, its colour, a figure and a text.

    `digest` is set for content that is compared but not shown.
    """

    word: str
    state: str = ""
    figure: str = ""
    text: str = ""
    digest: str = ""

    def equals(self, other: "ComparedRun | None", erased: bool = False) -> bool:
        if other is None or self.word != other.word:
            return False
        return erased or (self.text, self.digest) == (other.text, other.digest)


@dataclass(frozen=True)
class ComparedPair:
    """The same place in both runs; a side is None if that run has no such place.

    `place` is the number of the icon, 0 for none. If `erased`, texts were redacted and do not count as different.
    """

    name: str
    a: ComparedRun | None
    b: ComparedRun | None
    note: str = ""
    place: int = 0
    erased: bool = False

    @property
    def differs(self) -> bool:
        return not (self.a and self.a.equals(self.b, self.erased))


@dataclass(frozen=True)
class ComparedPairs:
    heading: str
    rows: Sequence[ComparedPair]


@dataclass(frozen=True)
class ComparisonResult:
    """What differs and what is equal between two runs.

    `part` is an optional template that shows `context` next to the texts. `amended` lists changes of texts other than
    the request. Each entry of `same` completes the sentence "The same …".
    """

    differs: Sequence[Difference] = ()
    same: Sequence[str] = ()
    amended: Sequence[TextAmendment] = ()
    pairs: Sequence[ComparedPairs] = ()
    part: str = ""
    context: Mapping[str, Any] = field(default_factory=dict)


class ComparisonHooks:
    """The part of a `ProcedureSpec` that compares two runs."""

    def compared(self, a: Any, b: Any, erased: bool) -> ComparisonResult:
        """Compare two displays; the page already shows the request and the outcome.

        If `erased`, texts of one or both runs were redacted, so the result must not depend on any text.
        """
        return ComparisonResult()


def pair_texts(
    a: Iterable[tuple[str, ComparedRun]], b: Iterable[tuple[str, ComparedRun]], erased: bool = False
) -> list[ComparedPair]:
    """Pair the rows by name: those of `a` in their order, then those that only `b` has."""
    first, second = dict(a), dict(b)
    return [ComparedPair(name, first.get(name), second.get(name), erased=erased) for name in (first | second)]
