"""Request and response schemas that all procedures share."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any, Literal

from ninja import Field, Schema
from pydantic import BeforeValidator, ConfigDict, WithJsonSchema, create_model

from engine.models.reviews import REVIEW_LENGTH
from engine.models.runs import OUTCOME_LENGTH, RunStatus
from runs.models import KEY_LENGTH
from runs.procedure.filters import QUERY_LENGTH

LONGEST_WAIT = 60

# ---- for OpenAPI ------------------------------------------------------------------------------------------


def text_field(longest: int, shortest: int = 0) -> WithJsonSchema:
    """A text whose length is only documented here; the code that reads it validates it with its own message."""
    return WithJsonSchema({"type": "string", "minLength": shortest, "maxLength": longest})


def enum_field(*words: str) -> WithJsonSchema:
    """The same for a choice of words."""
    return WithJsonSchema({"type": "string", "enum": [str(word) for word in words]})


def optional_text(**schema: str) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [{"type": "string", **schema}, {"const": ""}]})


def _format(name: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "format": name})


Identifier = Annotated[str, _format("uuid")]
Address = Annotated[str, _format("uri")]
Moment = Annotated[str, _format("date-time")]
Day = Annotated[str, optional_text(format="date")]
Cursor = Annotated[str, optional_text(format="uuid")]
Key = Annotated[str, text_field(KEY_LENGTH, 1)]


def problem_responses(*statuses: int, also: Mapping[int, dict[str, Any]] | None = None) -> dict[str, Any]:
    """OpenAPI entries for the statuses with which a call may be refused, each with a problem document.

    `also` adds other responses.
    """
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    refusals = {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}
    return {"responses": {**(also or {}), **refusals}}


def location_response(noun: str) -> dict[str, Any]:
    """OpenAPI entry for a response with a Location header."""
    return {"headers": {"Location": {"description": f"Where the {noun} is.", "schema": {"type": "string"}}}}


def event_stream_response(noun: str) -> dict[str, Any]:
    """OpenAPI entry for a stream of server-sent events."""
    event = {
        "type": "object",
        "properties": {
            "event": {"const": noun},
            "id": {"type": "string", "description": "The revision."},
            "data": {"type": "string", "contentMediaType": "application/json", "description": f"The {noun}."},
        },
    }
    return {"content": {"text/event-stream": {"schema": event}}}


class StrictTypes(Schema):
    """Read without guessing: 0 is not false, "yes" not true, and "1" no number. Unknown keys are left alone."""

    model_config = ConfigDict(strict=True)


class StrictSchema(StrictTypes):
    model_config = ConfigDict(extra="forbid")


def _flag(written: Any) -> Any:
    return {"true": True, "1": True, "false": False, "0": False}.get(written, written)


Flag = Annotated[
    bool,
    BeforeValidator(_flag, json_schema_input_type=bool),
    Field(strict=True),
]
"""A boolean in a query string: true or 1, false or 0, and nothing else."""


# ---- requests ---------------------------------------------------------------------------------------------


class RunListQuery(Schema):
    """Which runs. Whatever is left out or empty restricts nothing."""

    since: Day = Field("", description="The first day (UTC), as in 2026-11-21.")
    until: Day = Field("", description="The last day (UTC).")
    q: Annotated[str, text_field(QUERY_LENGTH)] = Field("", description="Words to be found in its title and texts.")
    cursor: Cursor = Field(
        "", description="Where the page begins: part of the address that the page before gives as next."
    )
    full: Flag = Field(False, description="Whole runs, of which each may have megabytes, and not what a list needs.")


class SoughtSaved(Schema):
    """Of a list of what is saved to be used again."""

    full: Flag = Field(False, description="All of each, as its own address has it.")


class ProcedureRunListQuery(RunListQuery):
    status: Literal["", *RunStatus.values] = Field("", description="Their status.")  # type: ignore[valid-type]
    outcome: str = Field("", max_length=OUTCOME_LENGTH, description="What came of them, in the kind's words.")


class AllRunsListQuery(ProcedureRunListQuery):
    kind: str = Field("", description="Of which kind.")


TextField = Annotated[str, text_field(REVIEW_LENGTH, 1)]


class NewReview(StrictSchema):
    """What a person says of a run that is over; with an outcome, what that person decides instead."""

    outcome: Annotated[str, text_field(OUTCOME_LENGTH, 1)] | None = Field(
        None, description="An outcome of its kind, other than what holds: an override. Without one it is a note."
    )
    text: TextField = Field(description="The note, or the reason for deciding otherwise.")


# ---- responses --------------------------------------------------------------------------------------------


class RunErrorOut(Schema):
    """Why nothing came of it."""

    code: str
    message: str


class UsageOut(StrictSchema):
    calls: int
    input_tokens: int
    output_tokens: int
    estimated: bool
    dollars: str | None = Field(description="A decimal; null where a price is unknown.")
    lost_attempts: int = Field(description="Attempts that gave no usable answer.")
    lost_seconds: float = Field(description="Seconds that these attempts took together.")


class RunOverrideOut(Schema):
    """What a person decided instead stands in it under the name that its kind has for an outcome."""

    by: str
    reason: str
    at: Moment


class RunOut(Schema):
    """What is said of a run of any kind. Its kind says more."""

    model_config = ConfigDict(extra="allow")

    id: Identifier
    kind: str
    url: Address
    title: str
    status: str = Field(
        description="One of queued, running, waiting, finished, failed and cancelled, or a word that its kind has "
        "instead."
    )
    outcome: str | None = Field(description="What came of it, in the words of its kind.")
    revision: int
    error: RunErrorOut | None
    usage: UsageOut
    created: Moment
    started: Moment | None
    ended: Moment | None
    record_hash: str | None = Field(description="Of the newest entry of its record; null until it is over.")
    redacted: Moment | None
    override: RunOverrideOut | None = Field(description="What a person decided instead, last. The outcome stays.")


class GateSummary(StrictSchema):
    """What waits for somebody, in a list."""

    id: int
    url: Address
    kind: str
    title: str
    state: str
    asked: str | None
    made: Moment
    expires: Moment | None


class RunSummary(RunOut):
    """What a list says of a run. All of it stands at its own address."""

    rehearsal: bool = Field(False, description="True where any answer came from the rehearsal instead of a model.")
    waits: Literal["person", "run", "time"] | None = Field(None, description="Of kinds that wait.")
    gates: list[GateSummary] = Field([], description="Those that wait now.")


class GateChoiceOut(StrictSchema):
    """The procedure's own word of a decision, with what stands on its button."""

    word: str
    decision: str
    sentence: str


