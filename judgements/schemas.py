"""Schemas of API requests and responses. They check types only; `forms` validates the values."""

from typing import Annotated, Any, Literal

from ninja import Field
from pydantic import BeforeValidator, ConfigDict, StrictBool, StrictInt, WithJsonSchema

from engine.models import TITLE_LENGTH
from runs.presets import NAME_LENGTH
from runs.procedure import schemas as shared
from runs.procedure.filters import QUERY_LENGTH
from runs.procedure.schemas import (
    Address,
    Identifier,
    Moment,
    RunErrorOut,
    RunOut,
    RunOverrideOut,
    RunSummary,
    StrictSchema,
    text_field,
)

from .history import OUTCOMES
from .models import (
    AUDIENCE_LENGTH,
    CONTENT_LENGTH,
    CRITERIA_LENGTH,
    DEFAULT_LIFETIME,
    MAX_LIFETIME,
)

Verdict = Literal["approved", "rejected"]
Status = Literal["idle", "judging", "approved", "rejected", "error", "cancelled"]


def _name_or_id(value: Any) -> Any:
    """Accept exactly a text or an integer; pydantic alone would take true as 1."""
    if type(value) not in (str, int):
        raise ValueError("Say a council's name, or its id as a number.")
    return value


Name = Annotated[str, text_field(NAME_LENGTH, 1)]
NAME_OR_ID: Any = {"anyOf": [{"type": "string", "minLength": 1, "maxLength": NAME_LENGTH}, {"type": "integer"}]}
CouncilNameOrId = Annotated[int | str, BeforeValidator(_name_or_id), WithJsonSchema(NAME_OR_ID)]
Version = Annotated[StrictInt, Field(ge=1)]
ModelName = Annotated[str, text_field(200, 1)]
MAX_BATCH = 50


# ---- requests ---------------------------------------------------------------------------------------------


class NewJudgementAgent(StrictSchema):
    name: Name
    model: ModelName = Field(description="As provider/model.")
    criteria: Annotated[str, text_field(CRITERIA_LENGTH, 1)]
    fallback: Annotated[str, text_field(200)] | None = Field(
        None, description="A model to ask where the first one fails."
    )


class NewJudgement(StrictSchema):
    """A content, and either three agents or a council."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "oneOf": [
                {"required": ["agents"], "properties": {"agents": {"type": "array"}, "council": {"type": "null"}}},
                {"required": ["council"], "properties": {"council": NAME_OR_ID, "agents": {"type": "null"}}},
            ],
            "examples": [{"content": "I am going to travel to Japan next week.", "council": "Magi"}],
        },
    )

    content: Annotated[str, text_field(CONTENT_LENGTH, 1)] = Field(description="What is to be decided.")
    title: Annotated[str, text_field(TITLE_LENGTH)] | None = Field(
        None, description="Without one it is the first line of the content."
    )
    agents: list[NewJudgementAgent] | None = Field(
        None,
        min_length=3,
        max_length=3,
        description="Three, for the seats A, B and C. Each has a name, a model, criteria, and perhaps a fallback.",
    )
    council: CouncilNameOrId | None = Field(None, description="The name or id of a council, instead of agents.")
    version: Version | None = Field(
        None, description="The council's version that is meant. Refused where another one is current."
    )


class NewJudgementInBatch(NewJudgement):
    key: shared.Key = Field(description="Makes it safe to send this one again, as an Idempotency-Key.")


class NewJudgementBatch(StrictSchema):
    judgements: list[NewJudgementInBatch] = Field(min_length=1, max_length=MAX_BATCH)


class JudgementListQuery(shared.RunListQuery):
    """Which judgements. Whatever is left out or empty restricts nothing."""

    status: Annotated[str, WithJsonSchema({"type": "string", "enum": ["", *OUTCOMES]})] = Field(
        "", description="Its status."
    )
    council: Annotated[str, text_field(NAME_LENGTH)] = Field("", description="The council's name.")
    q: Annotated[str, text_field(QUERY_LENGTH)] = Field(
        "", description="Words to be found in title, content and reasons."
    )


class NewReceipt(StrictSchema):
    audience: Annotated[str, text_field(AUDIENCE_LENGTH)] | None = Field(
        None,
        max_length=AUDIENCE_LENGTH,
        pattern=r"^\P{Cc}*$",  # PostgreSQL cannot store all control characters
        description="Who alone may use it, as a name of your choice.",
    )
    lifetime: int = Field(DEFAULT_LIFETIME, ge=1, le=MAX_LIFETIME, description="Seconds for which it is good.")


class ReceiptUse(StrictSchema):
    """A receipt, and by whom whoever uses it expects that it was judged."""

    receipt: dict[str, Any] = Field(description="The receipt, as it was handed out.")
    council: CouncilNameOrId | None = Field(
        description="By id or name, which council must have judged; null accepts the asker's own agents, too."
    )
    version: Version | None = Field(None, description="The council's version that must have judged.")
    rehearsal: StrictBool = Field(False, description="True where a rehearsal will do, which asks no model.")
    audience: Annotated[str, text_field(AUDIENCE_LENGTH)] | None = Field(
        None, description="Who you are, if it is for one."
    )
    first: StrictBool = Field(False, description="True: only if no other one of its judgement was used.")


# ---- responses --------------------------------------------------------------------------------------------


class Repetition(StrictSchema):
    round: int
    seat: Literal["A", "B", "C"]


class AgentDecisionOut(StrictSchema):
    round: int
    decision: Literal["approve", "reject"]
    reason: str
    repeats: Repetition | None = Field(description="Where the same reason was given first, word for word.")
    seconds: float | None
    attempts: int
    model: str
    answered_by: str


class JudgementAgentOut(StrictSchema):
    seat: Literal["A", "B", "C"]
    name: str
    model: str
    criteria: str
    fallback: str | None
    score: str = Field(description="A decimal, as in 0.9.")
    verdict: Verdict | None
    decisions: list[AgentDecisionOut]


class JudgementErrorOut(RunErrorOut):
    """Why there is no verdict. Whose fault it was stands in `agent` and `round`, where it was an agent's."""

    agent: str | None = None
    round: int | None = None
    attempts: int | None = None


