"""What waits for whom, and what is to be seen and said there: for pages, API and commands."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.urls import reverse

from engine.gates import author_names, may_decide, may_look, may_override, offered, own_words, reaches_out
from engine.models import Gate, GateDecision, Run
from engine.models.gates import Decision, GateQuerySet, in_order

from .face import Face, face_of, faces, snapshot_of
from .rights import SEE, User

MOST = 50  # on a page
HASH = re.compile(r"\b([0-9a-f]{10})[0-9a-f]{50}([0-9a-f]{4})\b")
UNFOLDED = 20_000  # characters of a text on the page of its gate; what comes after them is folded there
GLIMPSE = 240  # characters of what is asked about, in a list
DONE = {"approved": "approve", "rejected": "reject", "answered": "approve", "pending": "pending"}


@dataclass(frozen=True)
class Option:
    """One thing that can be said at a gate: a decision, with a word of the procedure's own where it has one."""

    decision: str
    word: str
    sentence: str

    @property
    def value(self) -> str:
        return f"{self.decision} {self.word}".strip()


def options(gate: Gate, user: Any) -> Iterator[Option]:
    """What this person can say there."""
    may = [one for one in offered(gate) if one != Decision.OVERRIDE] if may_decide(gate, user) else []
    face, named = face_of(gate.run), {one["decision"] for one in gate.choices}
    words, own, refused = face.words(gate), choices_left(gate), face.refused_at(gate)
    for decision in [*may, *([Decision.OVERRIDE] if may_override(gate, user) else [])]:
        yield from (Option(**one) for one in own if one["decision"] == decision)
        if decision not in named and decision in words and (decision, "") not in refused:
            yield Option(decision, "", words[decision])


def choices_left(gate: Gate) -> list[dict[str, str]]:
    """The procedure's own choices there, of a gate that waits without those that would be refused now: what no page
    offers no other interface does."""
    if not gate.pending or not gate.choices:
        return gate.choices
    refused, may = face_of(gate.run).refused_at(gate), offered(gate)
    return [one for one in gate.choices if one["decision"] in may and (one["decision"], one["word"]) not in refused]


def said_at(gate: Gate, decided: GateDecision) -> str:
    """As the button said it that was pressed."""
    own = {one["word"]: one["sentence"] for one in gate.choices if one["decision"] == decided.decision}
    return own.get(decided.choice) or face_of(gate.run).words(gate).get(decided.decision, decided.decision)


@dataclass(frozen=True)
class AtCouncil:
    """What a page says of the council at a gate: `said` in a sentence, `address` of its run where it is shown, and
    there what its kind shows of it (`part`, a template for `display`)."""

    said: str
    address: str = ""
    may_look: bool = False
    part: str = ""
    display: Any = None


def council_at(gate: Gate, user: Any) -> AtCouncil | None:
    if not gate.policy.get("council"):
        return None
    name, run = gate.policy["council"], gate.council
    if run is None:
        return AtCouncil(f"The council {name} could not be asked.")
    if not SEE.covers(user, run):
        hidden = "decided; it is shown after you" if run.over else "been asked; what it says is shown after you"
        seen = f"The council {name} has {hidden}." if gate.hides else f"The council {name} was asked."
        return AtCouncil(seen, may_look=may_look(gate, user))
    face = face_of(run)
    said, address = f"The council {name}: {face.shown(run)[1]}.", face.address("live", run.pk)
    if not face.decider_part:
        return AtCouncil(said, address)
    return AtCouncil(said, address, part=face.decider_part, display=face.display(snapshot_of(run)))


def mark_of(gate: Gate) -> str:
    """Another one as soon as something else is to be seen or said there."""
    council = gate.council.status if gate.council and not gate.hides else ""
    return f"{gate.pk} {gate.state} {len(gate.decisions.all())} {council}".strip()


@dataclass(frozen=True)
class Choices:
    """What somebody can say at a gate: what lets it go on, and what does not."""

    ahead: tuple[Option, ...]
    back: tuple[Option, ...]

    @property
    def words_alone(self) -> bool:
        return all(one.decision == Decision.ANSWER for one in self.ahead)

    @property
    def needs_words(self) -> bool:
        """Whether an answer is nothing but what is written."""
        return any(one.decision == Decision.ANSWER and not one.word for one in self.ahead)

    @property
    def usual(self) -> Option | None:
        """The one that stands out: of several answers none does, and to override a council never."""
        first = None if self.words_alone and len(self.ahead) > 1 else next(iter(self.ahead), None)
        return None if first and first.decision == Decision.OVERRIDE else first


def choices(gate: Gate, user: Any) -> Choices:
    found = list(options(gate, user))
    back = tuple(one for one in found if one.decision == Decision.REJECT)
    return Choices(tuple(one for one in found if one not in back), back)


def may_see(gate: Gate, user: User) -> bool:
    """Whoever sees the run or may decide here."""
    return SEE.covers(user, gate.run) or may_decide(gate, user)


@dataclass(frozen=True)
class FoldedText:
    """All of a text: its first lines, and those that a page folds. `lines`: how many these are."""

    begin: str
    rest: str
    lines: int


def folded(text: str) -> FoldedText:
    if len(text) <= UNFOLDED:
        return FoldedText(text, "", 0)
    at = text.rfind("\n", 0, UNFOLDED) + 1 or UNFOLDED
    rest = text[at:]
    return FoldedText(text[:at].removesuffix("\n"), rest, rest.count("\n") + 1)


def is_in_heading(gate: Gate, heading: str) -> bool:
    """Whether that says all of what is asked, which then need not be read twice."""
    text = " ".join(gate.text.split())
    return bool(text) and heading.endswith(text)