class GateDecisionOut(StrictSchema):
    """What somebody said; nobody, where time did."""

    by: str | None
    decision: str
    choice: str | None
    text: str
    answer: Any
    judged_by: Identifier | None = Field(description="The run whose outcome it is, of a council.")
    knew_council: bool = Field(description="Whether what the council says was shown to this person by then.")
    at: Moment


class GateCouncilOut(StrictSchema):
    """The council that decides at a gate, alone or besides."""

    id: int | None = Field(description="Which one it is; null: no one council was meant, so that a person is asked.")
    name: str = Field(description="As it was called when it was asked.")
    run: Identifier | None = Field(description="Its run; null while it is hidden, and where it could not be asked.")
    said: str | None = Field(description="approve or reject; null while it is not known, or not shown.")


class GatePolicyOut(StrictSchema):
    """Who has to decide, as strict as rules and floors made it when it was asked."""

    who: str = Field(description="One of open, person, council and both.")
    persons: int
    four_eyes: bool
    blind: bool = Field(False, description="What the council says is shown when as many persons have decided.")
    council: str = ""
    council_id: int | None = Field(None, description="Which one it is, however it is called now.")
    hours: int | float | None
    expiry: str = Field(description="One of remind, reject and return.")


class GateOut(StrictSchema):
    """What a run may not do before somebody has decided about exactly this text."""

    id: int
    url: Address
    run: Identifier
    step: str
    number: int = Field(description="How often it was asked at this place: with another text, or of somebody else.")
    kind: str
    title: str
    text: str
    digest: str = Field(description="SHA-256 of the text.")
    whole: str | None = Field(description="SHA-256 of what the text was cut from; null where nothing was cut.")
    cut: bool = Field(
        description="Whether the text leaves something out, which it names: then a person approves it, and it alone."
    )
    state: str = Field(description="One of pending, approved, rejected, answered, expired, failed and void.")
    asked: str | None = Field(description="Who is asked by name; null: whose run it is, and who may decide for all.")
    effect: str | None = Field(description="Of what it asks for: reads, writes or reaches_out.")
    policy: GatePolicyOut
    authors: list[str] = Field(
        description="Where the policy wants four eyes: whose words came into what is asked. They do not decide, nor "
        "does who asked for the run."
    )
    council: GateCouncilOut | None
    choices: list[GateChoiceOut] = Field(description="While it waits, those that would be taken now; afterwards all.")
    made: Moment
    closed: Moment | None
    expires: Moment | None
    decisions: list[GateDecisionOut]


