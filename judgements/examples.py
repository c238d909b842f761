"""Three examples to try: content, agents, and the answers of a rehearsal.

Each has the agents of a built-in council. Models judge it like any other text. A rehearsal plays it word by word as
long as content, criteria and all earlier decisions are exactly these; otherwise the stated rules answer
(`rehearsal.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .prompts import PromptCase
from .rules import ROUNDS, SEATS, AgentDecision

APPROVE, REJECT = AgentDecision.APPROVE, AgentDecision.REJECT


@dataclass(frozen=True)
class ExampleAgent:
    """One agent of an example, with its decision and reason for each round. `stumbles`: its first answer in a
    round, which has an invalid form, so that it is asked again."""

    name: str
    criteria: str
    says: Sequence[tuple[AgentDecision, str]]
    stumbles: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class JudgementExample:
    """`key` is the name in URLs, `title` the name on pages."""

    key: str
    title: str
    content: str
    council: str
    parts: Sequence[ExampleAgent]

    def agents(self, model: str) -> list[dict[str, str]]:
        """Return the agents in the form that a new judgement takes."""
        return [{"name": part.name, "model": model, "criteria": part.criteria, "fallback": ""} for part in self.parts]

    def is_of(self, agents: Sequence[Mapping[str, str]]) -> bool:
        """Return whether these are its agents; the models do not matter."""
        trio = [(part.name, part.criteria) for part in self.parts]
        return trio == [(agent["name"], agent["criteria"]) for agent in agents]

    def is_played(self, case: PromptCase) -> bool:
        """Return whether everything in this agent's prompt is from the example."""
        return (
            self.content == case.content
            and self._part(case.seat).criteria == case.criteria
            and all(self.answer(one.seat, one.round) == (one.decision, one.reason) for one in case.earlier)
        )

    def answer(self, seat: str, number: int) -> tuple[AgentDecision, str]:
        return self._part(seat).says[ROUNDS.index(number)]

    def failure(self, seat: str, number: int) -> str:
        """Return the invalid first answer of a round; empty if the first answer is valid."""
        return self._part(seat).stumbles.get(number, "")

    def _part(self, seat: str) -> ExampleAgent:
        return self.parts[SEATS.index(seat)]


def example_of(case: PromptCase) -> JudgementExample | None:
    """Return the example that is being played, or None."""
    return next((example for example in EXAMPLES if example.is_played(case)), None)


def example_by_key(key: str) -> JudgementExample | None:
    return next((example for example in EXAMPLES if example.key == key), None)


TRAVEL = JudgementExample(
    key="travel",
    title="Travel to Japan next week",
    content="I am going to travel to Japan next week.",
    council="Travel and spend",
    parts=(
        ExampleAgent(
            "Budget holder",
            "Approve if the purpose is named, the cost or a credible estimate of it is stated, and it is in proportion "
            "to the purpose. Reject open-ended spending.",
            (
                (
                    REJECT,
                    "One sentence, and neither of the two things that I need is in it: what the journey is for, and "
                    "what it costs. Without a purpose no sum can be in proportion to it, and without a sum the "
                    "spending has no end. I reject.",
                ),
                (
                    REJECT,
                    "B finds the journey safe and C finds it too far for a train. Neither of them has found a purpose "
                    "or a price that I overlooked, and a flight that is booked days ahead is seldom a small sum. "
                    "I reject.",
                ),
                (
                    REJECT,
                    "C misses the purpose by now as well. Three facts would let me judge anew: what for, for how many "
                    "days, at what cost. As it stands I reject.",
                ),
            ),
        ),
        ExampleAgent(
            "Duty of care",
            "Approve if nothing speaks against the safety and health of those who travel, at the place and at the time "
            "named. Reject when the place or the time is not stated.",
            (
                (
                    APPROVE,
                    "Place and time are both stated: Japan, next week. I ask for reasons against safety or health, not "
                    "for proofs in their favour, and the text holds none. I approve.",
                ),
                (
                    APPROVE,
                    "What it costs is A's to ask. My criteria want a place, a time and no danger that speaks against "
                    "them, and I have all three. Whoever goes would do well to leave an address behind, but I cannot "
                    "make that a condition. I approve.",
                ),
                (
                    APPROVE,
                    "C now thinks that a call might do. That may be so, but a journey that could be spared is no less "
                    "safe for that. I approve.",
                ),
            ),
        ),
        ExampleAgent(
            "Climate lead",
            "Reject a flight where a train takes less than six hours or a call would do. Otherwise approve.",
            (
                (
                    APPROVE,
                    "Hardly any train reaches Japan in six hours, so the first half of my rule is out. Somebody means "
                    "to go in person, which I take for a sign that a call would not do. I approve.",
                ),
                (
                    REJECT,
                    "I took going in person for proof that it must be in person. A is right: the text names no purpose "
                    "at all, and for nothing that stands here would a call be too little. I change my mind and "
                    "reject.",
                ),
                (
                    REJECT,
                    "That the journey is safe, as B says again, is nothing that my rule asks about. While nobody says "
                    "what is to be done there, I cannot tell it from a meeting that a call would settle. I reject.",
                ),
            ),
        ),
    ),
)

