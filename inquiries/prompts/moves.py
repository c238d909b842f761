"""Prompts of researcher and expert, and parsing of their moves: the use of a tool, or submitted work."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import BaseModel

from engine.llm.own_words import instructions_of
from engine.llm.prompt_blocks import unpacked
from engine.llm.shapes import NULL, NUMBER, TEXT, TRUTH, Schema, either, list_of, number_of, object_of, one_of
from engine.llm.shapes import arguments_by_tool as shapes_of
from toolbox.agent_step import SUM_EXAMPLE, arguments_of

from ..rules.limits import CLAIMS, MAX_PARALLEL, QUOTES, RESULT_LENGTH
from .common import InquiryAnswer, Messages, parse_answer, required_text, role_messages

RESEARCHER = """\
# Your role

You work on one step of research, "step" in the material. With each answer you make one move: you use one tool, or you \
hand in what you have found.

What a search shows is a hint where to read, and no source yet. Where sources contradict each other, say so and cite \
both. Prefer whoever made, measured or decided a thing to whoever repeats it. That something cannot be found is a good \
result: hand in "found": false and say where you have looked.

Each claim quotes the place where it stands: word for word, at least three words and at most 300 characters, by the \
number of its source. A program looks for each quote in that source; what does not stand there comes back to you."""
EXPERT = """\
# Your role

You answer the question from the results of research, "results" in the material, by the steps in "expert_steps", in \
their order. With each answer you make one move: you use one tool, or you hand in the answer. Work out numbers with a \
tool, never in your head.

Use every result, or name it in "results_not_needed" with the reason, which your critic reads beside that result. The \
answer has one claim at least, and no number or name that stands in none. Each claim is reasoned from claims of the \
results, by their numbers, or quotes a source itself, word for word. Where the results do not carry an answer, hand in \
"answerable": false and name in "answer" what is missing: that is a good result, too."""
TOOLS = """

# Your tools

{tools}"""
TWO_SITES = """

Where a claim rests on sites alone, it quotes two of them at least, of different hosts: one that rests on one site \
comes back to you, too."""
NO_TOOLS = "There are none."
# allowed in answers although the prompt has these words
MAY_BE_SAID = (NO_TOOLS, "You have no more uses of tools", "the results do not carry an answer", SUM_EXAMPLE)
FORM = """\
It is one of two kinds.

To use a tool it has the keys "thought", a text of one sentence that everybody may read; "tool", the name of one of \
your tools; "arguments", an object with the arguments of that tool, or the JSON of it in a text; and "also", a list, \
empty or with up to {also} more uses at once, each an object with "tool" and "arguments": so several pages are read \
with one move. It has no "done", or that is null.

