"""Prompt of the finalizer, and parsing of its answer: words around an approved answer.

Code inserts the approved answer and claims into the finalizer's text. Nobody has reviewed the words around them, so
they are stored separately and marked wherever they are shown.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.llm.shapes import TEXT, object_of

from ..quotes import fold_text, unknown_names, unsupported
from ..rules.events import AnswerFinalized
from ..rules.limits import RESULT_LENGTH, TRACE_LENGTH
from ..rules.state import NOT_ANSWERED
from .common import InquiryAnswer, Messages, parse_answer, required_text, role_messages

ROLE = """\
# Your role

An answer was approved, and stays word for word what it is. You write what leads through it, for the person who asked: \
[answer] where the approved answer stands, which comes first, and [claim:3] where claim 3 stands. A program puts the \
approved texts in these places. Your own words around them are few: they say no fact, number or name, and turn nothing \
of what was approved. Then tell, in the past tense, how it was reached: what was looked up, what was sent back and \
why, and what stays uncertain."""
FORM = """\
It has two keys. "final_answer" is a text: the places of the answer and of its claims, with what leads from one to the \
other. "final_reasoning_trace" is a text: how it was reached."""
SCHEMA = object_of({"final_answer": TEXT, "final_reasoning_trace": TEXT})
MARKER = re.compile(r"\[claim:(\d+)\]")
ANSWER = "[answer]"
_PLACES = re.compile(r"(\[answer\]|\[claim:\d+\])")


@dataclass(frozen=True)
class ApprovedAnswer:
    """Input of the prompt. `claims`: number and text of each; `course`: a line for each assignment and its result."""

    question: str
    answer: str
    reasoning: str
    claims: Sequence[dict[str, Any]]
    course: Sequence[str]


@dataclass(frozen=True)
class WordedFinal:
    """`final` is made by code from approved texts. `wording` (with markers for inserted texts) and `told` are the
    finalizer's own words: no critic has read them."""

    final: AnswerFinalized
    wording: str = ""
    told: str = ""


class _FinalAnswer(InquiryAnswer):
    final_answer: str
    final_reasoning_trace: str


def finalizer_messages(of: ApprovedAnswer, mark: str | None = None, left_out: str = "") -> Messages:
    return role_messages(ROLE, FORM, asdict(of), mark, left_out=left_out)


def read_final(text: str, of: ApprovedAnswer) -> WordedFinal:
    """Parse an answer. Raises ValueError if it has a number or name that is not in the approved answer."""
    answer = parse_answer(_FinalAnswer, text)
    wording = required_text(answer.final_answer, "final_answer", RESULT_LENGTH)
    told = required_text(answer.final_reasoning_trace, "final_reasoning_trace", TRACE_LENGTH)
    wording = wording if ANSWER in wording else f"{ANSWER} {wording}"
    _refuse_added(wording, of)
    return WordedFinal(rule_answer(of).final, wording if any(own for _, own in _pieces(wording, of)) else "", told)


def _pieces(wording: str, of: ApprovedAnswer) -> Iterator[tuple[str, bool]]:
    return inserted(wording, of.answer, {one["number"]: one["text"] for one in of.claims})


def own_words(wording: str) -> str:
    """Return the wording without markers of inserted texts."""
    return "\n".join(piece.strip() for piece in _PLACES.split(wording)[::2] if piece.strip())


def _plain(text: str) -> str:
    return fold_text(text).casefold().strip(" .")


_MARKS = re.compile(r"[\s.,;:*()\[\]\"'“”‘’…–—-]*")


def _has_content(text: str) -> bool:
    """Tell whether a text is more than punctuation. Symbols such as a cross or a question mark count as content."""
    return not _MARKS.fullmatch(text)


def inserted(wording: str, answer: str, claims: Mapping[int, str]) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a wording, and whether each is the finalizer's own. A piece that equals an approved text is
    not."""
    approved = {_plain(one) for one in (answer, *claims.values())}
    for piece in _PLACES.split(wording):
        if number := MARKER.fullmatch(piece):
            yield claims.get(int(number[1]), ""), False
        elif piece == ANSWER:
            yield answer, False
        elif piece.strip():
            yield piece.strip(), _has_content(piece) and _plain(piece) not in approved


def _refuse_added(wording: str, of: ApprovedAnswer) -> None:
    words, known = own_words(wording), {one["number"] for one in of.claims}
    if wording.count(ANSWER) > 1:
        raise ValueError(f"“final_answer” has {ANSWER} more than once.")
    if astray := [number for number in map(int, MARKER.findall(wording)) if number not in known]:
        raise ValueError(f"There is no claim {astray[0]}.")
    if NOT_ANSWERED in words:
        raise ValueError("It was answered: word the answer.")
    support = [of.question, of.answer, of.reasoning, *(one["text"] for one in of.claims)]
    if numbers := unsupported(words, support):
        raise ValueError(f"The number {numbers[0]} does not stand in the approved answer.")
    if names := unknown_names(words, support):
        raise ValueError(f"The name “{names[0]}” does not stand in the approved answer.")


def rule_answer(of: ApprovedAnswer) -> WordedFinal:
    """Return the final answer that code makes: the approved answer with markers of its claims, and the course as the
    trace."""
    return WordedFinal(
        AnswerFinalized(answer_with(of.answer, [one["number"] for one in of.claims]), "\n".join(of.course))
    )


def answer_with(answer: str, claims: Sequence[int]) -> str:
    """Return the answer with markers of its claims, as docs/audit.md defines it; `tools/verify.py` does the same."""
    return "".join([answer, *(f" [claim:{number}]" for number in claims)])