RELEASE = JudgementExample(
    key="release",
    title="Release on Friday at 16:00",
    content="Release 7.3 of the booking service on Friday at 16:00 UTC\n\n"
    "From this release on prices are rounded for each night and no longer for the whole stay. It ran eleven days in "
    "the test environment, and no fault is open. A flag brings the old version back within eight minutes; no table "
    "changes. One library is new, for decimal numbers: A. Brandt reviewed it on Tuesday. N. Sato, who wrote the "
    "change, has the pager until Sunday at noon.",
    council="Release gate",
    parts=(
        ExampleAgent(
            "Reliability engineer",
            "Approve only if the change can be undone within 15 minutes and somebody who knows it is on call for the "
            "next 24 hours. Reject when either is not stated.",
            (
                (
                    REJECT,
                    "The flag brings the old version back in eight minutes, so that half of my condition is met. On a "
                    "Friday afternoon I look twice for who is there, and I find nobody who is said to be on call. "
                    "I reject.",
                ),
                (
                    APPROVE,
                    "B reads the last sentence to its end: N. Sato has the pager until Sunday at noon. That is 44 "
                    "hours where I ask for 24, and nobody knows a change better than who wrote it. I had missed it. "
                    "Both halves are met, and I approve.",
                ),
                (
                    APPROVE,
                    "Round 2 brought nothing against the way back or the pager. That a guest may see another sum is a "
                    "matter of C's criteria and not of mine. I stay with it: I approve.",
                ),
            ),
        ),
        ExampleAgent(
            "Security reviewer",
            "Approve only if no secret, permission or customer data leaves its present boundary and every new "
            "dependency has been reviewed.",
            (
                (
                    APPROVE,
                    "One dependency is new, and its review has a name and a day: A. Brandt, Tuesday. No secret, "
                    "permission or guest's data goes where it did not go before, and N. Sato, with the pager until "
                    "Sunday at noon, knows what was changed. I approve.",
                ),
                (
                    APPROVE,
                    "A looks for somebody on call, C for a word to the guests. Neither shows me data that leaves its "
                    "place, or a library that nobody has read. My two conditions hold as they did. I approve.",
                ),
                (
                    APPROVE,
                    "Still one library, still reviewed, and still nothing that crosses a boundary. I approve.",
                ),
            ),
        ),
        ExampleAgent(
            "Customer advocate",
            "Reject anything that may show a customer a wrong amount, unless the proposal says how customers will be "
            "told and how it is corrected within one working day.",
            (
                (
                    REJECT,
                    "Rounding night by night changes sums: three nights at 33.335 no longer add up to what was shown "
                    "before. So one amount may stand in the offer and another on the bill, and nothing says who tells "
                    "the guest or by when it is put right. I reject.",
                ),
                (
                    REJECT,
                    "The flag takes the code back, not the bills that are in the post by then. Eight minutes are "
                    "quick, but my condition is about guests, and the text still has no word for them. I reject.",
                ),
                (
                    REJECT,
                    "Two good answers to two other questions. Mine is as open as on first reading: how guests are told "
                    "of a wrong sum, and how it is corrected within a working day. One sentence would have done. "
                    "I reject.",
                ),
            ),
        ),
    ),
)

