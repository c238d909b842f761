"""Inquiries from documents, with a council that lets each result pass and a person who lets the answer pass: the same
orders, moves, quotes and answer, and no use of a tool was done twice.
"""

import argparse
from typing import Any

from tests.crash.kill import Killed, Stage, Story, compared

QUESTION = "How is a judgement approved by its three agents?"
COUNCIL = "Passing"


class Inquiries(Killed):
    called = "inquiries"
    parts = ("orders", "moves", "claims", "tools", "end")
    offline = "tests.inquiries.offline"
    pace = 0.5
    seldom = ("claim", "outcome", "tool", "gate", "park")
    not_passed = ("expiry", "rest", "child", "tool-open")  # a gate makes its council; what reads is one commit

    def __init__(self, place: Stage, options: argparse.Namespace) -> None:
        from judgements.models import Council

        super().__init__(place, options)
        seats = [{"name": name, "model": "rehearsal/instant", "criteria": "Approve everything."} for name in "ABC"]
        Council.objects.create_first(name=COUNCIL, owner=None, agents=[{**one, "fallback": ""} for one in seats])

    def submit(self) -> Any:
        from inquiries.examples import about_magi
        from inquiries.models import ROLES
        from inquiries.procedure import submit

        critics = {"critic_researcher": {"kind": "council", "council": COUNCIL}, "critic_expert": {"kind": "person"}}
        models = dict.fromkeys(ROLES, "rehearsal/instant")
        asked = {"question": QUESTION, "models": models, "critics": critics, "documents": about_magi()[:2]}
        self.made.append(submit(owner=self.person, **asked).pk)
        return self.made[-1]

    def decide(self) -> None:
        from engine import gate_decisions
        from engine.models import Gate

        for gate in Gate.objects.with_decisions().pending().filter(run__in=self.made):
            if not gate.policy.get("council"):
                gate_decisions.decide(gate.pk, self.person, "approve")

    def story_of(self, pk: Any) -> Story:
        from engine.models import ToolCall
        from inquiries.models import Inquiry

        row = Inquiry.objects.with_assignments().get(pk=pk)
        orders = [
            (one.kind, one.station, one.place, one.decision, one.reply, one.feedback)
            for one in row.assignments_in_order
        ]
        moves = [(one.key, one.tool, one.arguments, one.result, one.done, one.refused) for one in row.moves.all()]
        claims = [(one.number, one.text, [q.parts for q in one.quotes.all()]) for one in row.claims.all()]
        done = ToolCall.objects.filter(run=pk, status=ToolCall.Status.DONE).values_list("step", "tool", "output")
        return orders, moves, claims, sorted(done), (row.answer, row.trace, row.run.status, row.run.outcome)


def play(options: argparse.Namespace) -> bool:
    return compared(Inquiries, options)
