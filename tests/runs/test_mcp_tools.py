"""What the tools of our MCP server take is put together once."""

import pytest
from asgiref.sync import sync_to_async
from django.test import RequestFactory

from runs.api.refusals import Refusal
from runs.mcp import calls
from tests.callers import bearer


def test_the_list_of_tools_is_made_once_and_is_the_same_each_time(monkeypatch):
    first = calls.tools()
    monkeypatch.setattr(calls, "_schema", lambda asked: 1 / 0)
    assert calls.tools() == first
    assert len(first) > 10


def test_another_set_of_kinds_has_tools_of_its_own(monkeypatch):
    kinds = {name: face for name, face in calls.faces().items() if name == "judgement"}
    monkeypatch.setattr(calls, "faces", lambda: kinds)
    assert {tool.name for tool in calls.tools()} == {
        "request_judgement",
        "list_councils",
        "look",
        "list_runs",
        "cancel",
    }


def test_a_model_lists_runs_in_short():
    (listed,) = (tool for tool in calls.tools() if tool.name == "list_runs")
    assert "full" not in listed.takes["properties"]


@pytest.mark.django_db(transaction=True)
async def test_a_list_is_short_and_has_all_of_one_by_its_name(mira, council):
    request = RequestFactory().post("/mcp", headers=await sync_to_async(bearer)(mira))
    listed, one = [(await calls.do(request, "list_councils", asked)).content for asked in ({}, {"name": council.name})]
    (short,) = listed["results"]
    assert [agent["name"] for agent in short["agents"]] == [agent["name"] for agent in one["agents"]]
    assert ("criteria" in short["agents"][0], bool(one["agents"][0]["criteria"])) == (False, True)
    for wrong in ({"name": "Nobody"}, {"name": 3}, {"full": True}):
        with pytest.raises(Refusal):
            await calls.do(request, "list_councils", wrong)