def at_gate(gate: Gate, user: Any, typed: Mapping[str, Any]) -> dict[str, Any]:
    """What its page, and its part of a live page, show to this person. `typed`: what was sent and not taken."""
    face = face_of(gate.run)
    return {
        "gate": gate,
        "face": face,
        "heading": face.heading(gate),
        "is_in_heading": is_in_heading(gate, face.heading(gate)),
        "mark": mark_of(gate),
        "exact": folded(gate.text),
        "decisions": [(one, said_at(gate, one)) for one in gate.decisions.all()],
        "options": list(options(gate, user)),
        "choices": choices(gate, user),
        "folds": face.folds(gate),
        "open": gate.pending and not gate.run.over and (may_decide(gate, user) or may_override(gate, user)),
        "council": council_at(gate, user),
        "earlier": face.earlier(gate, user),
        "authors": author_names(gate),
        "own_words": own_words(gate, user) if gate.asks_persons else "",
        "own": face.gate_template(gate),
        "typed": typed.get("text", ""),
        "rejects": typed.get("said", "").startswith(Decision.REJECT),
        "errors": {},
        **face.gate_context(gate, typed),
    }


def seen_by(user: User) -> GateQuerySet:
    """Those that stand in lists: of runs that this person may see."""
    runs = SEE.within(Run.objects.filter(procedure__in=faces()), user)
    return Gate.objects.whole().filter(run__in=runs)


# ---- the page of what waits ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Item:
    """A gate in a list. `act`: what one goes there for."""

    gate: Gate
    face: Face[Any, Any]
    act: str

    @property
    def state(self) -> str:
        return DONE.get(self.gate.state, "none")

    @property
    def named(self) -> str:
        """As a form names it: the gate, and the text that was read."""
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
        text = HASH.sub(r"\1…\2", self.gate.text)
        return text if len(text) <= GLIMPSE else f"{text[: GLIMPSE - 1]}…"

    @property
    def made(self) -> tuple[str, str]:
        """For programs and for people: the templates' own filter takes ten times as long, fifty times on a page."""
        at = self.gate.made
        return at.isoformat(), f"{at.day} {at:%b %Y, %H:%M}"

    @property
    def reminded(self) -> str:
        times = len(self.gate.reminders.all())
        return {1: "once", 2: "twice"}.get(times, f"{times} times")


@dataclass(frozen=True)
class Group:
    name: str
    note: str
    sign: str
    items: Sequence[Item]
    first: Sequence[Item] = ()  # what settles others, where these are put together
    batches: Sequence[Any] = ()  # of those that can be decided together

    @property
    def number(self) -> int:
        return len(self.first) + len(self.items) + sum(len(batch.items) for batch in self.batches)


OUT = ("External action", "Cannot be undone. One by one.", "out", "Read and decide")
HERE = ("Changes something here", "Decides how a run goes on.", "writes", "Look it over")
PASSES = ("Approves work", "Changes nothing: the run continues, or retries the work.", "right", "Read and decide")
QUESTIONS = ("Questions", "Somebody needs your answer.", "quest", "Look and answer")


def group_of(gate: Gate) -> tuple[str, str, str, str]:
    if reaches_out(gate):
        return OUT
    sayable = {one["decision"] for one in gate.choices} | face_of(gate.run).words(gate).keys()
    sayable &= set(offered(gate))
    if Decision.ANSWER in sayable and Decision.APPROVE not in sayable:
        return QUESTIONS
    return PASSES if face_of(gate.run).changes_nothing(gate) else HERE


def groups(gates: Sequence[Gate]) -> list[Group]:
    """By what follows from them, not by their kinds; none without items."""
    found: dict[tuple[str, str, str, str], list[Item]] = {OUT: [], HERE: [], PASSES: [], QUESTIONS: []}
    for procedure in {gate.run.procedure for gate in gates}:
        faces()[procedure].look_at([gate for gate in gates if gate.run.procedure == procedure])
    for gate in gates:
        kind = group_of(gate)
        found[kind].append(Item(gate, face_of(gate.run), kind[-1]))
    return [Group(*kind[:3], _settling_first(items)) for kind, items in found.items() if items]


def _settling_first(items: Sequence[Item]) -> list[Item]:
    """What settles others of its run before the first of these, the rest as it was."""
    first: dict[Any, int] = {}
    for place, one in enumerate(items):
        first.setdefault(one.gate.run_id, place)
    settles = [one.face.comes_first(one.gate) for one in items]
    places = [first[one.gate.run_id] if settles[place] else place for place, one in enumerate(items)]
    return [items[place] for place in sorted(range(len(items)), key=lambda at: (places[at], not settles[at]))]


def for_me(user: Any) -> GateQuerySet:
    return in_order(Gate.objects.for_user(user))


def for_my_groups(user: Any) -> GateQuerySet:
    groups = list(user.groups.values_list("pk", flat=True))  # nothing is looked through for who is in none
    return in_order(Gate.objects.pending().filter(asked_group__in=groups))


def of_others(user: Any) -> GateQuerySet:
    return in_order(Gate.objects.of_others(user))


def decided_by(user: Any) -> GateQuerySet:
    said = Gate.objects.filter(pk__in=GateDecision.objects.filter(by_user=user).values("gate"))
    return said.order_by("-closed", "-pk")


VIEWS: Mapping[str, Any] = {
    "": ("For me", for_me),
    "groups": ("For my groups", for_my_groups),
    "others": ("What I asked of others", of_others),
    "decided": ("Decided", decided_by),
}