To hand in it has the keys "thought" and "done", and no "tool". """
RESEARCH_DONE = """\
"done" is an object: "found" is true or false; "result" is a text \
of a few sentences that says what was found; "claims" is a list of {claims} at most. Each claim has "text", one \
statement, and "quotes", a list: each has "source", the number of a source, and "quote", words that stand there. It \
may have "calculated", a list of numbers of sources that are calculations, on which it rests."""
EXPERT_DONE = """\
"done" is an object: "answerable" is true or false; "answer" is a \
text; "reasoning" is a text that says how the answer follows; "claims" is a list of {claims} at most. Each claim has \
"text", one statement; "reasoned_from", a list of numbers of claims; and "quotes", a list: each has "source", the \
number of a source, and "quote", words that stand there. It may have "calculated", a list of numbers of sources that \
are calculations, on which it rests. "results_not_needed" is a list: each has "step", its number, \
and "why", a text."""
LEFT = "You have {left} left."
HAND_IN = "You have no more uses of tools: hand in now what there is, as “done”."

_QUOTE = object_of({"source": NUMBER, "quote": TEXT})
_RESEARCH_CLAIM = object_of({"text": TEXT, "quotes": list_of(_QUOTE), "calculated": list_of(NUMBER)})
_CLAIM = object_of(
    {"text": TEXT, "quotes": list_of(_QUOTE), "reasoned_from": list_of(NUMBER), "calculated": list_of(NUMBER)}
)
_FOUND = object_of({"found": TRUTH, "result": TEXT, "claims": list_of(_RESEARCH_CLAIM)})
_ANSWERED = object_of(
    {
        "answerable": TRUTH,
        "answer": TEXT,
        "reasoning": TEXT,
        "claims": list_of(_CLAIM),
        "results_not_needed": list_of(object_of({"step": NUMBER, "why": TEXT})),
    }
)


def _schema(done: Schema) -> Schema:
    also = list_of(object_of({"tool": TEXT, "arguments": TEXT}))
    known = {"thought": TEXT, "tool": TEXT, "arguments": TEXT, "also": also, "done": either([done, NULL])}
    return object_of(known)


RESEARCH_SCHEMA, EXPERT_SCHEMA = _schema(_FOUND), _schema(_ANSWERED)


@dataclass(frozen=True)
class ResearchTool:
    """A tool for the prompt. `strange`: it is of an MCP server, so its description belongs to the material."""

    name: str
    description: str
    arguments: dict[str, Any]
    strange: bool = False


@dataclass(frozen=True)
class ResearchMoveMade:
    """An earlier move of this step and its result."""

    number: int
    thought: str
    tool: str
    arguments: str
    result: str


@dataclass(frozen=True)
class ProposedQuote:
    """`quote` is empty for a calculation, which is quoted as a whole."""

    source: int
    quote: str


@dataclass(frozen=True)
class ProposedClaim:
    """`reasoned_from`: numbers of other claims. `number` is 0 until the claim is saved."""

    text: str
    quotes: Sequence[ProposedQuote] = ()
    reasoned_from: Sequence[int] = ()
    number: int = 0


@dataclass(frozen=True)
class ResearchResult:
    """Approved result of a research step."""

    step: int
    text: str
    result: str
    claims: Sequence[ProposedClaim] = ()


@dataclass(frozen=True)
class ResearchWork:
    """Input of the researcher's prompt, in this order: growing parts are last, for prompt caches. `sources`: those that
    were attached."""

    question: str
    today: str
    plan: Sequence[str]
    step: dict[str, Any]
    found_so_far: Sequence[ResearchResult]
    sources: Sequence[dict[str, Any]]
    moves: Sequence[ResearchMoveMade]
    sources_found: Sequence[dict[str, Any]]
    feedback: Sequence[dict[str, str]]
    hints: Sequence[dict[str, str]]
    left: dict[str, int]


@dataclass(frozen=True)
class ExpertWork:
    """Input of the expert's prompt, in this order."""

    question: str
    today: str
    expert_steps: Sequence[str]
    results: Sequence[ResearchResult]
    left_out: Sequence[str]
    sources: Sequence[dict[str, Any]]
    moves: Sequence[ResearchMoveMade]
    sources_found: Sequence[dict[str, Any]]
    feedback: Sequence[dict[str, str]]
    hints: Sequence[dict[str, str]]
    left: dict[str, int]


@dataclass(frozen=True)
class SubmitWork:
    """Submitted work. `found`: whether something was found or, for an answer, whether the question is answerable."""

    found: bool
    text: str
    reasoning: str = ""
    claims: Sequence[ProposedClaim] = ()
    not_needed: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ResearchMove:
    """`also`: further tools that are used at the same time, with arguments."""

    thought: str
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    done: SubmitWork | None = None
    also: Sequence[tuple[str, dict[str, Any]]] = ()


class _QuoteAnswer(InquiryAnswer):
    source: int
    quote: str


class _ClaimAnswer(InquiryAnswer):
    text: str
    quotes: list[_QuoteAnswer] = []
    reasoned_from: list[int] = []
    calculated: list[int] = []


class _FoundAnswer(InquiryAnswer):
    found: bool
    result: str
    claims: list[_ClaimAnswer] = []


class _SkipAnswer(InquiryAnswer):
    step: int
    why: str


class _ExpertSubmission(InquiryAnswer):
    answerable: bool
    answer: str
    reasoning: str = ""
    claims: list[_ClaimAnswer] = []
    results_not_needed: list[_SkipAnswer] = []


class _ToolAnswer(InquiryAnswer):
    tool: str | None = None
    arguments: str | dict[str, Any] | None = None


class _MoveAnswer(_ToolAnswer):
    thought: str = ""
    also: list[_ToolAnswer] = []


class _ResearcherAnswer(_MoveAnswer):
    done: _FoundAnswer | None = None


class _ExpertAnswer(_MoveAnswer):
    done: _ExpertSubmission | None = None


# ---- prompts ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class QuestionScope:
    """`sites`: number of sites that a claim needs if it rests on web pages only. `hand_in`: no tool may be used.
    `left_out`: names what the model has no room for."""

    sites: int = 1
    hand_in: bool = False
    left_out: str = ""


def researcher_messages(
    work: ResearchWork, tools: Sequence[ResearchTool], mark: str | None = None, how: QuestionScope = QuestionScope()
) -> Messages:
    return _messages(RESEARCHER, RESEARCH_DONE, work, tools, mark, how)


