"""What a table says of a debate beside what it says of any run."""

from collections.abc import Sequence

from .models import Debate, DebateQuerySet
from .rules.course import ABSTAIN

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
    asked = [debate.question, version.name if version else "", version.number if version else "", debate.rule]
    tally = ", ".join(f"{option} {number}" for option, number in debate.come_to(course).tally.items())
    names = ", ".join(one.name for one in debate.seated)
    verdicts = ", ".join(_said(course.stands_by.get(one.seat, "")) for one in debate.seated)
    came = [debate.no_decision, debate.ended_because, tally, names, verdicts, course.clock, len(course.changes)]
    return asked, came


def _said(verdict: str) -> str:
    return {"": "none", ABSTAIN: "abstains"}.get(verdict, verdict)
