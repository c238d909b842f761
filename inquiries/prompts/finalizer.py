"""The finalizer: an approved answer, worded for whoever asked. It adds nothing, which code looks after."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.llm.shapes import TEXT, object_of

from ..quotes import fold, unsupported
from ..rules.course import NOT_ANSWERED
from ..rules.facts import Finalized
from ..rules.limits import RESULT_LENGTH, TRACE_LENGTH
from .common import Answer, Messages, read_as, request, said

ROLE = """\
# Your role

An answer was approved. Word it for the person who asked: the answer itself in the first sentence, then the claims \
that it rests on, each followed by its place, as in [claim:3]. Add nothing, and leave out nothing that would change \
what it says. Then tell, in the past tense, how it was reached: what was looked up, what was sent back and why, and \
what stays uncertain."""
FORM = """\
It has two keys. "final_answer" is a text: the answer, with the places of its claims. "final_reasoning_trace" is a \
text: how it was reached."""
SCHEMA = object_of({"final_answer": TEXT, "final_reasoning_trace": TEXT})
MARKER = re.compile(r"\[claim:(\d+)\]")
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)(?<!\w)[^\W\d_]*[A-ZÀ-ÞΑ-ΩА-Я][\w]*", re.MULTILINE)


@dataclass(frozen=True)
class Approved:
    """What the finalizer is given. `claims`: number and text of each; `course`: a line for each order and its end."""

    question: str
    answer: str
    reasoning: str
    claims: Sequence[dict[str, Any]]
    course: Sequence[str]


class _Said(Answer):
    final_answer: str
    final_reasoning_trace: str


def finish(of: Approved, mark: str | None = None, left_out: str = "") -> Messages:
    return request(ROLE, FORM, asdict(of), mark, left_out=left_out)


def read_final(text: str, of: Approved) -> Finalized:
    """ValueError where it names what the approved answer does not."""
    answer = read_as(_Said, text)
    final = said(answer.final_answer, "final_answer", RESULT_LENGTH)
    trace = said(answer.final_reasoning_trace, "final_reasoning_trace", TRACE_LENGTH)
    if NOT_ANSWERED in final:
        raise ValueError("It was answered: word the answer.")
    _refuse_added(final, of)
    return Finalized(final, trace)


def _refuse_added(final: str, of: Approved) -> None:
    known = {one["number"] for one in of.claims}
    marked = [int(number) for number in MARKER.findall(final)]
    if astray := [number for number in marked if number not in known]:
        raise ValueError(f"There is no claim {astray[0]}.")
    if known and not marked:
        raise ValueError("No place of a claim stands in “final_answer”, as in [claim:1].")
    words, support = MARKER.sub("", final), [of.question, of.answer, of.reasoning, *(one["text"] for one in of.claims)]
    if numbers := unsupported(words, support):
        raise ValueError(f"The number {numbers[0]} does not stand in the approved answer.")
    told = fold(" ".join(support)).casefold()
    if names := [name for name in _NAME.findall(fold(words)) if name.casefold() not in told]:
        raise ValueError(f"The name “{names[0]}” does not stand in the approved answer.")


def by_code(of: Approved) -> Finalized:
    """Where no model words it: the approved answer as it is, and what happened, line by line."""
    marks = "".join(f" [claim:{one['number']}]" for one in of.claims)
    return Finalized(f"{of.answer[: RESULT_LENGTH - len(marks)]}{marks}", "\n".join(of.course)[:TRACE_LENGTH])
