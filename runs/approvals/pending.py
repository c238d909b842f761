"""Pending gates and the options at each of them, for pages, API and commands."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.urls import reverse

from engine.gate_decisions import (
    author_names,
    may_decide,
    may_override,
    may_read,
    offered_choices,
    own_words,
    reaches_out,
)
from engine.models import Gate, GateDecision, Run
from engine.models.gates import DecisionValue, GateQuerySet, ordered_gates

from ..procedure.spec import ProcedureSpec, snapshot_of, spec_of_run, specs
from ..rights import SEE, User

MAX_ITEMS = 50  # on a page
DIGEST_PATTERN = re.compile(r"\b([0-9a-f]{10})[0-9a-f]{50}([0-9a-f]{4})\b")
UNFOLDED = 20_000  # characters of a text on its gate's page; the rest is collapsed
PREVIEW_LENGTH = 240  # characters of a gate's text in a list
DECIDED_TEXT = {"approved": "approve", "rejected": "reject", "answered": "approve", "pending": "pending"}


@dataclass(frozen=True)
class DecisionOption:
    """One option at a gate: a decision, with a choice of the procedure if it has one."""

    decision: str
    word: str
    sentence: str

    @property
    def value(self) -> str:
        return f"{self.decision} {self.word}".strip()


def options(gate: Gate, user: Any) -> Iterator[DecisionOption]:
    """Yield the options that this user has at the gate."""
    may = [one for one in offered_choices(gate) if one != DecisionValue.OVERRIDE] if may_decide(gate, user) else []
    face, named = spec_of_run(gate.run), {one["decision"] for one in gate.choices}
    words, own, refused = face.button_labels(gate), choices_left(gate), face.refused_at(gate)
    for decision in [*may, *([DecisionValue.OVERRIDE] if may_override(gate, user) else [])]:
        yield from (DecisionOption(**one) for one in own if one["decision"] == decision)
        if decision not in named and decision in words and (decision, "") not in refused:
            yield DecisionOption(decision, "", words[decision])


def choices_left(gate: Gate) -> list[dict[str, str]]:
    """Return the procedure's choices; for a pending gate, without those that would be refused now.

    Pages and all other interfaces offer the same choices.
    """
    if not gate.pending or not gate.choices:
        return gate.choices
    refused, may = spec_of_run(gate.run).refused_at(gate), offered_choices(gate)
    return [one for one in gate.choices if one["decision"] in may and (one["decision"], one["word"]) not in refused]


def decisions_at(gate: Gate, decided: GateDecision) -> str:
    """Return a decision in the words of the button that was pressed."""
    own = {one["word"]: one["sentence"] for one in gate.choices if one["decision"] == decided.decision}
    return own.get(decided.choice) or spec_of_run(gate.run).button_labels(gate).get(decided.decision, decided.decision)


@dataclass(frozen=True)
class CouncilAtGate:
    """The council's state on the page of a gate.

    `address` is that of its run, if it is shown; then `part` is a template for `display`.
    """

    said: str
    address: str = ""
    may_look: bool = False
    part: str = ""
    display: Any = None


def council_state(gate: Gate, user: Any) -> CouncilAtGate | None:
    if not gate.policy.get("council"):
        return None
    name, run = gate.policy["council"], gate.council
    if run is None:
        return CouncilAtGate(f"The council {name} could not be asked.")
    if not SEE.covers(user, run):
        hidden = "decided; it is shown after you" if run.is_ended else "been asked; what it says is shown after you"
        seen = f"The council {name} has {hidden}." if gate.hides else f"The council {name} was asked."
        return CouncilAtGate(seen, may_look=may_read(gate, user))
    face = spec_of_run(run)
    said, address = f"The council {name}: {face.filter_labels(run)[1]}.", face.address("live", run.pk)
    if not face.decider_part:
        return CouncilAtGate(said, address)
    return CouncilAtGate(said, address, part=face.decider_part, display=face.display(snapshot_of(run)))


def digest_mark(gate: Gate) -> str:
    """Return a mark that changes as soon as the gate's page would show or offer something else."""
    council = gate.council.status if gate.council and not gate.hides else ""
    return f"{gate.pk} {gate.state} {len(gate.decisions.all())} {council}".strip()