REFUND = JudgementExample(
    key="refund",
    title="Refund after 40 days",
    content="Refund a coffee grinder in full (EUR 318), though 40 days have passed\n\n"
    "It stopped on day 38, and our shop takes goods back for 30 days. The customer sent a film of it; the serial "
    "number is the one of the order. The maker has confirmed the fault of this series by mail and pays us back for "
    "every grinder that arrives by the end of the month, in four days. The customer hands it over only against the "
    "money. The risk: a mail is no contract, and if the maker does not pay, the EUR 318 are ours to bear.",
    council="Magi",
    parts=(
        ExampleAgent(
            "Melchior",
            "Approve only if the facts that this rests on are stated and can be checked, and its main risk is named. "
            "Reject what rests on a guess that matters.",
            (
                (
                    APPROVE,
                    "Day, sum, serial number, film and the maker's mail are all named, and each of them can be looked "
                    "up. The main risk stands in the last sentence, with its price. Nothing that matters is guessed. "
                    "I approve.",
                ),
                (
                    APPROVE,
                    "C asks why it must be now. The text says so: the maker pays for what arrives by the end of the "
                    "month, and that is four days away. It is a date that can be checked like the rest, so I still "
                    "approve.",
                ),
                (
                    APPROVE,
                    "What is left open is whether the maker keeps to a mail, and that is just the risk that the text "
                    "names. Nothing else has moved. I approve.",
                ),
            ),
        ),
        ExampleAgent(
            "Balthasar",
            "Approve if nobody who has not agreed can come to serious harm. Reject when others could be harmed and "
            "nothing is said about it.",
            (
                (
                    APPROVE,
                    "I look for somebody who would pay for this without having agreed. The maker has owned up to the "
                    "fault, the customer gets the money back, and the shop writes down itself what it may lose. "
                    "Nobody else is touched. I approve.",
                ),
                (
                    APPROVE,
                    "Nobody has named a person that I overlooked. If the money cannot be called back, that is the "
                    "shop's loss, and the shop says so. I approve.",
                ),
                (
                    APPROVE,
                    "Nobody is harmed when a broken grinder is paid back, and what the shop may lose it has weighed. "
                    "I approve.",
                ),
            ),
            stumbles={
                2: "I have read the three decisions of round 1 and stay with mine: nobody is harmed who has not "
                "agreed. Approve."
            },
        ),
        ExampleAgent(
            "Casper",
            "Approve if the aim is clear and the effort fits it. Reject what cannot be undone, unless it says why it "
            "must be done now.",
            (
                (
                    REJECT,
                    "The aim is clear, and a refund is little effort. But money that has gone out does not come back, "
                    "and I do not see why it must go today instead of after the maker has paid. I reject.",
                ),
                (
                    REJECT,
                    "The others find facts, and find no harm; I doubt neither. But neither says why the money has to "
                    "leave before the maker has answered for it, and what cannot be undone needs that. I reject.",
                ),
                (
                    APPROVE,
                    "A gave the reason in round 2 that I asked for. The maker pays only for what arrives "
                    "within four days, and the customer lets go of the grinder only against the money: so it must be "
                    "now, and it says why. I approve.",
                ),
            ),
        ),
    ),
)

EXAMPLES = (RELEASE, TRAVEL, REFUND)