class ToolCallOut(StrictSchema):
    """One use of a tool: written before it was performed, closed after."""

    step: str
    number: int = Field(description="How often it was begun at this place.")
    tool: str
    effect: str = Field(description="One of reads, writes and reaches_out.")
    contained: bool = Field(description="Whether it acts only in a place that the run owns.")
    status: str = Field(description="One of open, done, failed and interrupted.")
    arguments: Any
    output: str
    output_size: int = Field(description="Its characters before anything was cut.")
    error: str
    outside: bool = Field(description="Whether strangers wrote text of it.")
    gate: int | None = Field(description="The gate that allowed it, or refused it.")
    made: Moment
    ended: Moment | None


class ForkOrigin(StrictSchema):
    """The run that another one goes on from, and where it left that one."""

    run: Identifier
    number: int = Field(description="Of the step or message after which it goes on, counted from 1.")
    entry: int = Field(description="Of the origin's record: the entry that tells of it.")
    hash: str = Field(description="SHA-256 of that entry.")


class ForkableRun(RunOut):
    forked: ForkOrigin | None = Field(description="Null: it was not forked.")


class NewFork(StrictSchema):
    """A kind adds one field, `step` or `message`: the number after which the new run goes on."""

    words: Annotated[str, text_field(8_000)] | None = Field(None, description="Said first in the new run, by you.")
    spend: Annotated[str, text_field(20)] | None = Field(None, description="Dollars at most; null: as the origin.")


class ForkSection(StrictSchema):
    title: str
    lines: list[str]


class ForkPreview(StrictSchema):
    """What a fork would leave behind, and what stays as it is now."""

    number: int
    place: str = Field(examples=["step 3 of Ada"])
    undone: list[ForkSection]
    stays: list[ForkSection]
    notes: list[str] = Field(description="What is not exactly as it was.")


class ReviewOut(StrictSchema):
    """A note, or an override with the outcome that a person decided instead."""

    kind: Literal["note", "override"]
    by: str
    text: str = Field(description="Empty once the run is redacted.")
    outcome: str | None
    at: Moment


class ReviewListOut(StrictSchema):
    results: list[ReviewOut]


class GateEntry(GateSummary):
    """What waits for somebody, in a list of its own. Its text, digest and decisions stand at its own address."""

    run: Identifier
    step: str
    number: int = Field(description="How often it was asked at this place: with another text, or of somebody else.")
    effect: str | None = Field(description="Of what it asks for: reads, writes or reaches_out.")


class GateListOut(StrictSchema):
    """In short, or whole where `full` asks for it."""

    results: list[GateOut | GateEntry]
    next: Address | None = Field(description="Where the page of later ones is; null on the last page.")


def page_schema(nouns: str, schema: type[Schema]) -> type[Schema]:
    """Build the schema of a page of these runs: summaries, or whole runs if the request sets `full`."""
    following = Field(description="Where the page of older ones is; null on the last page.")
    fields: Any = {"results": (list[RunSummary | schema], ...), "next": (Address | None, following)}  # type: ignore[valid-type]
    return create_model(nouns.capitalize(), __base__=StrictSchema, **fields)


class FieldErrorOut(StrictSchema):
    path: str = Field(examples=["agents.1.model"])
    message: str


class ProblemOut(Schema):
    """What every error of the API is, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldErrorOut] | None = None
