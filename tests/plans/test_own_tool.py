"""What the page says about tools and agents of one's own, tried with its own lines."""

import json
import re

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings as site
from django.core.management import call_command

from engine import gate_decisions
from engine.models import Gate
from engine.tools import get_tool
from plans.models import Team
from tests.acceptance.site import ROOT
from tests.conftest import perform
from tests.plans.scenes import SUMMARY, calls, plan, replies, steps

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = (ROOT / "docs" / "plans.md").read_text().partition("## An agent and a tool of your own")[2]
TOOL, LINE, TEAM, TEST = (block for _, block in re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture
def house(tmp_path, monkeypatch, settings):
    """As somebody has it who has done what the page says."""
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "__init__.py").touch()
    (tmp_path / "house" / "tools.py").write_text(TOOL)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    there = {"SHARED_TOOLS": site.SHARED_TOOLS}
    exec(LINE, there)
    settings.SHARED_TOOLS = there["SHARED_TOOLS"]
    return tmp_path


def test_its_own_test_passes(house, monkeypatch):
    test = {}
    exec(TEST, test)
    test["test_a_notice_is_shown"](house, monkeypatch)


async def test_its_agent_uses_its_tool_once_somebody_has_approved_it(house, mira, models):
    (house / "door.json").write_text(TEAM)
    await sync_to_async(call_command)("team_import", house / "door.json")
    version = (await sync_to_async(Team.objects.with_content().get)(name=json.loads(TEAM)["name"])).current
    planned = steps(("Say that we are closed today.", "Porter", ["hall.show"]))
    used = calls("hall.show", text="Closed today.")
    models.will(site.DEFAULT_MODEL, planned, used, replies("They know."), SUMMARY)
    run = (await sync_to_async(plan)(mira, version, "Tell the hall that we are closed today.")).pk
    await perform(run, models)
    assert not (house / "board.txt").exists()
    await sync_to_async(gate_decisions.decide)(
        (await Gate.objects.aget(run=run, kind="plan")).pk, mira, "approve", "", "all"
    )
    assert (await perform(run, models)).outcome == "done"
    assert (house / "board.txt").read_text() == "Closed today."
    assert (await sync_to_async(get_tool)("hall.show")).effect == "writes"
