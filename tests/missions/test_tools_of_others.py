"""A tool of another server in a mission: named where it begins, and asked about as it was classed."""

import pytest
from asgiref.sync import sync_to_async

from engine.models import Gate, ToolCall
from missions import workspace
from missions.forms import submit_values
from missions.procedure import submit
from tests.conftest import need, perform
from tests.missions.scenes import MODEL, finishes, step
from tests.read_gates import steer_as_read

pytestmark = pytest.mark.django_db
NAME = "mcp.others.letter"


@pytest.fixture(autouse=True)
def held(settings):
    settings.PROVIDERS = {"test": {"base_url": "http://127.0.0.1:9/v1", "api_key": ""}}
    need("sandbox", not workspace.missing_programs(), workspace.missing_programs())


def wanted(tool):
    crew = [{"name": "Ada", "tools": [tool, "finish"], "model": MODEL}]
    return submit_values({"goal": "Write to Ben."}, crew=crew)


async def test_it_does_nothing_before_somebody_has_allowed_it(mira, models, classed, folder):
    await classed()
    values, problems = await sync_to_async(wanted)(NAME)
    assert problems == []
    models.will(MODEL, step(NAME, to="Ben"), finishes())
    row = await sync_to_async(submit)(owner=mira, **values)
    assert (await perform(row.pk, models)).status == "waiting"
    assert not folder.calls
    gate = await Gate.objects.aget(run=row.pk)
    await sync_to_async(steer_as_read)(gate.pk, mira, "approve", choice="allow")
    assert (await perform(row.pk, models)).outcome == "done"
    assert (await ToolCall.objects.aget(run=row.pk, tool=NAME)).done
    assert len(folder.calls) == 1


async def test_one_that_nobody_has_classed_is_no_tool_for_agents(others):
    _, problems = await sync_to_async(wanted)(NAME)
    assert ("agents.0.tools", f"There is no tool {NAME} for agents.") in problems