class JudgementOverrideOut(RunOverrideOut, StrictSchema):
    verdict: Verdict


class JudgementOut(RunOut):
    model_config = ConfigDict(extra="forbid")

    kind: Literal["judgement"]
    content: str
    council: str | None
    council_version: int | None
    status: Status
    verdict: Verdict | None
    outcome: Verdict | None = Field(description="The verdict, under the name that it has for all kinds.")
    round: int
    rehearsal: bool = Field(description="True where any answer came from the rehearsal and no model was asked for it.")
    agents: list[JudgementAgentOut]
    error: JudgementErrorOut | None
    override: JudgementOverrideOut | None = Field(
        description="What a person decided instead, last. The verdict stays the agents'."
    )


class JudgementListOut(StrictSchema):
    results: list[RunSummary | JudgementOut]
    next: Address | None = Field(description="Where the page of older ones is; null on the last page.")


class CouncilMemberOut(StrictSchema):
    seat: Literal["A", "B", "C"]
    name: str
    model: str
    criteria: str
    fallback: str | None


class CouncilMemberInShort(StrictSchema):
    seat: Literal["A", "B", "C"]
    name: str
    model: str


class CouncilInShort(StrictSchema):
    id: int
    name: str
    version: int
    agents: list[CouncilMemberInShort]


class CouncilOut(StrictSchema):
    id: int
    name: str
    version: int
    agents: list[CouncilMemberOut]


class JudgementBatchOut(StrictSchema):
    results: list[JudgementOut] = Field(description="In the order in which they were asked for.")


class CouncilListOut(StrictSchema):
    """In short, or whole where `full` asks for it."""

    results: list[CouncilInShort | CouncilOut]


class ModelOut(StrictSchema):
    name: str
    default: bool = Field(description="True for the model that a council asks where it leaves one open.")
    rehearsal: bool


class ModelListOut(StrictSchema):
    results: list[ModelOut]


class ReceiptCouncilOut(StrictSchema):
    id: int
    name: str = Field(description="Its name when it judged.")
    version: int


AgentsSha256 = Annotated[str, Field(description="Of the three agents as they judged; docs/audit.md says how.")]
Rehearsal = Annotated[bool, Field(description="True where any answer came from the rehearsal instead of a model.")]


class ReceiptOut(StrictSchema):
    """Canonical JSON without `signature` is what is signed (Ed25519)."""

    form: Literal["magi-receipt/2"]
    id: Identifier
    log: str
    judgement: Identifier
    verdict: Literal["approved"]
    council: ReceiptCouncilOut | None
    agents_sha256: AgentsSha256
    audience: str | None
    content_sha256: str = Field(description="Of the content in UTF-8: compare it with what you are about to carry out.")
    rehearsal: Rehearsal
    record_hash: str
    issued: Moment
    expires: Moment
    signature: str = Field(description="Base64.")


class UsedReceiptOut(StrictSchema):
    id: Identifier
    judgement: Identifier
    content_sha256: str
    consumed: Moment
    council: ReceiptCouncilOut | None
    agents_sha256: AgentsSha256
    rehearsal: Rehearsal


class VerifierKeyOut(StrictSchema):
    log: str
    key: str
