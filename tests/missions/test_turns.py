"""Who steps when: so many at once, whoever has waited longest first, and nobody for ever."""

import asyncio
import sys
from collections import defaultdict

import pytest

from engine.llm.errors import RunFailed
from engine.runtime.suspension import Suspend
from missions.turn_scheduler import TurnScheduler


class ScriptedCrew:
    """Each has so many steps to do, or what its last one raises."""

    def __init__(self, steps):
        self.steps, self.done, self.at_work, self.most = dict(steps), [], 0, 0
        self.raises = {}
        self.slow = defaultdict(int)

    async def due(self, beside, somebody_waits):
        could = [one for one, left in self.steps.items() if left and one not in beside]
        return sorted(could, key=lambda one: [*self.done[::-1], one].index(one), reverse=True)

    async def step(self, number):
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        for _ in range(1 + self.slow[number]):
            await asyncio.sleep(0)
        self.at_work -= 1
        self.steps[number] -= 1
        self.done.append(number)
        if not self.steps[number] and number in self.raises:
            raise self.raises[number]


def taken(crew, places=2):
    asyncio.run(TurnScheduler(places, crew.due, crew.step).run_until_idle())
    return crew


def test_one_that_goes_on_long_keeps_no_third_from_its_turn():
    crew = taken(ScriptedCrew({1: 40, 2: 40, 3: 1}))
    assert crew.done.index(3) < 4
    assert (len(crew.done), crew.most) == (81, 2)


def test_beside_a_slow_step_the_others_take_turns():
    crew = ScriptedCrew({1: 1, 2: 3, 3: 3})
    crew.slow[1] = 50
    assert taken(crew).done == [2, 3, 2, 3, 2, 3, 1]


def test_whoever_waits_is_left_alone_until_nobody_else_can_go_on():
    crew = ScriptedCrew({1: 1, 2: 5})
    crew.raises[1] = Suspend("for a gate")
    with pytest.raises(Suspend, match="for a gate"):
        taken(crew)
    assert sorted(crew.done) == [1, 2, 2, 2, 2, 2]


def test_after_a_failure_siblings_end_their_step_and_nothing_begins():
    crew = ScriptedCrew({1: 1, 2: 5})
    crew.slow[2] = 9
    crew.raises[1] = RunFailed("no", "It failed.")
    with pytest.raises(RunFailed):
        taken(crew)
    assert crew.done == [1, 2]


def test_who_is_cancelled_leaves_nobody_at_work():
    crew = ScriptedCrew({1: 1})
    crew.slow[1] = sys.maxsize

    async def cancelled():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(TurnScheduler(2, crew.due, crew.step).run_until_idle(), 0.05)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(cancelled())
