"""What the API takes and gives, for its description and for a first check."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Field

from engine.models import TITLE_LENGTH
from runs.api.schemas import Gate, Run, Strict, text

from .rules.limits import QUESTION_LENGTHS

Status = Literal["queued", "running", "waiting", "finished", "failed", "cancelled"]


class NewDocument(Strict):
    title: Annotated[str, text(120)] | None = None
    text: Annotated[str, text(3_000_000, 1)]


class CouncilNamed(Strict):
    council: Annotated[str, text(100, 1)]


Critic = Literal["model", "person"] | CouncilNamed


class Critics(Strict):
    """Of the plan, of each result of research, of the answer: a model, a person (whose run it is, or who may decide for
    all), or the council of a name."""

    plan: Critic = "model"
    research: Critic = "model"
    answer: Critic = "model"


class Models(Strict):
    """Of those who work, and of all critics that are models; null: the one of all posts."""

    planner: Annotated[str, text(200)] | None = None
    researcher: Annotated[str, text(200)] | None = None
    expert: Annotated[str, text(200)] | None = None
    finalizer: Annotated[str, text(200)] | None = None
    critics: Annotated[str, text(200)] | None = None


class Limits(Strict):
    """What one inquiry may use up; null: what is usual."""

    moves: Annotated[int | None, Field(description="Of a try of one step, 1 to 40; usually 12.")] = None
    tokens: Annotated[int | None, Field(description="Of one step with all its tries; usually 60,000.")] = None
    pages: Annotated[int | None, Field(description="Of the web that are read, 0 to 200; usually 40.")] = None
    minutes: Annotated[int | None, Field(description="Of work; time at a gate is none. Usually 30.")] = None


class NewInquiry(Strict):
    """A question, and what it is answered from."""

    question: Annotated[str, text(QUESTION_LENGTHS[1], QUESTION_LENGTHS[0])]
    title: Annotated[str, text(TITLE_LENGTH)] | None = Field(
        None, description="Without one: the question's first line."
    )
    model: Annotated[str, text(200)] | None = Field(None, description="Of all posts; null: the installation's default.")
    models: Models = Field(Models(), description="Other models at single posts.")
    fallback: Annotated[str, text(200)] | None = Field(None, description="Is asked where a model does not answer.")
    limits: Limits = Field(Limits(), description="What it may use up.")
    retry_limit: int | None = Field(None, description="How often work may be sent back, 1 to 20; null: the usual.")
    spend: Annotated[str, text(20)] | None = Field(None, description="Dollars at most, as in 3.00.")
    follows: UUID | None = Field(None, description="The inquiry whose sources are taken over, and its answer.")
    collections: list[Annotated[str, text(80, 1)]] = Field([], max_length=20, description="In which it looks, too.")
    web: bool = Field(False, description="Whether it may look outside, where a search is set up.")
    hosts: list[Annotated[str, text(200)]] = Field([], max_length=50, description="The only sites that it reads there.")
    critics: Critics = Field(Critics(), description="Who lets work pass or sends it back.")
    documents: list[NewDocument] = Field(
        [], description="What is looked in; without any, and without the web, the documents of MAGI itself are."
    )


class Words(Strict):
    text: Annotated[str, text(2_000, 1)]


class Step(Strict):
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
    error: str | None
    by: str | None


class Quote(Strict):
    source: int
    quote: str
    parts: list[list[int]] = Field(description="From which to which character of the source each part stands.")


class Claim(Strict):
    number: int
    text: str
    quotes: list[Quote]
    reasoned_from: list[int]


class Source(Strict):
    number: int
    kind: str
    title: str
    address: str | None = Field(description="Of a page, after redirects.")
    asked: str | None = Field(description="The address that was asked for.")
    flags: list[str] = Field(description="What is worth a look, as that it speaks to machines.")
    text_digest: str | None = Field(description="SHA-256 of the text as it was read.")
    bytes_digest: str | None = Field(description="SHA-256 of what was sent.")
    read: datetime


class Inquiry(Run):
    status: Status
    outcome: Literal["answered", "unanswered"] | None
    question: str
    answer: str | None
    trace: str | None
    why: str | None
    retries: int
    retry_limit: int
    limits: dict[str, int]
    web: bool
    collections: list[str]
    follows: UUID | None
    state: dict[str, Any]
    steps: list[Step]
    claims: list[Claim]
    sources: list[Source]
    posts: dict[str, Any]
    rehearsal: bool
    waits: Literal["person", "run", "time"] | None
    gates: list[Gate]


class SourceText(Strict):
    number: int
    kind: str
    title: str
    text: str