@dataclass(frozen=True)
class GateChoices:
    """The options of a user at a gate: `ahead` lets the run continue, `back` rejects."""

    ahead: tuple[DecisionOption, ...]
    back: tuple[DecisionOption, ...]

    @property
    def words_alone(self) -> bool:
        return all(one.decision == DecisionValue.ANSWER for one in self.ahead)

    @property
    def needs_words(self) -> bool:
        """Return whether an answer consists only of its text."""
        return any(one.decision == DecisionValue.ANSWER and not one.word for one in self.ahead)

    @property
    def usual(self) -> DecisionOption | None:
        """Return the option to highlight: none of several answers, and never an override of a council."""
        first = None if self.words_alone and len(self.ahead) > 1 else next(iter(self.ahead), None)
        return None if first and first.decision == DecisionValue.OVERRIDE else first


def choices(gate: Gate, user: Any) -> GateChoices:
    found = list(options(gate, user))
    back = tuple(one for one in found if one.decision == DecisionValue.REJECT)
    return GateChoices(tuple(one for one in found if one not in back), back)


def may_see(gate: Gate, user: User) -> bool:
    """Return whether the user may see the run or decide at this gate."""
    return SEE.covers(user, gate.run) or may_decide(gate, user)


@dataclass(frozen=True)
class FoldedLines:
    """A whole text, split into its first lines and `rest`, which a page collapses and which has `lines` lines."""

    begin: str
    rest: str
    lines: int


def folded(text: str) -> FoldedLines:
    if len(text) <= UNFOLDED:
        return FoldedLines(text, "", 0)
    at = text.rfind("\n", 0, UNFOLDED) + 1 or UNFOLDED
    rest = text[at:]
    return FoldedLines(text[:at].removesuffix("\n"), rest, rest.count("\n") + 1)


def is_in_heading(gate: Gate, heading: str) -> bool:
    """Return whether the heading contains the whole text of the gate, so that it is not shown twice."""
    text = " ".join(gate.text.split())
    return bool(text) and heading.endswith(text)


