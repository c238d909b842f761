"""What the API takes and gives, for its description and for a first check."""

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
    """Of the plan, of each result of research, of the answer: a model, a person (whose run it is, or who may decide for
    all), or the council of a name; null: the roster's, or a model."""

    plan: Critic | None = None
    research: Critic | None = None
    answer: Critic | None = None


class RoleModels(StrictSchema):
    """Of those who work, and of all critics that are models; null: the one of all posts."""

    planner: Annotated[str, text_field(200)] | None = None
    researcher: Annotated[str, text_field(200)] | None = None
    expert: Annotated[str, text_field(200)] | None = None
    finalizer: Annotated[str, text_field(200)] | None = None
    critics: Annotated[str, text_field(200)] | None = None


class InquiryLimitsIn(StrictSchema):
    """What one inquiry may use up; null: what is usual."""

    moves: Annotated[StrictInt | None, Field(description="Of a try of one step, 1 to 40; usually 12.")] = None
    tokens: Annotated[StrictInt | None, Field(description="Of one step with all its tries; usually 60,000.")] = None
    pages: Annotated[StrictInt | None, Field(description="Of the web that are read, 0 to 200; usually 40.")] = None
    minutes: Annotated[StrictInt | None, Field(description="Of work; time at a gate is none. Usually 30.")] = None


class NewInquiry(StrictSchema):
    """A question, and what it is answered from."""

    question: Annotated[str, text_field(QUESTION_LENGTHS[1], QUESTION_LENGTHS[0])]
    title: Annotated[str, text_field(TITLE_LENGTH)] | None = Field(
        None, description="Without one: the question's first line."
    )
    model: Annotated[str, text_field(200)] | None = Field(
        None, description="Of all posts; null: the installation's default."
    )
    roster: Annotated[str, text_field(60, 1)] | None = Field(
        None, description="The name of one in the library: what it says of the posts holds where nothing else is said."
    )
    models: RoleModels = Field(RoleModels(), description="Other models at single posts.")
    fallback: Annotated[str, text_field(200)] | None = Field(
        None, description="Is asked where a model does not answer."
    )
    limits: InquiryLimitsIn = Field(InquiryLimitsIn(), description="What it may use up.")
    retry_limit: StrictInt | None = Field(
        None, description="Limit of retries after rejections and errors, 1 to 20; null: the usual."
    )
    spend: Annotated[str, text_field(20)] | None = Field(None, description="Dollars at most, as in 3.00.")
    follows: Annotated[UUID, Field(strict=False)] | None = Field(
        None, description="The inquiry whose sources are taken over, and its answer."
    )
    collections: list[Annotated[str, text_field(80, 1)]] = Field(
        [], max_length=20, description="In which it looks, too."
    )
    web: bool = Field(False, description="Whether it may look outside, where a search is set up.")
    two_sites: bool = Field(False, description="Whether a claim that rests on sites alone has to rest on two.")
    hosts: list[Annotated[str, text_field(200)]] = Field(
        [], max_length=50, description="The only sites that it reads there."
    )
    critics: InquiryCritics = Field(InquiryCritics(), description="Who approves or rejects work.")
    documents: list[NewInquirySource] = Field(
        [],
        description="Documents to search; without any, and without the web, those of MAGI itself are. Files come as "
        "parts named documents of a multipart body, in which the part inquiry has these fields.",
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
    parts: list[list[int]] = Field(description="From which to which character of the source each part stands.")


class InquiryClaimOut(StrictSchema):
    number: int
    text: str
    quotes: list[ClaimQuoteOut]
    reasoned_from: list[int]
    calculated: list[str] = Field(
        description="The calculations that it rests on, step by step, as each was worked out."
    )
    flags: list[str] = Field(description="Reasons to check it: flags of all its sources, or of its calculations.")
    bare: bool = Field(description="Whether it has a number that is in nothing that it rests on.")


class InquirySourceOut(StrictSchema):
    number: int
    kind: str
    title: str
    address: str | None = Field(description="Of a page, after redirects.")
    asked: str | None = Field(description="The address that was asked for.")
    flags: list[str] = Field(description="What is worth a look, as that it speaks to machines.")
    text_digest: str | None = Field(description="SHA-256 of the text as it was read.")
    bytes_digest: str | None = Field(description="SHA-256 of what was sent.")
    read: Moment


class WordingPiece(StrictSchema):
    text: str
    own: bool = Field(description="Whether these are the finalizer's words; the others were approved.")


class FinalizerWords(StrictSchema):
    """What a finalizer said beside the answer. No critic has read it."""

    wording: list[WordingPiece] = Field(description="Empty where it added no words.")
    told: str | None = Field(description="How the answer was reached, in its words; `trace` is made by code.")
    approved: str | None = Field(description="The approved answer, where `answer` is another, as in older records.")


class NotUsed(StrictSchema):
    step: int
    result: str
    why: str = Field(description="In the expert's words; empty where it gave no reason.")
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
        description="What can be said to it now; all else is refused."
    )
    retries: int
    retry_limit: int
    limits: dict[str, int]
    web: bool
    collections: list[str]
    roster: str | None = Field(description="Name and version; null where the posts are not those of one.")
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
