"""What schemas of plans, missions and inquiries leave a model to say, and how their requests begin."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from typing import Any

from inquiries.prompts import moves
from missions.prompts import steps
from plans.prompts import agent, planner
from plans.prompts.planner import FixedStep, PlannerBrief, PromptOwner, PromptTool
from toolbox.agent_step import AgentAct, exact_schema

LOOK = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
OWNERS = [PromptOwner("Desk", "", [PromptTool("calendar.find", "reads", "")]), PromptOwner("Person", "")]
RESEARCH = moves.ResearchWork("How long?", "", [], {}, [], [{"number": 3}], [], [], [], [], {"moves": 5, "tokens": 9})
TOOLS = [moves.ResearchTool("ls", "Lists.", LOOK)]


def shapes(schema: dict[str, Any]) -> Iterator[set[str]]:
    yield from (set(one["properties"]) for one in schema.get("anyOf", [schema]))


def test_no_answer_can_be_both_of_two_kinds():
    assert [*shapes(planner.exact_schema(PlannerBrief("Go.", OWNERS)))] == [
        {"thought", "steps"},
        {"thought", "questions"},
    ]
    assert [*shapes(planner.exact_schema(PlannerBrief("Go.", OWNERS, asked=2)))] == [{"thought", "steps"}]
    use = {"thought", "tool", "arguments", "also"}
    assert [*shapes(moves.research_schema(RESEARCH, TOOLS))] == [use, {"thought", "done"}]
    assert [*shapes(moves.research_schema(RESEARCH, []))] == [{"thought", "done"}]
    assert [*shapes(exact_schema({"ls": LOOK}, list(AgentAct)))] == [
        use - {"also"} | {"act"},
        {"thought", "act", "text"},
    ]


def test_an_owner_has_its_own_tools_alone_and_a_person_none():
    [desk, person] = planner.exact_schema(PlannerBrief("Go.", OWNERS))["anyOf"][0]["properties"]["steps"]["items"][
        "anyOf"
    ]
    assert desk["properties"]["tools"]["items"]["enum"] == ["calendar.find"]
    assert person["properties"]["owner"]["enum"] == ["Person"]
    assert "tools" not in person["properties"]


def test_a_quote_is_of_a_source_that_there_is():
    [found, _] = moves.research_schema(RESEARCH, [])["properties"]["done"]["anyOf"]
    quote = found["properties"]["claims"]["items"]["properties"]["quotes"]["items"]
    assert quote["properties"]["source"]["enum"] == [3]


def test_the_last_step_of_a_mission_is_its_finish():
    offered = [steps.AgentPromptTool(name, "", LOOK) for name in ("ls", "finish")]
    assert len([*shapes(steps.exact_schema(offered))]) == 3
    assert steps.exact_schema(offered, last=True)["properties"]["tool_name"]["enum"] == ["finish"]


def test_a_request_begins_as_the_one_before_up_to_what_is_new():
    def common(*requests: list[dict[str, str]]) -> str:
        signs = zip(*("\n".join(one["content"] for one in request) for request in requests), strict=False)
        return "".join(one for one, *others in takewhile(lambda each: len(set(each)) == 1, signs))

    def work(count: int) -> agent.StepWork:
        made = [agent.MadeMove("call", "I look.", "ls", "{}", "", f"result {one}") for one in range(count)]
        tools = [agent.OfferedTool("ls", "Lists.", LOOK)]
        return agent.StepWork("Ada", "", "", "Go.", "Go there.", tools, moves=made, left=9 - count)

    assert "result 3" in common(*(agent.step_messages(work(count), "mark") for count in (4, 5)))
    later = PlannerBrief("Go.", OWNERS, first=2, asked=2, fixed=[FixedStep(1, "Desk", "Look.", "completed", "So.")])
    assert '"task": "Go."' in common(
        planner.planner_messages(PlannerBrief("Go.", OWNERS), "mark"), planner.planner_messages(later, "mark")
    )


def test_what_was_done_before_is_shown_in_the_form_in_which_it_has_to_be_said():
    args = '{"path": "a \\"b\\""}'
    done = steps.PromptStep(1, (), "I look.", "ls", args, "")
    made = agent.MadeMove("call", "I look.", "ls", args)
    requests = [
        steps.step_messages(steps.AgentWork("Ada", "", "", (), True, (), "", [done], (), "", {})),
        agent.step_messages(agent.StepWork("Ada", "", "", "Go.", "Go there.", (), moves=[made])),
        moves.researcher_messages(
            replace(RESEARCH, moves=[moves.ResearchMoveMade(1, "I look.", "ls", args, "")]), TOOLS
        ),
    ]
    assert [f'": {args}' in "".join(one["content"] for one in request) for request in requests] == [True] * 3


def test_an_agent_of_a_mission_is_told_what_arguments_mean_but_not_in_words_of_strangers():
    schema = {"properties": {"expect": {"type": "string", "description": "its digest"}}}
    offered = [steps.AgentPromptTool("ls", "", schema), steps.AgentPromptTool("mcp.ls", "", schema, ours=False)]
    [role, *_] = steps.step_messages(steps.AgentWork("Ada", "", "", (), True, offered, "", [], (), "", {}))
    assert "- ls:  (expect: string = null (its digest))\n- mcp.ls:  (expect: string = null)\n" in role["content"]
