"""What the API takes and gives, for its description and for a first check. What a value must be, `forms` say."""

from typing import Annotated, Any, Literal

from ninja import Field
from pydantic import BeforeValidator, ConfigDict, StrictBool, StrictInt, WithJsonSchema

from engine.models import TITLE_LENGTH
from runs.api import schemas as shared
from runs.api.schemas import Address, Identifier, Moment, Run, RunError, RunOverride, RunSummary, Strict, text
from runs.filters import QUERY_LENGTH
from runs.saved import NAME_LENGTH

from .filters import OUTCOMES
from .models import (
    AUDIENCE_LENGTH,
    CONTENT_LENGTH,
    CRITERIA_LENGTH,
    LONGEST_LIFETIME,
    USUAL_LIFETIME,
)

Verdict = Literal["approved", "rejected"]
Status = Literal["idle", "judging", "approved", "rejected", "error", "cancelled"]


def _name_or_id(value: Any) -> Any:
    """Exactly a text or a whole number: pydantic alone would take true for 1."""
    if type(value) not in (str, int):
        raise ValueError("Say a council's name, or its id as a number.")
    return value


Name = Annotated[str, text(NAME_LENGTH, 1)]
NAME_OR_ID: Any = {"anyOf": [{"type": "string", "minLength": 1, "maxLength": NAME_LENGTH}, {"type": "integer"}]}
WhichCouncil = Annotated[int | str, BeforeValidator(_name_or_id), WithJsonSchema(NAME_OR_ID)]
Version = Annotated[StrictInt, Field(ge=1)]
ModelName = Annotated[str, text(200, 1)]
MOST_AT_ONCE = 50


# ---- what it takes ----------------------------------------------------------------------------------------


class NewAgent(Strict):
    name: Name
    model: ModelName = Field(description="As provider/model.")
    criteria: Annotated[str, text(CRITERIA_LENGTH, 1)]
    fallback: Annotated[str, text(200)] | None = Field(None, description="A model to ask where the first one fails.")


class NewJudgement(Strict):
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

    content: Annotated[str, text(CONTENT_LENGTH, 1)] = Field(description="What is to be decided.")
    title: Annotated[str, text(TITLE_LENGTH)] | None = Field(
        None, description="Without one it is the first line of the content."
    )
    agents: list[NewAgent] | None = Field(
        None,
        min_length=3,
        max_length=3,
        description="Three, for the seats A, B and C. Each has a name, a model, criteria, and perhaps a fallback.",
    )
    council: WhichCouncil | None = Field(None, description="The name or id of a council, instead of agents.")
    version: Version | None = Field(
        None, description="The council's version that is meant. Refused where another one is current."
    )


class OneOfMany(NewJudgement):
    key: shared.Key = Field(description="Makes it safe to send this one again, as an Idempotency-Key.")


class ManyJudgements(Strict):
    judgements: list[OneOfMany] = Field(min_length=1, max_length=MOST_AT_ONCE)


class SoughtJudgements(shared.Sought):
    """Which judgements. Whatever is left out or empty restricts nothing."""

    status: Annotated[str, WithJsonSchema({"type": "string", "enum": ["", *OUTCOMES]})] = Field(
        "", description="Its status."
    )
    council: Annotated[str, text(NAME_LENGTH)] = Field("", description="The council's name.")
    q: Annotated[str, text(QUERY_LENGTH)] = Field("", description="Words to be found in title, content and reasons.")


class NewReceipt(Strict):
    audience: Annotated[str, text(AUDIENCE_LENGTH)] | None = Field(
        None,
        max_length=AUDIENCE_LENGTH,
        pattern=r"^\P{Cc}*$",  # no database keeps all of these signs
        description="Who alone may use it, as a name of your choice.",
    )
    lifetime: int = Field(USUAL_LIFETIME, ge=1, le=LONGEST_LIFETIME, description="Seconds for which it is good.")


