"""What a run was asked before it went on, and who said what: as its record tells it."""

from collections.abc import Iterator
from dataclasses import dataclass

from engine.models import Gate, GateDecision

from .words import shown_name

STATES = {  # how a gate stands, in a record
    Gate.State.PENDING: "waits for an answer",
    Gate.State.VOID: "not asked any more",
    Gate.State.FAILED: "nobody decided",
}
SAID = {"approve": "approved", "reject": "rejected", "answer": "answered", "override": "overrode the council"}
SAID |= {"look": "looked at what the council says before it was shown", "expire": "let its time go by"}
SAID |= {"turn": "came to nothing, and persons were asked", "fail": "came to nothing"}


@dataclass(frozen=True)
class ShownSaid:
    head: str
    text: str


@dataclass(frozen=True)
class ShownGate:
    heading: str
    facts: str
    text: str
    digest: str
    whole: str
    said: tuple[ShownSaid, ...]


def shown(gate: Gate) -> ShownGate:
    title, state = gate.title or gate.step, STATES.get(gate.State(gate.state), gate.state)
    again = f", asked again, number {gate.number}" if gate.number > 1 else ""
    digest = gate.digest if gate.text else ""
    said = tuple(_said(gate, one) for one in gate.decisions.all())
    return ShownGate(f"{title}{again}: {state}", " · ".join(_facts(gate)), gate.text, digest, gate.whole, said)


def _facts(gate: Gate) -> Iterator[str]:
    yield f"gate {gate.pk}"
    if gate.asks_persons:
        yield f"asked {shown_name(gate.asked)}" if gate.asked else "asked the person who started it"
    if gate.policy.get("council"):
        yield f"asked the council {gate.policy['council']}"
    yield f"{gate.made:%d %b %Y, %H:%M:%S} UTC"
    if gate.used:
        yield f"used at {gate.used:%H:%M:%S} UTC"


def _said(gate: Gate, one: GateDecision) -> ShownSaid:
    who = shown_name(one.by) if one.by else "Nobody"
    sentence = next((choice["sentence"] for choice in gate.choices if choice["word"] == one.choice), "")
    chosen = f": {sentence}" if sentence else ""
    text = one.text or (one.answer if isinstance(one.value, str) else "")
    return ShownSaid(f"{who} {SAID.get(one.decision, one.decision)}{chosen}, {one.made:%d %b %Y, %H:%M:%S} UTC", text)
