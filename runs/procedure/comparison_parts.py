"""What a procedure brings to the page that shows two of its runs side by side, all of it with a usual answer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..text_diff import TextAmendment


@dataclass(frozen=True)
class Difference:
    """One sentence of what differs, with its sign."""

    sign: str
    lead: str
    rest: str


@dataclass(frozen=True)
class ComparedRun:
    """What one of the two runs says at a place that both may have: a lamp, its word, a figure beside it, a text.
    `digest`: of a content that is compared and not shown."""

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
    """The same place in both; a side is None where a run has no such place. `place` of a small picture, where there is
    one. `erased`: whether texts were, which then make no difference."""

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
    """`part`: a template of its own, which shows `context` beside the texts. `amended`: what differs of texts that are
    not what was asked. `same`: what does not differ, each as after "The same"."""

    differs: Sequence[Difference] = ()
    same: Sequence[str] = ()
    amended: Sequence[TextAmendment] = ()
    pairs: Sequence[ComparedPairs] = ()
    part: str = ""
    context: Mapping[str, Any] = field(default_factory=dict)


class ComparisonHooks:
    """The half of a face that knows two runs."""

    def compared(self, a: Any, b: Any, erased: bool) -> ComparisonResult:
        """The middle of the page, of two displays. What was asked and how it came out stand there anyway. `erased`:
        texts of one or both were, so nothing is said that rests on any."""
        return ComparisonResult()


def pair_texts(
    a: Iterable[tuple[str, ComparedRun]], b: Iterable[tuple[str, ComparedRun]], erased: bool = False
) -> list[ComparedPair]:
    """By the names of their places, those of `a` first, then those that `b` alone has."""
    first, second = dict(a), dict(b)
    return [ComparedPair(name, first.get(name), second.get(name), erased=erased) for name in (first | second)]
