"""What a whole mission may take: of output and disk, and what a park keeps of its money."""

import pytest
from django.contrib.auth.models import User

from engine.models import Run
from engine.tools import ToolRefused
from missions.models import Terminal
from missions.presets import agent_row
from missions.procedure import held_back, submit
from missions.rules import LimitsUsed, MissionLimits, near_limits, reached_limits
from missions.sandbox.bwrap import MIB
from missions.tools.commands import remaining_limits


def test_whoever_has_said_so_much_that_the_limit_is_near_is_told_and_then_has_one_last_step():
    assert near_limits(LimitsUsed(output=90), MissionLimits(output=100)) == ["output"]
    assert reached_limits(LimitsUsed(output=100), MissionLimits(output=100)) == "output"


def test_a_command_gets_what_the_others_have_left_of_the_output(settings, tmp_path):
    settings.MISSIONS_DIR = tmp_path
    ended = Terminal(size=3 * MIB, ended="now")
    assert remaining_limits(MissionLimits(output=5, disk=7), [ended]) == {"output": 2 * MIB, "disk": 7 * MIB}
    with pytest.raises(ToolRefused, match="5 MiB"):
        remaining_limits(MissionLimits(output=5), [ended, ended])


@pytest.mark.django_db
def test_a_park_keeps_the_money_of_one_last_step(mira: User, settings):
    settings.PROVIDERS = {"paid": {"base_url": "http://127.0.0.1:9/v1", "api_key": "", "prices": {"*": (1, 1)}}}
    row = submit(owner=mira, goal="Say hello.", agents=[agent_row({"name": "Ada"}, "paid/one")])
    assert held_back(row.run) == 0
    Run.objects.filter(pk=row.pk).update(reserved=10**9)
    assert held_back(row.run) == 11_250 * 1_000
