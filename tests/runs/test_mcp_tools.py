"""What the tools of our MCP server take is put together once."""

from runs.mcp import calls


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