def expert_messages(
    work: ExpertWork, tools: Sequence[ResearchTool], mark: str | None = None, how: QuestionScope = QuestionScope()
) -> Messages:
    return _messages(EXPERT, EXPERT_DONE, work, tools, mark, how)


def _messages(
    role: str, done: str, work: Any, tools: Sequence[ResearchTool], mark: str | None, how: QuestionScope
) -> Messages:
    """Return the prompt. Text that is the same in all moves of a step is first, for prompt caches."""
    role += TWO_SITES if how.sites > 1 else ""
    role += TOOLS.format(tools="\n\n".join(map(_described, tools)) or NO_TOOLS)
    strange = [{"name": one.name, "description": one.description} for one in tools if one.strange]
    material = ({"tools": strange} if strange else {}) | asdict(work)
    material["moves"] = [{**one, "arguments": unpacked(one["arguments"])} for one in material["moves"]]
    moves = work.left["moves"]
    now = HAND_IN if how.hand_in else LEFT.format(left="one move" if moves == 1 else f"{moves} moves")
    return role_messages(
        role, (FORM + done).format(also=MAX_PARALLEL - 1, claims=CLAIMS), material, mark, now, how.left_out
    )


def _described(tool: ResearchTool) -> str:
    description = 'what it does stands in the material, in "tools".' if tool.strange else tool.description
    return f"{tool.name}: {description}\nArguments: {json.dumps(tool.arguments, ensure_ascii=False)}"


# ---- schemas of answers -----------------------------------------------------------------------------------


def research_schema(work: ResearchWork, tools: Sequence[ResearchTool]) -> Schema:
    """Return the JSON schema of a move: a use of one of the tools, or work that quotes existing sources. `tools` is
    empty in the last move."""
    sources = _numbers(work)
    nothing = object_of({"found": _is(False), "result": TEXT})
    sums = _calculations(work)
    quotes = list_of(object_of({"source": number_of(sources), "quote": TEXT}), QUOTES, 0 if sums else 1)
    claims = list_of(object_of({"text": TEXT, "quotes": quotes, **sums}), CLAIMS, 1)
    found = object_of({"found": _is(True), "result": TEXT, "claims": claims})
    return _exact([found, nothing] if sources else [nothing], tools)


def answer_schema(work: ExpertWork, tools: Sequence[ResearchTool]) -> Schema:
    """Return the same for the expert, whose claims are reasoned from claims of results, or have quotes."""
    sources, known = _numbers(work), [claim.number for one in work.results for claim in one.claims]
    claim = {"text": TEXT}
    claim |= {"reasoned_from": list_of(number_of(known), CLAIMS)} if known else {}
    claim |= {"quotes": list_of(object_of({"source": number_of(sources), "quote": TEXT}), QUOTES)} if sources else {}
    claim |= _calculations(work)
    rest: dict[str, Schema] = {"claims": list_of(object_of(claim), CLAIMS, 1)}
    if work.results:
        not_needed = object_of({"step": number_of(one.step for one in work.results), "why": TEXT})
        rest |= {"results_not_needed": list_of(not_needed, len(work.results))}
    answered = object_of({"answerable": _is(True), "answer": TEXT, "reasoning": TEXT, **rest})
    nothing = object_of({"answerable": _is(False), "answer": TEXT})
    return _exact([answered, nothing] if known or sources else [nothing], tools)


def _numbers(work: ResearchWork | ExpertWork) -> list[int]:
    return [one["number"] for one in (*work.sources, *work.sources_found)]


def _calculations(work: ResearchWork | ExpertWork) -> dict[str, Schema]:
    """Return the property for calculations that a claim rests on; empty if there are none yet."""
    found = [one["number"] for one in work.sources_found if one.get("kind") == "calculation"]
    return {"calculated": list_of(number_of(found), QUOTES)} if found else {}


def _is(truth: bool) -> Schema:
    return {"type": "boolean", "enum": [truth]}


def _exact(done: Sequence[Schema], tools: Sequence[ResearchTool]) -> Schema:
    """Return the schema of either a use of a tool, without "done", or of submitted work, without a tool."""
    handed_in = object_of({"thought": TEXT, "done": either(done)})
    uses = {name: {"tool": one_of([name]), "arguments": one} for name, one in _shapes(tools).items()}
    if not uses:
        return handed_in
    also = list_of({"$ref": "#/$defs/use"}, MAX_PARALLEL - 1)
    moves = [object_of({"thought": TEXT, **one, "also": also}) for one in uses.values()]
    return {"anyOf": [*moves, handed_in], "$defs": {"use": either([object_of(one) for one in uses.values()])}}


