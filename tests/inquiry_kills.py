"""A rough time for inquiries: whoever performs them is killed at random and at each fault point.

    python -m tests.inquiry_kills --kills 200 --database postgres

Two workers answer rehearsed questions from documents, with a council that lets each result pass and a person who lets
the answer pass, until so many have been killed; then what is left must end by itself. Exit status 0 if each inquiry is
the one that was performed undisturbed, with the same orders, moves, quotes and answer, no use of a tool was done twice,
and every record is intact, also for the verifier that others run.
"""

import argparse
import sys
from collections import Counter
from typing import Any

from tests.killed import LEASE, Killed, claims_of
from tests.stage import DATABASES, Stage, stage

QUESTION = "How is a judgement approved by its three agents?"
COUNCIL = "Passing"

PARTS = ("orders", "moves", "claims", "tools", "end")
Story = tuple[Any, ...]


def main(options: argparse.Namespace) -> bool:
    with stage(options.database, MAGI_ENGINE_LEASE=f"{LEASE:g}") as place:
        asking = Asking(place, options.seed)
        undisturbed = asking.performed()
        print(f"undisturbed: {len(undisturbed[0])} orders, {len(undisturbed[1])} moves", flush=True)
        asking.at_random(options.kills, options.pace)
        if options.points:
            asking.at_each_point()
        return judge(asking.made, undisturbed)


class Asking(Killed):
    called = "inquiries"
    seldom = ("claim", "outcome", "tool", "gate", "park")
    not_passed = ("expiry", "rest", "child", "tool-open")  # a gate makes its council; what reads is one commit

    def __init__(self, place: Stage, seed: int) -> None:
        from judgements.models import Council

        super().__init__(place, seed)
        seats = [{"name": name, "model": "rehearsal/instant", "criteria": "Approve everything."} for name in "ABC"]
        Council.objects.found(name=COUNCIL, owner=None, agents=[{**one, "fallback": ""} for one in seats])

    def submit(self) -> Any:
        from inquiries.examples import about_magi
        from inquiries.models import POSTS
        from inquiries.procedure import submit

        critics = {"critic_researcher": {"kind": "council", "council": COUNCIL}, "critic_expert": {"kind": "person"}}
        models = dict.fromkeys(POSTS, "rehearsal/instant")
        asked = {"question": QUESTION, "models": models, "critics": critics, "documents": about_magi()[:2]}
        self.made.append(submit(owner=self.person, **asked).pk)
        return self.made[-1]

    def decide(self) -> None:
        from engine import gates
        from engine.models import Gate

        for gate in Gate.objects.whole().pending().filter(run__in=self.made):
            if not gate.policy.get("council"):
                gates.decide(gate.pk, self.person, "approve")

    def story_of(self, pk: Any) -> Story:
        return story_of(pk)


def story_of(pk: Any) -> Story:
    """All that must be the same whoever dies."""
    from engine.models import ToolCall
    from inquiries.models import Inquiry

    row = Inquiry.objects.whole().get(pk=pk)
    orders = [(one.kind, one.station, one.place, one.decision, one.reply, one.feedback) for one in row.ordered]
    moves = [(one.key, one.tool, one.arguments, one.result, one.done, one.refused) for one in row.moves.all()]
    claims = [(one.number, one.text, [q.parts for q in one.quotes.all()]) for one in row.claims.all()]
    done = ToolCall.objects.filter(run=pk, status=ToolCall.Status.DONE).values_list("step", "tool", "output")
    return orders, moves, claims, sorted(done), (row.answer, row.trace, row.run.status, row.run.outcome)


def judge(pks: list[Any], undisturbed: Story) -> bool:
    """Print what is wrong, and how much was done."""
    from engine.evidence.audit import verify_all
    from engine.models import Gate, ModelCall
    from tests.inquiries.offline import entries_of_all, problems

    wrong: Counter[str] = Counter()
    for pk in pks:
        for part, here, there in zip(PARTS, story_of(pk), undisturbed, strict=True):
            if here != there:
                wrong[part] += 1
                print(f"{pk}: other {part}:\n  {here}\n  {there}", file=sys.stderr)
    faults = [
        *verify_all().faults,
        *(f"{pk}: {one}" for pk, said in entries_of_all().items() for one in problems(said)),
    ]
    figures = {
        "inquiries": len(pks),
        "claims": claims_of(pks),
        "calls": ModelCall.objects.count(),
        "calls cut": ModelCall.objects.filter(status=ModelCall.Status.INTERRUPTED).count(),
        "gates": Gate.objects.count(),
        "wrong": dict(wrong),
        "faults": faults,
    }
    print(", ".join(f"{name} {value}" for name, value in figures.items()))
    return not wrong and not faults


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--pace", type=float, default=0.5, help="seconds between kills, about")
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--points", action="store_true", help="also die at each fault point")
    sys.exit(0 if main(parser.parse_args()) else 1)
