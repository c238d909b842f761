"""Prompts of critics, and parsing of their reviews."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.llm.own_words import instructions_of, words
from engine.llm.shapes import TEXT, object_of, one_of

from ..rules.events import InquiryStage, WorkReviewed
from .common import InquiryAnswer, Messages, parse_answer, required_text, role_messages

ROLE = """\
# Your role

You decide whether a piece of work passes. {asked}

You use no tools and no knowledge of your own of what is true today. What a program has found out stands beside each \
claim: whether its quote stands in the source, and which numbers stand in no quote. Take that as it is.

If it does not pass, say what has to change, so that somebody can do it. If you have sent the same work back before, \
what you said stands in "feedback": judge whether that was done, and raise something new only if the answer would \
otherwise be wrong."""
ASKED = {
    InquiryStage.CRITIC_PLANNER: "It is a plan, in which no answer has to stand: would its steps, if all of them "
    "succeed, answer the whole question? Is each clear enough to be done by somebody who sees that step alone? "
    "Are there enough "
    'of them, and none too many? Can they be done in the "sources" that there are and with the "tools"?',
    InquiryStage.CRITIC_RESEARCHER: "It is the result of a step of research: does it belong to what the step asks? "
    "Do the quotes carry the claims? Is nothing missing that was asked for, and nothing contradicted by another "
    "quote? That "
    "nothing was found is a result, too, if it was looked for.",
    InquiryStage.CRITIC_EXPERT: "It is an answer: is it the answer to this very question? Does the reasoning follow "
    'from the results? Is nothing of weight left out? What it does not use of the results stands in "not_used", '
    "with its "
    'reason, and what was not looked up in "left_out": does any of it say otherwise? What stands in "in_no_claim" is '
    "in the answer, and in none of its claims. That it cannot be answered is right where the results carry none.",
}
FORM = """\
It has two keys. The first is "feedback", a text of one to five sentences: name the parts of the work that speak for \
it, or what has to change in it. The second is "decision", one of the words "approve" and "reject"."""
SCHEMA = object_of({"feedback": TEXT, "decision": one_of(["approve", "reject"])})
FEEDBACK_LENGTH = 4_000
FEWEST_WORDS = 2


@dataclass(frozen=True)
class WorkToReview:
    """Input of a critic's prompt. `work` as submitted; `checked`: what code found out about each claim.

    For a plan: existing `sources` and `tools`. For an answer: `in_no_claim`, its numbers and names that are in no
    claim; `not_used`, results and claims that it does not use, with the expert's reasons; `left_out`, research steps
    that a person skipped.
    """

    question: str
    step: Any
    work: Any
    checked: Sequence[dict[str, Any]] = ()
    sources: Sequence[dict[str, str]] = ()
    tools: Sequence[str] = ()
    in_no_claim: Sequence[str] = ()
    not_used: Sequence[dict[str, Any]] = ()
    left_out: Sequence[str] = ()
    feedback: Sequence[dict[str, str]] = ()


class _CriticAnswer(InquiryAnswer):
    feedback: str
    decision: str


def critic_messages(critic: InquiryStage, of: WorkToReview, mark: str | None = None, left_out: str = "") -> Messages:
    return role_messages(ROLE.format(asked=ASKED[critic]), FORM, _material(of), mark, left_out=left_out)


OPTIONAL = ("sources", "tools", "in_no_claim", "not_used", "left_out")  # not in the prompt if empty


def _material(of: WorkToReview) -> dict[str, Any]:
    return {name: value for name, value in asdict(of).items() if value or name not in OPTIONAL}


def instructions(messages: Sequence[dict[str, str]]) -> str:
    """Return our instructions in a prompt, which a review must not repeat. The questions about the work are not among
    them: a review may answer in their words."""
    return instructions_of(messages, but=ASKED.values())


def _only_asks(feedback: str) -> bool:
    """Tell whether the feedback only repeats what the critic was asked."""
    sentences = _sentences(feedback)
    return bool(sentences) and sentences <= {one for asked in ASKED.values() for one in _sentences(asked)}


def _sentences(text: str) -> set[tuple[str, ...]]:
    return {tuple(words(one)) for one in re.split(r"[.?!:]", text) if words(one)}


def read_review(text: str) -> WorkReviewed:
    answer = parse_answer(_CriticAnswer, text)
    feedback = required_text(answer.feedback, "feedback", FEEDBACK_LENGTH)
    if answer.decision not in ("approve", "reject"):
        raise ValueError(f"“{answer.decision[:40]}” is no decision. Write approve or reject.")
    if _only_asks(feedback):
        raise ValueError("“feedback” repeats what you were asked. Answer it, about this piece of work.")
    if len(feedback.split()) < FEWEST_WORDS:
        raise ValueError("“feedback” is one word. Say what speaks for it, or what has to change.")
    return WorkReviewed(answer.decision == "approve", feedback)
