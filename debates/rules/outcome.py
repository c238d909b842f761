"""Outcome of the members' verdicts, by a rule that was stated before. A tie is never drawn."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from .state import ABSTAIN

NO_DECISION = "no_decision"


class DecisionRule(StrEnum):
    PLURALITY = "plurality"
    MAJORITY = "majority"
    TWO_THIRDS = "two_thirds"
    UNANIMOUS = "unanimous"
    MEDIAN = "median"
    NONE = "none"


class NoDecision(StrEnum):
    """Why there is no decision."""

    TIE = "tie"
    TOO_FEW = "too_few"
    QUORUM = "quorum"
    NO_RULE = "no_rule"  # no rule was chosen: the verdicts are the result


@dataclass(frozen=True)
class DebateOutcome:
    """`option` is empty if there is no decision, and `code` says why. `tally` has every option in order; `base` is
    the number of members, whatever they said."""

    option: str
    code: str
    tally: Mapping[str, int]
    abstained: int
    missing: int
    base: int

    @property
    def ahead(self) -> list[str]:
        """The options with the most verdicts."""
        return [option for option, count in self.tally.items() if count == max(self.tally.values())]

    @property
    def middle(self) -> tuple[str, str]:
        """The two middle verdicts, in the order of the options; both are the same if their number is odd."""
        in_order = [option for option, count in self.tally.items() for _ in range(count)]
        return in_order[(len(in_order) - 1) // 2], in_order[len(in_order) // 2]

    @property
    def word(self) -> str:
        """Value of `Run.outcome`."""
        return self.option or NO_DECISION


def outcome_of(rule: str, options: Sequence[str], verdicts: Sequence[str]) -> DebateOutcome:
    """Return the outcome. `verdicts`: for every member an option, ABSTAIN, or empty if it gave none; its length is
    the base."""
    stated = Counter(verdict for verdict in verdicts if verdict and verdict != ABSTAIN)
    tally = {option: stated[option] for option in options}
    option, code = _decided(rule, tally, verdicts)
    return DebateOutcome(option, code, tally, verdicts.count(ABSTAIN), verdicts.count(""), len(verdicts))


def needed(rule: str, outcome: DebateOutcome) -> int:
    """Return the number of verdicts that an option needs, by the rules that require a number."""
    two_thirds, all_of_them = -(-2 * outcome.base // 3), max(2, outcome.base - outcome.abstained)
    return {
        DecisionRule.MAJORITY: outcome.base // 2 + 1,
        DecisionRule.TWO_THIRDS: two_thirds,
        DecisionRule.UNANIMOUS: all_of_them,
    }.get(DecisionRule(rule), 2)


def _decided(rule: str, tally: Mapping[str, int], verdicts: Sequence[str]) -> tuple[str, str]:
    if rule == DecisionRule.NONE:
        return "", NoDecision.NO_RULE
    if 2 * sum(tally.values()) <= len(verdicts):
        return "", NoDecision.QUORUM
    return _RULES[rule](tally, verdicts)


def _leading(tally: Mapping[str, int], needed: float) -> tuple[str, str]:
    """Return the option with the most verdicts if it has at least `needed` and no other has as many, else the
    reason."""
    most = max(tally.values())
    ahead = [option for option, count in tally.items() if count == most]
    if most >= needed:
        return (ahead[0], "") if len(ahead) == 1 else ("", NoDecision.TIE)
    return "", NoDecision.TIE if len(ahead) > 1 else NoDecision.TOO_FEW


def _plurality(tally: Mapping[str, int], verdicts: Sequence[str]) -> tuple[str, str]:
    return _leading(tally, 2)


def _majority(tally: Mapping[str, int], verdicts: Sequence[str]) -> tuple[str, str]:
    return _leading(tally, len(verdicts) // 2 + 1)


def _two_thirds(tally: Mapping[str, int], verdicts: Sequence[str]) -> tuple[str, str]:
    return _leading(tally, 2 * len(verdicts) / 3)


def _unanimous(tally: Mapping[str, int], verdicts: Sequence[str]) -> tuple[str, str]:
    """Decide by unanimity of all members that did not abstain: a member without a verdict did not agree."""
    return _leading(tally, max(2, len(verdicts) - verdicts.count(ABSTAIN)))


def _median(tally: Mapping[str, int], verdicts: Sequence[str]) -> tuple[str, str]:
    in_order = [option for option, count in tally.items() for _ in range(count)]
    lower, upper = in_order[(len(in_order) - 1) // 2], in_order[len(in_order) // 2]
    return (lower, "") if lower == upper else ("", NoDecision.TIE)


_RULES: Mapping[str, Callable[[Mapping[str, int], Sequence[str]], tuple[str, str]]] = {
    DecisionRule.PLURALITY: _plurality,
    DecisionRule.MAJORITY: _majority,
    DecisionRule.TWO_THIRDS: _two_thirds,
    DecisionRule.UNANIMOUS: _unanimous,
    DecisionRule.MEDIAN: _median,
}
