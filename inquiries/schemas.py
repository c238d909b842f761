"""Request and response schemas of the API of inquiries."""

from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Field
from pydantic import StrictInt

from engine.models import TITLE_LENGTH
from runs.procedure.schemas import GateOut, Moment, RunOut, StrictSchema, text_field

from .rules.limits import QUESTION_LENGTHS

Status = Literal["queued", "running", "waiting", "finished", "failed", "cancelled"]


class NewInquirySource(StrictSchema):
    title: Annotated[str, text_field(120)] | None = None
    text: Annotated[str, text_field(3_000_000, 1)]


class CriticCouncil(StrictSchema):
    council: Annotated[str, text_field(100, 1)]


Critic = Literal["model", "person"] | CriticCouncil


class InquiryCritics(StrictSchema):
    """Reviewers of the plan, of each research result, and of the answer: a model, a person (the run's owner, or people
    who may decide for all), or a council by name; null: as in the roster, else a model."""

    plan: Critic | None = None
    research: Critic | None = None
    answer: Critic | None = None


class RoleModels(StrictSchema):
    """Models of single roles, and of all critics that are models; null: the model of all roles."""

    planner: Annotated[str, text_field(200)] | None = None
    researcher: Annotated[str, text_field(200)] | None = None
    expert: Annotated[str, text_field(200)] | None = None
    finalizer: Annotated[str, text_field(200)] | None = None
    critics: Annotated[str, text_field(200)] | None = None


class InquiryLimitsIn(StrictSchema):
    """Limits of one inquiry; null: the default."""

    moves: Annotated[StrictInt | None, Field(description="Per try of a step, 1 to 40; default 12.")] = None
    tokens: Annotated[StrictInt | None, Field(description="Per step, with all its tries; default 60,000.")] = None
    pages: Annotated[StrictInt | None, Field(description="Pages of the web, 0 to 200; default 40.")] = None
    minutes: Annotated[StrictInt | None, Field(description="Minutes of work, without time at gates; default 30.")] = (
        None
    )


class NewInquiry(StrictSchema):
    """A question with its sources, models and limits."""

    question: Annotated[str, text_field(QUESTION_LENGTHS[1], QUESTION_LENGTHS[0])]
    title: Annotated[str, text_field(TITLE_LENGTH)] | None = Field(
        None, description="Without one: the question's first line."
    )
    model: Annotated[str, text_field(200)] | None = Field(
        None, description="The model of all roles; null: the installation's default."
    )
    roster: Annotated[str, text_field(60, 1)] | None = Field(
        None, description="The name of a roster in the library; its roles apply where this request leaves them out."
    )
    models: RoleModels = Field(RoleModels(), description="Models of single roles.")
    fallback: Annotated[str, text_field(200)] | None = Field(
        None, description="Model that is used if another one does not answer."
    )
    limits: InquiryLimitsIn = Field(InquiryLimitsIn(), description="Limits of the inquiry.")
    retry_limit: StrictInt | None = Field(
        None, description="Limit of retries after rejections and errors, 1 to 20; null: the usual."
    )
    spend: Annotated[str, text_field(20)] | None = Field(None, description="Dollars at most, as in 3.00.")
    follows: Annotated[UUID, Field(strict=False)] | None = Field(
        None, description="The inquiry whose sources and answer are taken over."
    )
    collections: list[Annotated[str, text_field(80, 1)]] = Field(
        [], max_length=20, description="Collections whose documents are sources, too."
    )
    web: bool = Field(False, description="Whether it may use the web, if a search is set up.")
    two_sites: bool = Field(False, description="Whether a claim that rests on web pages only needs two sites.")
    hosts: list[Annotated[str, text_field(200)]] = Field(
        [], max_length=50, description="The only hosts whose pages it may read."
    )
    critics: InquiryCritics = Field(InquiryCritics(), description="Who approves or rejects work.")
    documents: list[NewInquirySource] = Field(
        [],
        description="Documents to search; without any, and without the web, MAGI's own documents are used. Files are "
        "sent as parts named documents of a multipart body, whose part inquiry has these fields.",
    )
    encoding: Annotated[str, text_field(40)] | None = Field(
        None, description="Encoding of files that are not in UTF-8 and do not state their own, such as windows-1252."
    )


class InquiryHintIn(StrictSchema):
    text: Annotated[str, text_field(2_000, 1)]


class AssignmentOut(StrictSchema):
    number: int
    kind: str
    sender: str
    receiver: str
    type: str
    content: str
    step_id: int | None
    reply: dict[str, Any] | None
    decision: str | None
    feedback: str | None
    error: str | None = Field(
        description="The message, which can repeat words of the model or its server, is between quotation marks."
    )
    by: str | None


class ClaimQuoteOut(StrictSchema):
    source: int
    quote: str
    parts: list[list[int]] = Field(description="Start and end character in the source, for each part.")


class InquiryClaimOut(StrictSchema):
    number: int
    text: str
    quotes: list[ClaimQuoteOut]
    reasoned_from: list[int]
    calculated: list[str] = Field(description="The calculations that it rests on, in order.")
    flags: list[str] = Field(description="Reasons to check it: flags of all its sources, or of its calculations.")
    bare: bool = Field(description="Whether it has a number that is in nothing that it rests on.")


class InquirySourceOut(StrictSchema):
    number: int
    kind: str
    title: str
    address: str | None = Field(description="Of a page, after redirects.")
    asked: str | None = Field(description="The address that was asked for.")
    flags: list[str] = Field(description="Reasons to check it, for example that it speaks to machines.")
    text_digest: str | None = Field(description="SHA-256 of the text as it was read.")
    bytes_digest: str | None = Field(description="SHA-256 of the response body.")
    read: Moment


class WordingPiece(StrictSchema):
    text: str
    own: bool = Field(description="Whether these are the finalizer's words; the others were approved.")


class FinalizerWords(StrictSchema):
    """The finalizer's own words. No critic has read them."""

    wording: list[WordingPiece] = Field(description="Empty if it added no words.")
    told: str | None = Field(description="How the answer was reached, in its words; `trace` is made by code.")
    approved: str | None = Field(description="The approved answer if `answer` differs, as in older records.")


class NotUsed(StrictSchema):
    step: int
    result: str
    why: str = Field(description="In the expert's words; empty if it gave no reason.")
    claims: list[str] = Field(description="Claims of that result that the answer does not rest on.")


class InquiryOut(RunOut):
    status: Status
    outcome: Literal["answered", "unanswered"] | None
    question: str
    answer: str | None
    trace: str | None
    finalizer: FinalizerWords | None = Field(description="Null until there is an answer.")
    why: str | None
    in_no_claim: list[str] = Field(
        description="Numbers and names of the answer that are neither in its claims nor in what these rest on."
    )
    not_used: list[NotUsed] = Field(description="Results of research, and claims of them, that the answer leaves out.")
    left_out: list[str] = Field(description="Research steps that were left out because somebody stopped it.")
    actions: list[Literal["hint", "stop", "replan"]] = Field(
        description="Interventions that are possible now; others are refused."
    )
    retries: int
    retry_limit: int
    limits: dict[str, int]
    web: bool
    collections: list[str]
    roster: str | None = Field(description="Name and version; null if the roles are not from a roster.")
    follows: UUID | None
    state: dict[str, Any]
    steps: list[AssignmentOut]
    claims: list[InquiryClaimOut]
    sources: list[InquirySourceOut]
    posts: dict[str, Any]
    rehearsal: bool
    waits: Literal["person", "run", "time"] | None
    gates: list[GateOut]


class SourceTextOut(StrictSchema):
    number: int
    kind: str
    title: str
    text: str