def _shapes(tools: Sequence[ResearchTool]) -> dict[str, Schema]:
    return shapes_of({one.name: one.arguments for one in tools})


def instructions(messages: Sequence[dict[str, str]]) -> str:
    return instructions_of(messages, but=MAY_BE_SAID)


def own_texts(move: "ResearchMove") -> list[str]:
    """Return the texts of a move that must not repeat the instructions; quotes are words of sources."""
    done = move.done
    if done is None:
        return [move.thought]
    return [move.thought, done.text, done.reasoning, *(one.text for one in done.claims), *done.not_needed.values()]


# ---- parsing ----------------------------------------------------------------------------------------------


def read_research(text: str, tools: Mapping[str, type[BaseModel]]) -> ResearchMove:
    answer = parse_answer(_ResearcherAnswer, text)
    if answer.done is None:
        return _call(answer, tools)
    done = answer.done
    handed = SubmitWork(done.found, required_text(done.result, "result", RESULT_LENGTH), claims=_claims(done.claims))
    if done.found and not handed.claims:
        raise ValueError("What was found has no claim. Write “claims”, each with a quote of its source.")
    if bare := [one for one in handed.claims if not one.quotes]:
        raise ValueError(f"The claim “{bare[0].text[:80]}” quotes no source, and rests on no calculation.")
    return _handed_in(answer, handed)


def read_expert(text: str, tools: Mapping[str, type[BaseModel]]) -> ResearchMove:
    answer = parse_answer(_ExpertAnswer, text)
    if answer.done is None:
        return _call(answer, tools)
    done = answer.done
    words = required_text(done.answer, "answer", RESULT_LENGTH), done.reasoning.strip()[:RESULT_LENGTH]
    not_needed = {one.step: one.why.strip() for one in done.results_not_needed}
    handed = SubmitWork(done.answerable, *words, claims=_claims(done.claims), not_needed=not_needed)
    if done.answerable and not done.reasoning.strip():
        raise ValueError("“reasoning” is empty: say how the answer follows.")
    if done.answerable and not handed.claims:
        raise ValueError("An answer rests on claims, and this has none. Write “claims”, or “answerable”: false.")
    if done.answerable and (bare := [one for one in handed.claims if not (one.quotes or one.reasoned_from)]):
        said_of = "is reasoned from no claim, quotes no source and rests on no calculation"
        raise ValueError(f"The claim “{bare[0].text[:80]}” {said_of}.")
    return _handed_in(answer, handed)


def _call(answer: _MoveAnswer, tools: Mapping[str, type[BaseModel]]) -> ResearchMove:
    if not answer.tool:
        raise ValueError("A move uses a tool, or hands in the work. This does neither: name a tool, or write “done”.")
    if not tools:
        raise ValueError("No tool can be used any more: leave “tool” out, and hand in what there is as “done”.")
    if len(answer.also) >= MAX_PARALLEL:
        raise ValueError(f"“also” has {len(answer.also)} uses of tools, and {MAX_PARALLEL - 1} are taken.")
    arguments = arguments_of(answer.tool, answer.arguments, tools)
    also = [(one.tool or "", arguments_of(one.tool or "", one.arguments, tools)) for one in answer.also]
    return ResearchMove(answer.thought.strip(), answer.tool, arguments, also=also)


def _handed_in(answer: _MoveAnswer, done: SubmitWork) -> ResearchMove:
    if answer.tool or answer.also:
        raise ValueError(
            "A move uses a tool, or hands in the work. This does both: leave “done” null to use the tool, or leave "
            "“tool”, “arguments” and “also” empty to hand in."
        )
    return ResearchMove(answer.thought.strip(), done=done)


def _claims(claims: Sequence[_ClaimAnswer]) -> list[ProposedClaim]:
    if len(claims) > CLAIMS:
        raise ValueError(f"There are {len(claims)} claims, and {CLAIMS} are taken.")
    if many := [one for one in claims if len(one.quotes) + len(one.calculated) > QUOTES]:
        raise ValueError(f"A claim has {len(many[0].quotes)} quotes, and {QUOTES} are taken, with calculations.")
    return [ProposedClaim(required_text(one.text, "text", 1_000), _quotes(one), one.reasoned_from) for one in claims]


def _quotes(claim: _ClaimAnswer) -> list[ProposedQuote]:
    return [
        *(ProposedQuote(q.source, q.quote) for q in claim.quotes),
        *(ProposedQuote(number, "") for number in claim.calculated),
    ]
