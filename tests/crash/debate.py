"""Debates, which follow from their seed: each must be the one that was held undisturbed with the same seed, message by
message and turn by turn. One member of each takes its time, so that calls are cut in the middle, too.
"""

import argparse
from collections import Counter
from typing import Any

from tests.crash.kill import CONCURRENCY, ChaosCrew, Killed, Story, compared

SEEDS = 3  # different debates; each is held again and again
NAMES = ("Ilse", "Rajiv", "Hana", "Tomás", "Ada")
SLOW = "Hana"
OPTIONS: list[Any] = [{"word": word} for word in ("HIRE", "HIRE LATER", "DO NOT HIRE")]


class Debates(Killed):
    called = "debates"
    parts = ("firsts", "messages", "turns", "end")
    seldom = ("claim", "outcome", "rest")
    not_passed = ("park", "gate", "expiry", "tool", "child")
    lease = 2.0

    @property
    def seeds(self) -> int:
        return max(1, min(SEEDS, self.options.kills))

    def submit(self) -> Any:
        from debates import procedure

        members: list[Any] = [{"name": one, "who": f"{one} looks.", "model": model_of(one)} for one in NAMES]
        asked: dict[str, Any] = {"options": OPTIONS, "members": members, "most": self.options.most}
        question, seed = "Shall we hire her to lead the laboratory?", bytes([len(self.made) % self.seeds]) * 32
        self.made.append(procedure.submit(owner=None, question=question, seed=seed, **asked).pk)
        return self.made[-1]

    def performed(self) -> Story:
        """All seeds that are killed at the same time, for most of it they wait; the first stands for all."""
        with ChaosCrew(self.place, CONCURRENCY) as crew:
            crew.start()
            pks = [self.submit() for _ in range(self.seeds)]
            self.until_over(pks, "what nobody disturbs")
        self.by_seed = [self.story_of(pk) for pk in pks]
        return self.by_seed[0]

    def expected(self, pk: Any, undisturbed: Story) -> Story:
        return self.by_seed[self.made.index(pk) % self.seeds]

    def look_closer(self, wrong: Counter[str]) -> dict[str, Any]:
        from debates.models import DebateMessage

        for pk in self.made:
            numbers = list(DebateMessage.objects.filter(debate=pk).order_by("number").values_list("number", flat=True))
            wrong["gaps"] += numbers != list(range(1, len(numbers) + 1))
        return {"messages": DebateMessage.objects.count()}

    def story_of(self, pk: Any) -> Story:
        """Last words come in any order."""
        from debates.models import Debate, DebateMessage, DebateTurn, FirstVerdict

        firsts = FirstVerdict.objects.filter(member__debate=pk).order_by("member__seat")
        turns = DebateTurn.objects.filter(debate=pk).order_by("number")
        messages = DebateMessage.objects.filter(debate=pk).order_by("number")
        said = [
            (one.kind, one.member and one.member.seat, one.content, one.verdict and one.verdict.word, one.abstained)
            for one in messages.select_related("member", "verdict")
        ]
        last = sorted(one for one in said if one[0] == "closing")
        debate = Debate.objects.select_related("run").get(pk=pk)
        return (
            [(one.member.seat, one.verdict and one.verdict.word) for one in firsts.select_related("member", "verdict")],
            [*(one for one in said if one[0] != "closing"), *last],
            [(one.member.seat, one.why, one.ticket, one.state) for one in turns.select_related("member")],
            (debate.run.status, debate.run.outcome, debate.ended_because),
        )


def model_of(name: str) -> str:
    return "rehearsal/magi" if name == SLOW else "rehearsal/instant"


def play(options: argparse.Namespace) -> bool:
    return compared(Debates, options)
