"""How many tokens the requests of each procedure have, for the table in docs/tokens.md; a procedure adds its rows here.

By our own estimate, which says rather too many. "Read anew" is what a server reads that keeps the request before.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from os import path
from typing import Any, NamedTuple

from debates import procedure as debates
from debates import prompts as debating
from debates.prompt_context import PromptContext
from debates.rules.state import TurnReason, TurnState
from engine.llm.fitting import Fitted
from engine.llm.response_format import ChatMessage
from engine.llm.tokens import ANSWER, prompt_tokens, room_of, tokens_of
from engine.tools import own_tools
from inquiries.models import queries as inquiring
from inquiries.prompts import critics, finalizer, moves
from inquiries.prompts import planner as inquiry_planner
from inquiries.rules.events import InquiryStage
from judgements import prompts as judging
from judgements.rules import AgentDecision
from missions.models import queries as pursuing
from missions.models.missions import MissionAgent
from missions.prompts import steps
from missions.tools import NAMES
from plans.models import queries as planning
from plans.prompts import agent, planner, summary
from plans.rules.enums import RevisionCause
from tests.debates.golden import debate

Requests = Sequence[Fitted]
CONTEXTS = (4_096, 8_192, 16_384, 32_768, 65_536, 131_072)
SMALL = "small/8k"  # a model with a declared context of 8,192
RUN = "0b5e7a3c"  # a boundary
LINE = "The supplier keeps a register of what it delivers. "
CONTENT = LINE * 40  # 2,000 characters
CRITERIA = "Approve what is agreed with all whom it concerns and can be taken back. " * 4
REASON = "My criteria ask for an agreement, and the content names who has agreed and until when. " * 4


def long(characters: int) -> str:
    return (LINE * (characters // len(LINE) + 1))[:characters]


class Row(NamedTuple):
    """`made`: the requests of one agent, one after the other, to a model of this name: one of no name reads them all
    whole."""

    name: str
    about: str
    made: Callable[[str], Requests]


def whole(requests: Sequence[Sequence[ChatMessage]]) -> Callable[[str], Requests]:
    return lambda model: [Fitted(list(one)) for one in requests]


# ---- judgements and debates -------------------------------------------------------------------------------


def judgement(version: str, boundaries: Sequence[str]) -> Sequence[Sequence[ChatMessage]]:
    made = [
        judging.EarlierDecision(n, seat, AgentDecision.APPROVE, f"{seat}{n}: {REASON}")
        for n in (1, 2)
        for seat in "ABC"
    ]
    cases = [judging.PromptCase("A", CRITERIA, CONTENT, n, tuple(made[: 3 * n - 3])) for n in (1, 2, 3)]
    return [judging.messages(case, mark, version) for case, mark in zip(cases, boundaries, strict=True)]


def turns(*clocks: int) -> Callable[[str], Requests]:
    return lambda model: [_turn(debate(5, clock), model) for clock in clocks]


def _turn(table: PromptContext, model: str) -> Fitted:
    room = room_of([model])
    fits = partial(debates.fits, room)
    asked, short = debating.in_room(table, TurnState(999, 2, TurnReason.DRAW), None, fits)
    return Fitted(asked, short.sentence)


def judgements_and_debates() -> Iterator[Row]:
    yield Row("judgement", "three rounds, content of 2,000 characters", whole(judgement(judging.VERSION, [RUN] * 3)))
    old = [digit * 32 for digit in "1a7"]
    yield Row("judgement, prompts of version 1", "the same", whole(judgement("1", old)))
    yield Row("debate, before it", "five members", whole([debating.first_verdict_messages(debate(5, 1), 2)]))
    yield Row("debate", "a member's turns after 5, 10, 15 and 19 messages", turns(5, 10, 15, 19))
    yield Row("debate", "after 39 messages, before older ones become lines", turns(39))
    yield Row("debate", "after 200 messages, the most there are", turns(200))
    late = [debate(5, clock) for clock in (60, 65, 70, 75)]
    short = [_turn(table, SMALL) for table in late]
    yield Row("debate, shortened for 8,192", "a member's turns after 60, 65, 70 and 75 messages", lambda model: short)


# ---- inquiries --------------------------------------------------------------------------------------------


class Size(NamedTuple):
    """Characters of the question, of a step, a result, a claim, a quote and of what a tool brings; and how many there
    are of each."""

    question: int
    step: int
    result: int
    claim: int
    quote: int
    brought: int
    sources: int
    steps: int
    claims: int
    quotes: int
    moves: int
    tries: int
    hints: int


USUAL = Size(200, 120, 600, 150, 120, 3_000, 5, 3, 4, 1, 6, 1, 0)
LARGEST = Size(4_000, 400, 4_000, 1_000, 300, 6_200, 200, 8, 12, 3, 40, 2, 3)
READING = [
    moves.ResearchTool(one, own_tools()[one].description, own_tools()[one].schema)
    for one in ("sources.search", "sources.read", "figures.calculate")
]


def inquiries(size: Size, about: str) -> Iterator[Row]:
    names, models = [one.name for one in READING], lambda model: [model]
    brief = inquiry_planner.ResearchBrief(long(size.question), _sources(size, 0), names, "2026-11-27")
    again = inquiry_planner.ResearchBrief(
        *(long(size.question), _sources(size, 0), names, "2026-11-27"),
        former_plans=[inquiry_planner.EarlierResearchPlan([long(size.step)] * size.steps, [long(size.step)] * 2)]
        * size.tries,
        feedback=_feedback(size),
        hints=_hints(size),
    )
    plans = [brief, again]
    yield Row(
        "inquiry, planner", about, lambda model: [inquiring.fit_planner_brief(one, [model], RUN) for one in plans]
    )
    counts = range(size.moves + 1) if size.moves < 10 else (0, 20, size.moves)
    research = [_research(size, count) for count in counts]
    yield Row(
        "inquiry, researcher",
        f"{about}, {len(counts)} of its {size.moves + 1} requests" if size.moves > 9 else f"{about}, 7 moves",
        lambda model: [_asked(moves.researcher_messages, one, model) for one in research],
    )
    expert = [_expert(size, count) for count in range(min(size.moves, 6) + 1)]
    yield Row(
        "inquiry, expert",
        f"{about}, {len(expert)} moves",
        lambda model: [_asked(moves.expert_messages, one, model) for one in expert],
    )
    for critic, work in (
        (InquiryStage.CRITIC_PLANNER, "plan"),
        (InquiryStage.CRITIC_RESEARCHER, "research"),
        (InquiryStage.CRITIC_EXPERT, "answer"),
    ):
        of = _reviewed(size, critic)
        yield Row(
            f"inquiry, critic of {work}",
            about,
            lambda model, critic=critic, of=of: [inquiring.fit_review(critic, of, models(model), RUN)],
        )
    claims = [{"number": number, "text": long(size.claim)} for number in range(size.claims)]
    course = [f"Research {number}: {long(size.result)}" for number in range(size.steps * (size.tries + 1))]
    final = finalizer.ApprovedAnswer(long(size.question), long(size.result), long(size.result), claims, course)
    yield Row("inquiry, finalizer", about, lambda model: [inquiring.fit_finalizer(final, [model], RUN)])


def _asked(told: Callable[..., list[ChatMessage]], work: Any, model: str) -> Fitted:
    return inquiring.fit_agent_work(
        lambda shown, said: told(shown, READING, RUN, moves.QuestionScope(left_out=said)), work, [model]
    )


def _sources(size: Size, first: int) -> list[dict[str, Any]]:
    return [{"number": first + one, "title": f"{long(60)} {one}", "kind": "text"} for one in range(size.sources)]


def _feedback(size: Size) -> list[dict[str, str]]:
    return [{"try": str(one), "text": long(size.result)} for one in range(1, size.tries + 1)]


def _hints(size: Size) -> list[dict[str, str]]:
    return [{"by": "Mira", "text": long(400)}] * size.hints


def _claims(size: Size) -> list[moves.ProposedClaim]:
    quotes = [moves.ProposedQuote(1, long(size.quote))] * size.quotes
    return [moves.ProposedClaim(long(size.claim), quotes, (), number) for number in range(size.claims)]


def _results(size: Size) -> list[moves.ResearchResult]:
    steps = range(1, size.steps + 1)
    return [moves.ResearchResult(step, long(size.step), long(size.result), _claims(size)) for step in steps]


def _made(size: Size, count: int) -> list[moves.ResearchMoveMade]:
    made = range(1, count + 1)
    return [moves.ResearchMoveMade(one, long(80), "sources.read", '{"source": 3}', long(size.brought)) for one in made]


def _research(size: Size, count: int) -> moves.ResearchWork:
    return moves.ResearchWork(
        question=long(size.question),
        today="2026-11-27",
        plan=[long(size.step)] * size.steps,
        step={"number": size.steps, "text": long(size.step)},
        found_so_far=_results(size)[:-1],
        sources=_sources(size, 0),
        moves=_made(size, count),
        sources_found=[],
        feedback=_feedback(size) if count else [],
        hints=_hints(size) if count else [],
        left={"moves": size.moves - count + 1, "tokens": 60_000},
    )


def _expert(size: Size, count: int) -> moves.ExpertWork:
    return moves.ExpertWork(
        question=long(size.question),
        today="2026-11-27",
        expert_steps=[long(size.step)] * size.steps,
        results=_results(size),
        left_out=[],
        sources=_sources(size, 0),
        moves=_made(size, count),
        sources_found=[],
        feedback=_feedback(size) if count else [],
        hints=_hints(size) if count else [],
        left={"moves": 12 - count, "tokens": 60_000},
    )


def _reviewed(size: Size, critic: InquiryStage) -> critics.WorkToReview:
    if critic is InquiryStage.CRITIC_PLANNER:
        plan = dict.fromkeys(("research", "expert"), [long(size.step)] * size.steps)
        beside: Any = {"sources": _sources(size, 0), "tools": [one.name for one in READING]}
        return critics.WorkToReview(long(size.question), None, plan, feedback=_feedback(size), **beside)
    said = {"text": long(size.claim), "quotes": [{"source": 1, "quote": long(size.quote)}] * size.quotes}
    rests = [{"claim": 1, "text": long(size.claim), "quotes": [{"source": "A", "quote": long(size.quote)}]}]
    work = {"found": True, "text": long(size.result), "reasoning": "", "claims": [said] * size.claims}
    checked = {"flags": [], "quotes_found_in": [long(60)] * size.quotes, "has_numbers_without_quote": False}
    of_expert = critic is InquiryStage.CRITIC_EXPERT
    each = [checked | {"claim": one, "rests_on": rests * of_expert} for one in range(size.claims)]
    return critics.WorkToReview(long(size.question), long(size.step), work, each, feedback=_feedback(size))


# ---- plans ------------------------------------------------------------------------------------------------

DESK = ("calendar.find", "calendar.free", "calendar.add", "people.find", "tasks.add", "documents.read", "mail.send")


def plans() -> Iterator[Row]:
    owners = [_owner(name, DESK) for name in ("Desk", "Buyer", "Clerk")]
    usual = [_brief(owners, 400, 0, 120, 300), _brief(owners, 400, 4, 120, 300)]
    yield Row(
        "plan, planner", "three agents with seven tools each, first and again", lambda model: _briefs(usual, model)
    )
    many = [_owner(f"Desk {number}", DESK) for number in range(8)]
    largest = [_brief(many, 4_000, 0, 2_000, 4_000), _brief(many, 4_000, 20, 2_000, 4_000)]
    yield Row("plan, planner", "at its largest, after 20 long steps", lambda model: _briefs(largest, model))
    work = [_work(count, 3, 300, 1_500) for count in range(6)]
    yield Row(
        "plan, agent of a step", "six moves", lambda model: [planning.fit_agent_work(one, [model], RUN) for one in work]
    )
    much = [_work(count, 20, 4_000, 12_000) for count in (0, 6, 11)]
    yield Row(
        *("plan, agent of a step", "at its largest, three of its twelve moves"),
        lambda model: [planning.fit_agent_work(one, [model], RUN) for one in much],
    )
    for about, ending, task in (
        ("five steps", _ending(5, 120, 2), 400),
        ("40 long steps", _ending(40, 2_000, 8), 4_000),
    ):
        yield Row(
            *("plan, summary", about),
            lambda model, ending=ending, task=task: [planning.fit_ending(long(task), "done", ending, model, RUN)],
        )


def _briefs(briefs: Sequence[planner.PlannerBrief], model: str) -> Requests:
    return [planning.fit_planner_brief(one, model, RUN) for one in briefs]


def _owner(name: str, tools: Sequence[str]) -> planner.PromptOwner:
    known = own_tools()
    return planner.PromptOwner(
        name, long(80), [planner.PromptTool(one, known[one].effect, known[one].description) for one in tools]
    )


def _brief(
    owners: Sequence[planner.PromptOwner], task: int, done: int, action: int, reply: int
) -> planner.PlannerBrief:
    fixed = [planner.FixedStep(one, "Desk", long(action), "completed", long(reply)) for one in range(1, done + 1)]
    return planner.PlannerBrief(
        task=long(task),
        owners=owners,
        cause=RevisionCause.FAILURE if done else RevisionCause.TASK,
        notes=long(reply) if done else "",
        fixed=fixed,
        left=[planner.UnbegunStep(done + 1, "Desk", long(action), ["documents.read"], [done])] * (done // 2),
        first=done + 1,
    )


def _work(count: int, results: int, reply: int, brought: int) -> agent.StepWork:
    known = own_tools()
    made = agent.MadeMove("call", long(80), "documents.read", '{"document": "Rules"}', "", long(brought))
    return agent.StepWork(
        agent="Desk",
        description=long(80),
        system=long(200),
        goal=long(400),
        action=long(200),
        tools=[agent.OfferedTool(one, known[one].description, known[one].schema) for one in DESK],
        results=[agent.StepResult(long(120), long(reply))] * results,
        moves=[made] * count,
        left=12 - count,
    )


def _ending(steps: int, reply: int, calls: int) -> summary.Ending:
    line = f"calendar.add (writes, done): {long(120)}"
    did = [
        summary.CompletedStep(one, "Desk", long(120), "completed", long(reply), [line] * calls) for one in range(steps)
    ]
    return summary.Ending(did, "12 calls, 6 of which wrote.")


# ---- missions ---------------------------------------------------------------------------------------------


def missions() -> Iterator[Row]:
    for name, coordinates in (("coordinator", True), ("agent below it", False)):
        early = [_step(count, 800, coordinates) for count in (0, 1, 2, 3, 4)]
        late = [_step(count, 2_000, coordinates, "summary", 1_500) for count in (8, 9, 10, 11, 12)]
        yield Row(f"mission, {name}", "its first five steps", lambda model, made=early: _steps(made, model))
        yield Row(f"mission, {name}", "late, with summary and memories", lambda model, made=late: _steps(made, model))
    most = [_step(29, 12_000, True, "summary", 12_000)]
    yield Row("mission, coordinator", "at its largest, 29 long steps", lambda model: _steps(most, model))
    history = _step(22, 12_000, True).history
    yield Row(
        *("mission, summary", "of 22 long steps"),
        lambda model: [
            pursuing.summary_in_room(MissionAgent(name="Ada", model=model), long(400), long(6_000), history, RUN)
        ],
    )
    yield Row(
        *("mission, shorter memory", "with all memories at hand"),
        lambda model: [
            pursuing.shorter_in_room(MissionAgent(name="Ada", model=model), long(3_000), [long(12_000)], RUN)
        ],
    )


def _steps(made: Sequence[steps.AgentWork], model: str) -> Requests:
    return [pursuing.step_in_room(one, model, RUN)[0] for one in made]


def _step(count: int, brought: int, coordinates: bool, summary: str = "", memory: int = 0) -> steps.AgentWork:
    found = pursuing.tools_named(NAMES, coordinates=coordinates)
    now: Mapping[str, Any] = {
        "step": count + 1,
        "files": [f"src/module_{number}.py" for number in range(20)],
        "you_may_write_to": ["human_user", "Tester (running): Tests what others have written"],
    }
    args = '{"path": "src/module_3.py"}'
    return steps.AgentWork(
        name="Ada",
        description=long(80),
        parent="",
        coordinator="" if coordinates else "Magi-01",
        goal=long(400),
        below=["Tester"] if coordinates else [],
        coordinates=coordinates,
        tools=[steps.AgentPromptTool(one.name, one.description, one.schema) for one in found],
        summary=long(6_000) if summary else "",
        history=[steps.PromptStep(one, (), long(150), "read_file", args, long(brought)) for one in range(1, count + 1)],
        heard=(),
        short_memory=long(memory and 1_500),
        now=now,
        memories=[("Rules", long(memory))] if memory else (),
        remembered=[1] if memory else (),
    )


# ---- the table --------------------------------------------------------------------------------------------


def rows() -> Iterator[Row]:
    yield from judgements_and_debates()
    yield from inquiries(USUAL, "a usual one")
    yield from inquiries(LARGEST, "the largest")
    yield from plans()
    yield from missions()


def table() -> str:
    lines = [
        "| requests | of | largest, with answer | fits | sent in all | not cached | within 8,192 |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for row in rows():
        requests = [one.messages for one in row.made("")]
        largest = max(map(prompt_tokens, requests)) + ANSWER
        sent, anew = sum(map(prompt_tokens, requests)), read_anew(requests)
        fits = next((f"{context:,}" for context in CONTEXTS if largest <= context), "")
        cells = [row.name, row.about, f"{largest:,}", fits, f"{sent:,}", f"{anew:,}", within(row)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def within(row: Row) -> str:
    """What is left out of the last of its requests, where a model reads 8,192 tokens."""
    made = row.made(SMALL)
    if any(prompt_tokens(one.messages) + ANSWER > 8_192 for one in made):
        return "not asked"
    said = made[-1].left_out
    return f"{'left out: ' * ('Left out' in said)}{said.partition(': ')[2].rstrip('.')}" or "whole"


def read_anew(requests: Sequence[Sequence[ChatMessage]]) -> int:
    texts = ["\n".join(f"{one['role']}\n{one['content']}" for one in request) for request in requests]
    kept = [0, *(len(path.commonprefix(pair)) for pair in pairwise(texts))]  # noqa: RUF071 - no paths
    return sum(tokens_of(text[length:]) for text, length in zip(texts, kept, strict=True))
