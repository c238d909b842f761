"""History of debates: its filters and table rows, in addition to those of every history."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, cast
from uuid import UUID

from django import forms
from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet, Subquery

from engine.llm.providers import is_rehearsal
from runs.procedure import filters, spec

from .analysis.ends import because_in_words, no_decision_in_words
from .models import (
    WORD_LENGTH,
    Debate,
    DebateFlag,
    DebateMember,
    DebateMessage,
    DebateOption,
    DebateQuerySet,
    Panel,
    PanelOption,
    SteeringAction,
)
from .page.sentences import RULES, count_noun
from .page.view_model import NO_VERDICT, OptionStyle, option_styles
from .rules.outcome import NO_DECISION, DecisionRule
from .rules.state import ABSTAIN, MessageKind, SteeringKind, TurnReason, VerdictStatement, changes_of

OFFERED = 40  # maximum number of option words


class AnyOutcomeField(forms.ChoiceField):
    """A choice field that offers the panels' options and accepts any other word."""

    def valid_value(self, value: Any) -> bool:
        return len(str(value)) <= WORD_LENGTH


class DebateHistoryForm(filters.RunHistoryForm):
    panel = forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None, error_messages={"invalid_choice": "There is no such panel."}
    )
    flag = forms.ChoiceField(
        required=False,
        label="What came about",
        choices=[("", "Anything"), *DebateFlag.choices],
        error_messages={"invalid_choice": "There is nothing of that kind to look for."},
    )
    sets = ("panel", "flag")

    def __init__(self, data: Mapping[str, Any], standings: Sequence[str], people: filters.People = ()) -> None:
        super().__init__(data, standings, people)
        asked = str(data.get("outcome") or "")
        self.fields["outcome"] = AnyOutcomeField(required=False, choices=lambda: list(_outcomes(asked, standings)))
        panel = cast(forms.ChoiceField, self.fields["panel"])
        # lazy: queried only if the choices are shown or validated
        panel.choices = lambda: [("", "All panels"), *panels()]
        self.order_fields(["q", "outcome", *self.sets])


def panels() -> list[tuple[int, str]]:
    """Return id and name of all panels that are available or have debated."""
    debated = Exists(Debate.objects.filter(panel_version__panel=OuterRef("pk")))
    found = Panel.objects.filter(Q(archived=None) | debated).order_by("name")
    return list(found.values_list("pk", "name"))


def _outcomes(asked: str, standings: Sequence[str]) -> list[tuple[str, str]]:
    """Return the choices: the options of the current panels, then outcomes and statuses without an option."""
    current = Panel.objects.filter(archived=None).values("current")
    now = PanelOption.objects.filter(version__in=current).order_by("word")
    words = [*now.values_list("word", flat=True).distinct()[:OFFERED], NO_DECISION, *standings]
    known = dict.fromkeys([*words, asked] if asked else words)
    return [("", "All outcomes"), *((word, outcome_label(word)) for word in known)]


def outcome_label(outcome: str) -> str:
    """Return an outcome for lists: words in one case are capitalized, mixed case stays."""
    if outcome == NO_DECISION:
        return "No decision"
    return outcome.capitalize() if outcome in (outcome.upper(), outcome.lower()) else outcome


UNDECIDED_ICON = "stopped"


@dataclass(frozen=True)
class SummarySeat:
    name: str
    look: OptionStyle


@dataclass(frozen=True, kw_only=True)
class DebateSummary(spec.ListSummary):
    """`said`: number of members' messages; `changes`: number of changes of position."""

    seats: tuple[SummarySeat, ...]
    said: int
    changes: int

    @property
    def seats_in_words(self) -> str:
        stands = ", ".join(f"{seat.name}: {seat.look.word.lower()}" for seat in self.seats)
        return f"{count_noun(len(self.seats), 'member')}. {stands}"

    @property
    def in_figures(self) -> str:
        return f"{count_noun(self.said, 'message')}, {count_noun(self.changes, 'change')}"


def prefetch_for_list(rows: QuerySet[Debate]) -> QuerySet[Debate]:
    """Load what every list needs, with the number of messages."""
    newest = DebateMessage.objects.filter(debate=OuterRef("pk")).order_by().values("debate")
    said = Subquery(newest.annotate(newest=Max("clock")).values("newest"))
    return rows.select_related("run__owner", "panel_version").defer("question").annotate(said=said)


def debate_summaries(debates: Sequence[Debate]) -> dict[UUID, DebateSummary]:
    """Return the table rows of debates that were read with `prefetch_for_list`, in three more queries."""
    pks = [debate.pk for debate in debates]
    looks, seated, stated = option_styles_by_debate(pks), _seated(pks), _stated(pks)
    return {one.pk: _glance(one, looks[one.pk], seated[one.pk], stated[one.pk]) for one in debates}


