"""What a table says of a debate beside what it says of any run."""

from collections.abc import Sequence

from .analysis.ends import because_in_words, no_decision_in_words
from .models import Debate, DebateQuerySet
from .rules.course import ABSTAIN
from .rules.outcome import Rule
from .sentences import RULES

HEADS = (
    ["question", "panel", "panel version", "rule"],
    ["no decision", "because", "tally", "members", "verdicts", "messages", "changes"],
)


def tabled() -> DebateQuerySet:
    """With what its course is made of; what was said is left where it is."""
    lists = ("options", "members__first", "turns", "steers", Debate.objects.told())
    return Debate.objects.select_related("run__owner", "panel_version").prefetch_related(*lists)


def columns(debate: Debate) -> tuple[Sequence[object], Sequence[object]]:
    version, course = debate.panel_version, debate.so_far
    panel = [version.name, version.number] if version else ["", ""]
    asked = [debate.question, *panel, RULES[Rule(debate.rule)]]
    outcome, called = debate.come_to(course), {one.seat: one.name for one in debate.seated}
    tally = ", ".join(f"{option} {number}" for option, number in outcome.tally.items())
    undecided = no_decision_in_words(debate.rule, outcome) if debate.no_decision else ""
    names = ", ".join(called.values())
    verdicts = ", ".join(_said(course.stands_by.get(one.seat, "")) for one in debate.seated)
    came = [undecided, because_in_words(course, called), tally, names, verdicts, course.clock, len(course.changes)]
    return asked, came


def _said(verdict: str) -> str:
    return {"": "none", ABSTAIN: "abstains"}.get(verdict, verdict)
