"""Rehearsal of decisions: a stated rule instead of a model, so that the procedure runs without a key.

1. Criteria that say to approve or to reject everything are obeyed.
2. Otherwise each word of the content that is also in the criteria is an argument for it, and each word of doubt counts
   twice against it. Words count from four letters on, compared by their first five letters.
3. If that is even, a checksum of seat, criteria and content decides.
4. From round 2 on, an agent whose two peers both decided the other way in the last round joins them one time in two,
   by the checksum taken with the round. Otherwise it repeats its last decision.

The same criteria and content in the same seats therefore always give the same nine decisions. The examples
(`examples.py`) are played with the words that are written there.
"""

import json
import re
import zlib

from . import prompts
from .examples import example_of
from .prompts import PromptCase
from .rules import AgentDecision

COMMON = set(
    "about after again also another approve because been before being both could does each every from have into "
    "itself just more most much must next only other over reject said same should some such than that their them "
    "then there these they this those through under until upon very were what when where which while will with "
    "within without would your".split()
)
REJECTING_WORDS = set(
    "untested unknown unclear untried urgent risk risky danger dangerous guess maybe secret delete everything "
    "never without nobody broken illegal".split()
)


def answer(messages: list[dict[str, str]]) -> str:
    case = prompts.read_case(messages)
    example = example_of(case)
    if example is None:
        return _as_agreed(*decide(case))
    stumble = "" if prompts.was_asked_again(messages) else example.failure(case.seat, case.round)
    return stumble or _as_agreed(*example.answer(case.seat, case.round))


def _as_agreed(decision: AgentDecision, reason: str) -> str:
    return json.dumps({"reason": reason, "decision": decision}, ensure_ascii=False)


def decide(case: PromptCase) -> tuple[AgentDecision, str]:
    """Return the decision by the stated rule, and a reason that ends with it."""
    if ordered := _ordered(case.criteria):
        return ordered, f"Rehearsal. My criteria leave no choice, they say to {ordered} everything: I {ordered}."
    view, why = _own_view(case)
    decision, because = _among_the_others(case, view)
    return decision, f"Rehearsal. {why} {because} I {decision}."


def _among_the_others(case: PromptCase, view: AgentDecision) -> tuple[AgentDecision, str]:
    """Return the decision after the peers' decisions are considered, and the words that lead to it in the reason."""
    own = [earlier.decision for earlier in case.earlier if earlier.seat == case.seat]
    peers = [e.decision for e in case.earlier if e.round == case.round - 1 and e.seat != case.seat]
    decision = own[-1] if own else view
    if len(peers) < 2 or decision in peers:
        return decision, _unopposed(case, decision == view)
    said = f"In round {case.round - 1} both other agents decided to {peers[0]}"
    if _checksum(case, f"round {case.round}") % 2:
        return peers[0], f"{said}, and that convinces me:"
    if decision != view:
        return decision, f"{said}, but I stay with what convinced me before:"
    return decision, f"{said}, but that is no reason in my criteria:"


def _unopposed(case: PromptCase, own_view: bool) -> str:
    if not own_view:
        return "But the others convinced me before, and I stay with them:"
    return "So" if case.round == 1 else "Nothing that was decided since changes that:"


def _ordered(criteria: str) -> AgentDecision | None:
    said = criteria.casefold()
    if re.search(r"\b(reject everything|always reject|never approve)\b", said):
        return AgentDecision.REJECT
    if re.search(r"\b(approve everything|always approve|never reject)\b", said):
        return AgentDecision.APPROVE
    return None


def _own_view(case: PromptCase) -> tuple[AgentDecision, str]:
    criteria, content = _words(case.criteria), _words(case.content)
    shared = [word for stem, word in content.items() if stem in criteria]
    doubts = [word for word in content.values() if word in REJECTING_WORDS]
    found = f"My criteria say: “{_beginning(case.criteria)}” The content shares with them: {_listed(shared)}."
    found += f" Words of doubt in it: {_listed(doubts)}."
    balance = len(shared) - 2 * len(doubts)
    if balance:
        decision = AgentDecision.APPROVE if balance > 0 else AgentDecision.REJECT
        return decision, f"{found} That speaks {_leaning(decision)} it."
    decision = AgentDecision.APPROVE if _checksum(case) % 2 else AgentDecision.REJECT
    return decision, f"{found} That is even, and a checksum of the two texts speaks {_leaning(decision)} it."


def _leaning(decision: AgentDecision) -> str:
    return "for" if decision == AgentDecision.APPROVE else "against"


def _beginning(text: str) -> str:
    sentence = re.split(r"(?<=[.!?])\s", text.strip(), maxsplit=1)[0]
    return sentence if len(sentence) <= 120 else f"{sentence[:119].rstrip()}…"


def _words(text: str) -> dict[str, str]:
    """Return the words that count by their first five letters, in the order of the text."""
    words = (word for word in re.findall(r"[^\W\d_]{4,}", text.casefold()) if word not in COMMON)
    return {word[:5]: word for word in words}


def _listed(words: list[str]) -> str:
    if not words:
        return "none"
    shown = ", ".join(f"“{word}”" for word in words[:4])
    return f"{shown} and {len(words) - 4} more" if len(words) > 4 else shown


def _checksum(case: PromptCase, more: str = "") -> int:
    # includes the seat, so that three agents with the same criteria need not agree
    return zlib.crc32(f"{case.seat}\n{case.criteria}\n{case.content}\n{more}".encode(errors="backslashreplace"))
