"""Text of a review's gate, for councils and people. Words of others are indented."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..rules.events import InquiryStage
from .critics import WorkToReview

TITLES = {
    InquiryStage.CRITIC_PLANNER: "Does this plan pass?",
    InquiryStage.CRITIC_RESEARCHER: "Does this research pass?",
    InquiryStage.CRITIC_EXPERT: "Does this answer pass?",
}


@dataclass(frozen=True)
class GateQuestion:
    title: str
    text: str


def gate_question(critic: InquiryStage, of: WorkToReview) -> GateQuestion:
    """Return title and text, uncut: if it is too long for a council, a person decides."""
    claims = (line for one in _claims(of) for line in _claim(*one))
    return GateQuestion(TITLES[critic], "\n".join([*_head(critic, of), *claims, *_beside(of), *_tail(of)]))


def _head(critic: InquiryStage, of: WorkToReview) -> Iterator[str]:
    yield from _part("Question", of.question)
    if of.step:
        yield from _part("Step" if isinstance(of.step, str) else "Steps", of.step)
    if critic is InquiryStage.CRITIC_PLANNER:
        yield from _part("Steps of research", of.work.get("research") or ["none"])
        yield from _part("Steps of the expert", of.work.get("expert", []))
        yield from _part("Sources that there are", [f"{one['kind']}: {one['title']}" for one in of.sources] or ["none"])
        yield from _part("Tools that there are", ", ".join(of.tools) or "none")
        return
    yield from _part("Result" if critic is InquiryStage.CRITIC_RESEARCHER else "Answer", of.work.get("text", ""))
    if not of.work.get("found", True):
        yield "It says that this cannot be found or answered."
    if of.work.get("reasoning"):
        yield from _part("Reasoning", of.work["reasoning"])


def _beside(of: WorkToReview) -> Iterator[str]:
    """Yield lines about numbers and names in no claim, unused results, and skipped research steps."""
    if of.in_no_claim:
        yield from _part("In no claim of it", ", ".join(of.in_no_claim))
    for one in of.not_used:
        yield from _part(f"Not used, result of step {one['step']}", one["result"])
        yield from _part("  why", one["why"] or "no reason is given")
        for text in one["claims"]:
            yield from _part("  its claim", text)
    if of.left_out:
        yield from _part("Steps of research that nobody waited for", of.left_out)


def _tail(of: WorkToReview) -> Iterator[str]:
    for one in of.feedback:
        yield from _part(f"Sent back before, {one['try']}", one["text"])


def _part(name: str, said: Any) -> Iterator[str]:
    yield f"{name}:"
    lines = said if isinstance(said, list | tuple) else [said]
    for number, text in enumerate(lines, 1):
        mark = f"{number}. " if len(lines) > 1 else ""
        yield from (f"    {mark if first == 0 else ''}{line}" for first, line in enumerate(str(text).splitlines()))


def _claims(of: WorkToReview) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    yield from zip(of.work.get("claims", ()), of.checked, strict=True)


def _claim(said: Mapping[str, Any], checked: Mapping[str, Any]) -> Iterator[str]:
    yield from _part(f"Claim {checked['claim']}", said["text"])
    for quote, source in zip(said["quotes"], checked["quotes_found_in"], strict=True):
        yield from _quote(source, quote["quote"])
    for one in checked.get("rests_on", ()):
        yield from _part(f"  rests on claim {one['claim']}", one["text"])
        for quote in one["quotes"]:
            yield from _quote(quote["source"], quote["quote"])
    for step in checked.get("calculated", ()):
        yield from _part("  calculated", step)
    yield from (f"  flag: {flag}" for flag in checked.get("flags", ()))
    if checked["has_numbers_without_quote"]:
        yield "  has a number that stands in none of its quotes"


def _quote(source: str, words: str) -> Iterator[str]:
    yield "  quotes, found word by word:"
    yield from (f"    {line}" for line in f"{source}: “{words}”".splitlines())