def gate_context(gate: Gate, user: Any, typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context of a gate's page, or its part of a live page, for this user.

    `typed` is a submission that was refused.
    """
    face = spec_of_run(gate.run)
    return {
        "gate": gate,
        "face": face,
        "heading": face.heading(gate),
        "is_in_heading": is_in_heading(gate, face.heading(gate)),
        "mark": digest_mark(gate),
        "exact": folded(gate.text),
        "decisions": [(one, decisions_at(gate, one)) for one in gate.decisions.all()],
        "options": list(options(gate, user)),
        "choices": choices(gate, user),
        "folds": face.is_text_repeated(gate),
        "open": gate.pending and not gate.run.is_ended and (may_decide(gate, user) or may_override(gate, user)),
        "council": council_state(gate, user),
        "earlier": face.earlier(gate, user),
        "authors": author_names(gate),
        "own_words": own_words(gate, user) if gate.needs_people else "",
        "own": face.gate_template(gate),
        "typed": typed.get("text", ""),
        "rejects": typed.get("said", "").startswith(DecisionValue.REJECT),
        "errors": {},
        **face.gate_context(gate, typed),
    }


def gates_seen_by(user: User) -> GateQuerySet:
    """Return the gates for lists: those of runs that this user may see."""
    runs = SEE.within(Run.objects.filter(procedure__in=specs()), user)
    return Gate.objects.with_decisions().filter(run__in=runs)


# ---- lists of pending gates ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class PendingGate:
    """A gate in a list. `act` is the label of its link."""

    gate: Gate
    face: ProcedureSpec[Any, Any]
    act: str

    @property
    def state(self) -> str:
        return DECIDED_TEXT.get(self.gate.state, "none")

    @property
    def named(self) -> str:
        """Return the value in a form: the gate's id and the digest of the text that was read."""
        return f"{self.gate.pk} {self.gate.digest}"

    @cached_property
    def address(self) -> str:
        return reverse("gate", args=[self.gate.pk])

    @property
    def title(self) -> str:
        return self.face.heading(self.gate)

    @property
    def glimpse(self) -> str:
        if is_in_heading(self.gate, self.title):
            return ""
        text = DIGEST_PATTERN.sub(r"\1…\2", self.gate.text)
        return text if len(text) <= PREVIEW_LENGTH else f"{text[: PREVIEW_LENGTH - 1]}…"

    @property
    def made(self) -> tuple[str, str]:
        """Return the time for programs and for people.

        The templates' own filter takes ten times as long, fifty times on a page.
        """
        at = self.gate.made
        return at.isoformat(), f"{at.day} {at:%b %Y, %H:%M}"

    @property
    def reminded(self) -> str:
        times = len(self.gate.reminders.all())
        return {1: "once", 2: "twice"}.get(times, f"{times} times")


@dataclass(frozen=True)
class PendingGroup:
    name: str
    note: str
    sign: str
    items: Sequence[PendingGate]
    first: Sequence[PendingGate] = ()  # gates that settle others, if those are in batches
    batches: Sequence[Any] = ()  # gates that can be decided together

    @property
    def number(self) -> int:
        return len(self.first) + len(self.items) + sum(len(batch.items) for batch in self.batches)


EXTERNAL_GROUP = ("External action", "Cannot be undone. One by one.", "out", "Read and decide")
CONTAINED_GROUP = ("Changes something here", "Decides how a run goes on.", "writes", "Look it over")
WORK_GROUP = ("Approves work", "Changes nothing: the run continues, or retries the work.", "right", "Read and decide")
QUESTIONS = ("Questions", "Somebody needs your answer.", "quest", "Look and answer")


def group_of(gate: Gate) -> tuple[str, str, str, str]:
    if reaches_out(gate):
        return EXTERNAL_GROUP
    sayable = {one["decision"] for one in gate.choices} | spec_of_run(gate.run).button_labels(gate).keys()
    sayable &= set(offered_choices(gate))
    if DecisionValue.ANSWER in sayable and DecisionValue.APPROVE not in sayable:
        return QUESTIONS
    return WORK_GROUP if spec_of_run(gate.run).changes_nothing(gate) else CONTAINED_GROUP


def group_gates(gates: Sequence[Gate]) -> list[PendingGroup]:
    """Group the gates by their consequences, not by their kinds; empty groups are left out."""
    found: dict[tuple[str, str, str, str], list[PendingGate]] = {
        EXTERNAL_GROUP: [],
        CONTAINED_GROUP: [],
        WORK_GROUP: [],
        QUESTIONS: [],
    }
    for procedure in {gate.run.procedure for gate in gates}:
        specs()[procedure].context_url([gate for gate in gates if gate.run.procedure == procedure])
    for gate in gates:
        kind = group_of(gate)
        found[kind].append(PendingGate(gate, spec_of_run(gate.run), kind[-1]))
    return [PendingGroup(*kind[:3], _settling_first(items)) for kind, items in found.items() if items]


def _settling_first(items: Sequence[PendingGate]) -> list[PendingGate]:
    """Move gates that settle others of their run before these; the rest keeps its order."""
    first: dict[Any, int] = {}
    for place, one in enumerate(items):
        first.setdefault(one.gate.run_id, place)
    settles = [one.face.sort_priority(one.gate) for one in items]
    places = [first[one.gate.run_id] if settles[place] else place for place, one in enumerate(items)]
    return [items[place] for place in sorted(range(len(items)), key=lambda at: (places[at], not settles[at]))]


def pending_for(user: Any) -> GateQuerySet:
    return ordered_gates(Gate.objects.for_user(user))


def pending_for_groups(user: Any) -> GateQuerySet:
    # evaluated first, so that users without groups cause no search
    groups = list(user.groups.values_list("pk", flat=True))
    return ordered_gates(Gate.objects.pending().filter(asked_group__in=groups))


def pending_for_others(user: Any) -> GateQuerySet:
    return ordered_gates(Gate.objects.decidable_by_others(user))


def decided_by(user: Any) -> GateQuerySet:
    said = Gate.objects.filter(pk__in=GateDecision.objects.filter(by_user=user).values("gate"))
    return said.order_by("-closed", "-pk")


VIEWS: Mapping[str, Any] = {
    "": ("For me", pending_for),
    "groups": ("For my groups", pending_for_groups),
    "others": ("What I asked of others", pending_for_others),
    "decided": ("Decided", decided_by),
}
