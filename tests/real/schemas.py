"""Every schema that goes out with a request, by the name of its form: the exact one, and the plain one below it.

With all tools that there are, and as large as rules let it become.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from debates import prompts as debating
from debates.rules.course import Kind, Turn, Why
from debates.table import Table, View
from engine.doctor import WELL
from engine.llm.forms import AnswerForm
from engine.tools import own_tools
from inquiries.procedure import PLAN, REVIEW
from inquiries.prompts import finalizer, moves
from inquiries.rules.limits import CLAIMS, SOURCES
from judgements.procedure import DECISION
from missions.procedure import SHORTER, SUMMARY
from missions.prompts import steps
from plans.prompts import closing, planner
from plans.rules.course import STEPS_IN_ALL
from tests.debates.golden import debate
from tests.debates.held import opened
from toolbox.moves import SCHEMA as MOVE
from toolbox.moves import Act
from toolbox.moves import exact_schema as move_schema

Schema = dict[str, Any]
WRITTEN = (WELL, DECISION, PLAN, REVIEW, SHORTER, SUMMARY)


def schemas() -> Iterator[tuple[str, Schema]]:
    """A name may come several times, with a schema each."""
    for form in WRITTEN:
        yield from _of(form)
    for found in (_of_debates(), _of_inquiries(), _of_missions(), _of_plans()):
        yield from found


def _of(form: AnswerForm[Any] | debating.Form) -> Iterator[tuple[str, Schema]]:
    yield form.name, form.schema
    if form.exact_schema:
        yield form.name, form.exact_schema


def _of_debates() -> Iterator[tuple[str, Schema]]:
    for table in (opened(2), debate(9, 200)):
        for view in View:
            yield from _of_debate(replace(table, view=view))


def _of_debate(table: Table) -> Iterator[tuple[str, Schema]]:
    keeper = next(seat for seat, one in table.seats.items() if one.kind == Kind.TIMEKEEPER)
    forms = [debating.form(table, Turn(201, 2, why)) for why in Why]
    forms += [debating.first_form(table, 1), debating.timekeeper_form(table, keeper, "Ten minutes are left.")]
    for form in forms:
        yield from _of(form)


def _arguments() -> Mapping[str, Schema]:
    return {name: tool.schema for name, tool in own_tools().items()}


def _of_inquiries() -> Iterator[tuple[str, Schema]]:
    tools = [moves.Usable(name, "", schema) for name, schema in _arguments().items()]
    sources = [{"number": number} for number in range(1, SOURCES + 1)]
    claims = [moves.Claimed("It is so.", number=number) for number in range(1, 8 * CLAIMS + 1)]
    results = [moves.Result(step, "", "", claims[step - 1 :: 8]) for step in range(1, 9)]
    left = {"moves": 1, "tokens": 1}
    yield "inquiry-researcher", moves.RESEARCH_SCHEMA
    yield "inquiry-expert", moves.EXPERT_SCHEMA
    yield "inquiry-final", finalizer.SCHEMA
    for known in (sources, []):
        for offered in (tools, tools[:1], []):
            research = moves.Research("", "", [], {}, [], known, [], [], [], [], left)
            yield "inquiry-researcher", moves.research_schema(research, offered)
            for had in (results, []):
                expertise = moves.Expertise("", "", [], had, [], known, [], [], [], [], left)
                yield "inquiry-expert", moves.answer_schema(expertise, offered)


def _of_missions() -> Iterator[tuple[str, Schema]]:
    tools = [steps.Offered(name, "", schema) for name, schema in _arguments().items()]
    yield "mission-step", steps.SCHEMA
    for offered in (tools, []):
        for last in (False, True):
            yield "mission-step", steps.exact_schema(offered, last)


def _of_plans() -> Iterator[tuple[str, Schema]]:
    tools = [planner.ToolShown(name, "", "") for name in own_tools()]
    owners = [planner.OwnerShown(f"Agent “{number}”", "", tools) for number in range(1, 10)]
    owners.append(planner.OwnerShown(planner.PERSON, ""))
    fixed = [planner.Fixed(number, "", "", "", "") for number in range(1, STEPS_IN_ALL // 2 + 1)]
    yield from (("plan", planner.SCHEMA), ("plan-tools", planner.TOOLS_SCHEMA), ("plan-summary", closing.SCHEMA))
    for held in (owners, owners[-1:]):
        for asked in (0, 9):
            brief = planner.Brief("", held, fixed=fixed, asked=asked, first=len(fixed) + 1)
            yield "plan", planner.exact_schema(brief)
        yield "plan-tools", planner.exact_tools_schema(planner.ToolsBrief("", "", "", held))
    yield "plan-move", MOVE
    for arguments in (_arguments(), {}):
        yield "plan-move", move_schema(arguments, [*Act])
    yield "plan-move", move_schema(_arguments(), [Act.REPLY, Act.GIVE_UP])