class Use(Strict):
    """A receipt, and by whom whoever uses it expects that it was judged."""

    receipt: dict[str, Any] = Field(description="The receipt, as it was handed out.")
    council: WhichCouncil | None = Field(
        description="By id or name, which council must have judged; null accepts the asker's own agents, too."
    )
    version: Version | None = Field(None, description="The council's version that must have judged.")
    rehearsal: StrictBool = Field(False, description="True where a rehearsal will do, which asks no model.")
    audience: Annotated[str, text(AUDIENCE_LENGTH)] | None = Field(None, description="Who you are, if it is for one.")
    first: StrictBool = Field(False, description="True: only if no other one of its judgement was used.")


# ---- what it gives ----------------------------------------------------------------------------------------


class Repetition(Strict):
    round: int
    seat: Literal["A", "B", "C"]


class Decision(Strict):
    round: int
    decision: Literal["approve", "reject"]
    reason: str
    repeats: Repetition | None = Field(description="Where the same reason was given first, word for word.")
    seconds: float | None
    attempts: int
    model: str
    answered_by: str


class JudgingAgent(Strict):
    seat: Literal["A", "B", "C"]
    name: str
    model: str
    criteria: str
    fallback: str | None
    score: str = Field(description="A decimal, as in 0.9.")
    verdict: Verdict | None
    decisions: list[Decision]


class Error(RunError):
    """Why there is no verdict. Whose fault it was stands in `agent` and `round`, where it was an agent's."""

    agent: str | None = None
    round: int | None = None
    attempts: int | None = None


class Override(RunOverride, Strict):
    verdict: Verdict


class Judgement(Run):
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
    agents: list[JudgingAgent]
    error: Error | None
    override: Override | None = Field(description="What a person decided instead, last. The verdict stays the agents'.")


class Judgements(Strict):
    results: list[RunSummary | Judgement]
    next: Address | None = Field(description="Where the page of older ones is; null on the last page.")


class CouncilMember(Strict):
    seat: Literal["A", "B", "C"]
    name: str
    model: str
    criteria: str
    fallback: str | None


class CouncilMemberInShort(Strict):
    seat: Literal["A", "B", "C"]
    name: str
    model: str


class CouncilInShort(Strict):
    id: int
    name: str
    version: int
    agents: list[CouncilMemberInShort]


class Council(Strict):
    id: int
    name: str
    version: int
    agents: list[CouncilMember]


class SubmittedJudgements(Strict):
    results: list[Judgement] = Field(description="In the order in which they were asked for.")


class Councils(Strict):
    """In short, or whole where `full` asks for it."""

    results: list[CouncilInShort | Council]


class Model(Strict):
    name: str
    default: bool = Field(description="True for the model that a council asks where it leaves one open.")
    rehearsal: bool


class Models(Strict):
    results: list[Model]


class JudgedBy(Strict):
    id: int
    name: str = Field(description="Its name when it judged.")
    version: int


AgentsSha256 = Annotated[str, Field(description="Of the three agents as they judged; docs/audit.md says how.")]
Rehearsal = Annotated[bool, Field(description="True where any answer came from the rehearsal instead of a model.")]


class Receipt(Strict):
    """Canonical JSON without `signature` is what is signed (Ed25519)."""

    form: Literal["magi-receipt/2"]
    id: Identifier
    log: str
    judgement: Identifier
    verdict: Literal["approved"]
    council: JudgedBy | None
    agents_sha256: AgentsSha256
    audience: str | None
    content_sha256: str = Field(description="Of the content in UTF-8: compare it with what you are about to carry out.")
    rehearsal: Rehearsal
    record_hash: str
    issued: Moment
    expires: Moment
    signature: str = Field(description="Base64.")


class UsedReceipt(Strict):
    id: Identifier
    judgement: Identifier
    content_sha256: str
    consumed: Moment
    council: JudgedBy | None
    agents_sha256: AgentsSha256
    rehearsal: Rehearsal


class VerifierKey(Strict):
    log: str
    key: str