def _glance(
    debate: Any, looks: Mapping[str, OptionStyle], seated: "Sequence[_SummaryMember]", stated: list[VerdictStatement]
) -> DebateSummary:
    stands_by = {one.seat: one.verdict for one in stated}
    return DebateSummary(
        saved=debate.panel_version.name if debate.panel_version else "",
        rehearsal=any(is_rehearsal(one.model) for one in seated),
        signs=option_icons(looks),
        notes=tuple(_notes(debate, stands_by)),
        seats=tuple(SummarySeat(one.name, _look(looks, stands_by.get(one.seat, ""))) for one in seated),
        said=debate.said or 0,
        changes=len(changes_of(stated)),
    )


def _look(looks: Mapping[str, OptionStyle], verdict: str) -> OptionStyle:
    return looks[verdict] if verdict else NO_VERDICT


def _notes(debate: Debate, stands_by: Mapping[int, str]) -> Iterable[str]:
    """Yield why there is no decision, or the size of the minority."""
    if debate.no_decision:
        yield NO_DECISION_IN_WORDS[debate.no_decision]
    elif debate.run.outcome:
        yield from ["advises"] if debate.advisory else []
        apart = sum(verdict not in (debate.run.outcome, ABSTAIN) for verdict in stands_by.values())
        yield from [f"minority of {apart}"] if apart else []


NO_DECISION_IN_WORDS = {
    "tie": "a tie",
    "too_few": "too few for one",
    "quorum": "no quorum",
    "no_rule": "no rule was asked for",
}


# ---- queries ----------------------------------------------------------------------------------------------


def option_styles_by_debate(pks: Sequence[UUID]) -> Mapping[UUID, Mapping[str, OptionStyle]]:
    options: Mapping[UUID, list[DebateOption]] = defaultdict(list)
    for option in DebateOption.objects.filter(debate__in=pks).order_by("debate", "number"):
        options[option.debate_id].append(option)
    return {pk: option_styles(options[pk]) for pk in pks}


def option_icons(looks: Mapping[str, OptionStyle]) -> Mapping[str, str]:
    """Return the icons of all possible outcomes."""
    options = {word: look.state for word, look in looks.items() if word not in ("", ABSTAIN)}
    return options | {NO_DECISION: UNDECIDED_ICON}


@dataclass
class _SummaryMember:
    seat: int
    name: str
    model: str


def _seated(pks: Sequence[UUID]) -> Mapping[UUID, list[_SummaryMember]]:
    found: Mapping[UUID, list[_SummaryMember]] = defaultdict(list)
    members = DebateMember.objects.filter(debate__in=pks, kind=MessageKind.MEMBER).order_by("debate", "seat")
    for debate, seat, name, model in members.values_list("debate", "seat", "name", "model"):
        found[debate].append(_SummaryMember(seat, name, model))
    return found


def _stated(pks: Sequence[UUID]) -> Mapping[UUID, list[VerdictStatement]]:
    """Return the stated verdicts of each debate in order, without those of challenges, which are not the member's
    own."""
    said = ("debate", "place", "member__seat", "verdict__word", "abstained")
    is_stated = Q(verdict__isnull=False) | Q(abstained=True)
    messages = (
        DebateMessage.objects.with_entry_rows()
        .filter(is_stated, debate__in=pks)
        .exclude(turn__why=TurnReason.CHALLENGE)
        .order_by()
    )
    left = SteeringAction.objects.filter(is_stated, debate__in=pks, act=SteeringKind.WITHDRAW).order_by()
    # a withdrawal after a message comes between that message and the next one
    stated = messages.annotate(place=2 * F("number")), left.annotate(place=2 * F("after") + 1)
    rows = stated[0].values_list(*said).union(stated[1].values_list(*said), all=True)
    found: Mapping[UUID, list[VerdictStatement]] = defaultdict(list)
    for debate, place, seat, word, abstained in rows:
        found[debate].append(VerdictStatement(place, seat, ABSTAIN if abstained else word))
    return defaultdict(list, {pk: sorted(some, key=attrgetter("number")) for pk, some in found.items()})


TABLE_HEADERS = (
    ["question", "panel", "panel version", "rule"],
    ["no decision", "because", "tally", "members", "verdicts", "messages", "changes"],
)


def prefetch_for_table() -> DebateQuerySet:
    """Load what the state is computed from, without the texts of messages."""
    lists = ("options", "members__first", "turns", "steers", Debate.objects.with_entry_rows())
    return Debate.objects.select_related("run__owner", "panel_version").prefetch_related(*lists)


def table_columns(debate: Debate) -> tuple[Sequence[object], Sequence[object]]:
    version, course = debate.panel_version, debate.shown_state
    panel = [version.name, version.number] if version else ["", ""]
    asked = [debate.question, *panel, RULES[DecisionRule(debate.rule)]]
    outcome, called = debate.result(course), {one.seat: one.name for one in debate.seated}
    tally = ", ".join(f"{option} {number}" for option, number in outcome.tally.items())
    undecided = no_decision_in_words(debate.rule, outcome) if debate.no_decision else ""
    names = ", ".join(called.values())
    verdicts = ", ".join(_said(course.verdict_of.get(one.seat, "")) for one in debate.seated)
    came = [undecided, because_in_words(course, called), tally, names, verdicts, course.clock, len(course.changes)]
    return asked, came


def _said(verdict: str) -> str:
    return {"": "none", ABSTAIN: "abstains"}.get(verdict, verdict)
