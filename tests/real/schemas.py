"""Every schema that goes out with a request, by the name of its form: the exact one, and the plain one below it.

With all tools that there are, and as large as rules let it become.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from debates import prompts as debating
from debates.prompt_context import PromptContext, PromptView
from debates.rules.state import MessageKind, TurnReason, TurnState
from engine.doctor import OK_FORMAT
from engine.llm.response_format import ResponseFormat
from engine.tools import own_tools
from inquiries.procedure import PLAN, REVIEW
from inquiries.prompts import finalizer, moves
from inquiries.rules.limits import CLAIMS, SOURCES
from judgements.procedure import DECISION
from missions.procedure import SHORTER, SUMMARY
from missions.prompts import steps
from plans.prompts import planner, summary
from plans.rules.scheduling import STEPS_IN_ALL
from tests.debates.golden import debate
from tests.debates.held import opened
from toolbox.agent_step import SCHEMA as MOVE
from toolbox.agent_step import AgentAct
from toolbox.agent_step import exact_schema as move_schema

Schema = dict[str, Any]
WRITTEN = (OK_FORMAT, DECISION, PLAN, REVIEW, SHORTER, SUMMARY)


def schemas() -> Iterator[tuple[str, Schema]]:
    """A name may come several times, with a schema each."""
    for form in WRITTEN:
        yield from _of(form)
    for found in (_of_debates(), _of_inquiries(), _of_missions(), _of_plans()):
        yield from found


def _of(form: ResponseFormat[Any] | debating.AnswerSpec) -> Iterator[tuple[str, Schema]]:
    yield form.name, form.schema
    if form.exact_schema:
        yield form.name, form.exact_schema


def _of_debates() -> Iterator[tuple[str, Schema]]:
    for table in (opened(2), debate(9, 200)):
        for view in PromptView:
            yield from _of_debate(replace(table, view=view))


def _of_debate(table: PromptContext) -> Iterator[tuple[str, Schema]]:
    keeper = next(seat for seat, one in table.seats.items() if one.kind == MessageKind.TIMEKEEPER)
    forms = [debating.message_spec(table, TurnState(201, 2, why)) for why in TurnReason]
    forms += [debating.first_verdict_spec(table, 1), debating.timekeeper_spec(table, keeper, "Ten minutes are left.")]
    for form in forms:
        yield from _of(form)


def _arguments() -> Mapping[str, Schema]:
    return {name: tool.schema for name, tool in own_tools().items()}


def _of_inquiries() -> Iterator[tuple[str, Schema]]:
    tools = [moves.ResearchTool(name, "", schema) for name, schema in _arguments().items()]
    sources = [{"number": number} for number in range(1, SOURCES + 1)]
    claims = [moves.ProposedClaim("It is so.", number=number) for number in range(1, 8 * CLAIMS + 1)]
    results = [moves.ResearchResult(step, "", "", claims[step - 1 :: 8]) for step in range(1, 9)]
    left = {"moves": 1, "tokens": 1}
    yield "inquiry-researcher", moves.RESEARCH_SCHEMA
    yield "inquiry-expert", moves.EXPERT_SCHEMA
    yield "inquiry-final", finalizer.SCHEMA
    for known in (sources, []):
        for offered in (tools, tools[:1], []):
            research = moves.ResearchWork("", "", [], {}, [], known, [], [], [], [], left)
            yield "inquiry-researcher", moves.research_schema(research, offered)
            for had in (results, []):
                expertise = moves.ExpertWork("", "", [], had, [], known, [], [], [], [], left)
                yield "inquiry-expert", moves.answer_schema(expertise, offered)


def _of_missions() -> Iterator[tuple[str, Schema]]:
    tools = [steps.AgentPromptTool(name, "", schema) for name, schema in _arguments().items()]
    yield "mission-step", steps.SCHEMA
    for offered in (tools, []):
        for last in (False, True):
            yield "mission-step", steps.exact_schema(offered, last)


def _of_plans() -> Iterator[tuple[str, Schema]]:
    tools = [planner.PromptTool(name, "", "") for name in own_tools()]
    owners = [planner.PromptOwner(f"Agent “{number}”", "", tools) for number in range(1, 10)]
    owners.append(planner.PromptOwner(planner.PERSON, ""))
    fixed = [planner.FixedStep(number, "", "", "", "") for number in range(1, STEPS_IN_ALL // 2 + 1)]
    yield from (("plan", planner.SCHEMA), ("plan-tools", planner.TOOLS_SCHEMA), ("plan-summary", summary.SCHEMA))
    for held in (owners, owners[-1:]):
        for asked in (0, 9):
            brief = planner.PlannerBrief("", held, fixed=fixed, asked=asked, first=len(fixed) + 1)
            yield "plan", planner.exact_schema(brief)
        yield "plan-tools", planner.exact_tools_schema(planner.ToolsBrief("", "", "", held))
    yield "plan-move", MOVE
    for arguments in (_arguments(), {}):
        yield "plan-move", move_schema(arguments, [*AgentAct])
    yield "plan-move", move_schema(_arguments(), [AgentAct.REPLY, AgentAct.GIVE_UP])
