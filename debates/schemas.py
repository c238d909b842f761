"""Schemas of API requests and responses. They check types only; `forms` validates the values."""

from typing import Annotated, Literal

from ninja import Field
from pydantic import ConfigDict, StrictBool, StrictInt

from engine.models import TITLE_LENGTH
from engine.models.documents import TITLE_LENGTH as DOCUMENT_TITLE_LENGTH
from runs.procedure.schemas import ForkableRun, GateOut, Moment, NewFork, StrictSchema, optional_text, text_field

from .form_fields import DEFAULT_REPLY_HOURS, LEAST_MEMBERS, LEAST_OPTIONS, MAX_REPLY_HOURS
from .forms import SEED_WORD_LENGTH
from .models import (
    CONTENT_LENGTH,
    DOCUMENTS,
    MEANING_LENGTH,
    MOST_MEMBERS,
    MOST_OPTIONS,
    NAME_LENGTH,
    QUESTION_LENGTH,
    WHO_LENGTH,
    WORD_LENGTH,
)
from .rules import state as rules

Direction = Literal["for", "between", "against"]
ModelName = Annotated[str, text_field(200)]
Rule = Literal["plurality", "majority", "two_thirds", "unanimous", "median", "none"]
View = Literal["perspective", "minutes"]
Status = Literal["queued", "running", "waiting", "finished", "failed", "cancelled"]
Act = Literal["ask", "extend", "close", "close_at_once", "end", "recall", "give_up", "withdraw"]
ActDone = Literal[Act, "look"]

# ---- requests ---------------------------------------------------------------------------------------------


class NewDebateOption(StrictSchema):
    word: Annotated[str, text_field(WORD_LENGTH, 1)]
    meaning: Annotated[str, text_field(MEANING_LENGTH)] | None = None
    direction: Direction | None = Field(None, description="For the look alone: what it comes to for the question.")


class NewDebateMember(StrictSchema):
    """A model's seat has `model`, a person's `user`."""

    name: Annotated[str, text_field(NAME_LENGTH, 1)]
    who: Annotated[str, text_field(WHO_LENGTH)] | None = Field(
        None, description="Expertise, character, way of speaking."
    )
    model: ModelName | None = Field(None, description="As provider/model.")
    fallback: ModelName | None = Field(None, description="A model to ask where the first one fails.")
    user: Annotated[str, text_field(150)] | None = Field(None, description="The name of the account of a person.")


class NewDebateDocument(StrictSchema):
    """A text that all members read and may cite by its lines."""

    title: Annotated[str, text_field(DOCUMENT_TITLE_LENGTH)] | None = None
    text: Annotated[str, text_field(DOCUMENTS.characters, 1)]


class NewDebate(StrictSchema):
    """A question, what a verdict can be, and who argues about it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "question": "Should the library open on Sundays?",
                    "options": [{"word": "OPEN", "direction": "for"}, {"word": "STAY CLOSED", "direction": "against"}],
                    "members": [
                        {"name": "Ada", "who": "Runs the library.", "model": "openai/gpt-5-mini"},
                        {"name": "Ben", "who": "Keeps the city's books.", "model": "openai/gpt-5-mini"},
                    ],
                }
            ]
        },
    )

    question: Annotated[str, text_field(QUESTION_LENGTH, 1)] = Field(description="What is to be decided.")
    title: Annotated[str, text_field(TITLE_LENGTH)] | None = Field(
        None, description="Without one it is the first line of the question."
    )
    panel: StrictInt | Annotated[str, text_field(NAME_LENGTH, 1)] | None = Field(
        None, description="The name or the id of a panel, which has options, members and rules."
    )
    version: StrictInt | None = Field(None, description="Of the panel, where it must be this one.")
    options: list[NewDebateOption] | None = Field(
        None,
        description=f"Without a panel: {LEAST_OPTIONS} to {MOST_OPTIONS}, in their order. "
        "ABSTAIN is always possible and is none.",
    )
    members: list[NewDebateMember] | None = Field(
        None, description=f"Without a panel: {LEAST_MEMBERS} to {MOST_MEMBERS}, in the order of their seats."
    )
    documents: list[NewDebateDocument] = Field(
        [],
        description=f"{DOCUMENTS.number} at most, with {DOCUMENTS.characters:,} characters together. Files come as "
        "parts named documents of a multipart body, in which the part debate has these fields.",
    )
    encoding: Annotated[str, text_field(40)] | None = Field(
        None, description="Encoding of files that are not in UTF-8 and do not state their own, such as windows-1252."
    )
    timekeeper: ModelName | None = Field(None, description="The model that words its notes; none for stated sentences.")
    rule: Rule = Field("majority", description="What makes an outcome of the verdicts.")
    most: StrictInt = Field(
        rules.USUAL_MOST, description=f"Messages at most, {rules.LEAST_MOST} to {rules.MOST}; not below the members."
    )
    spend: Annotated[str, text_field(30)] | None = Field(None, description="Dollars at most, as a decimal: 3.00.")
    until: Annotated[str, optional_text(format="date-time")] | None = Field(
        None, description="When it closes at the latest; empty: as long as it takes."
    )
    reply_within: StrictInt | None = Field(
        DEFAULT_REPLY_HOURS,
        description=f"Hours that a person has for a turn, 1 to {MAX_REPLY_HOURS:,}; null without end.",
    )
    first: StrictBool = Field(True, description="Ask each member alone first.")
    reply: StrictBool = Field(True, description="The member who is asked answers next, at most twice in a row.")
    call: StrictBool = Field(True, description="Call members that are silent for too long.")
    challenge: StrictBool = Field(True, description="When all agree, hear the case against it before it ends.")
    free_floor: StrictBool = Field(False, description="The last speaker may be drawn again, and continues then.")
    advisory: StrictBool = Field(False, description="The outcome advises: people decide, and pages and record say so.")
    view: View = Field("perspective", description="How members see what was said before.")
    seed: Annotated[str, text_field(64, 64)] | None = Field(
        None, description="64 hexadecimal digits, to hold a debate again with the same draws."
    )
    word: Annotated[str, text_field(SEED_WORD_LENGTH)] | None = Field(
        None, description="A word of one's own: the seed is then SHA-256 of what was drawn and the word."
    )


class NewDebateFork(NewFork):
    message: int = Field(ge=1, description="The number of the message after which it goes on.")


class DebateMessageIn(StrictSchema):
    """What the chair says."""

    text: Annotated[str, text_field(CONTENT_LENGTH, 1)]
    to: StrictInt | Literal["everyone"] = Field("everyone", description="The seat of a member, or everyone.")
    ask: StrictBool = Field(False, description="Whether that member has the floor next.")


class SteeringIn(StrictSchema):
    """`amount` is for extending, `member` for asking, recalling and giving up, the others for withdrawing."""

    kind: Act = Field(description="All are the chair's, but withdrawing: that does a person who sits on a seat.")
    amount: StrictInt = Field(rules.SPAN, description="Messages more, in steps of twenty, up to 200 in all.")
    member: StrictInt | None = Field(None, description="The seat of whom it is about.")
    verdict: Annotated[str, text_field(WORD_LENGTH)] | None = Field(
        None, description="An option or ABSTAIN; without one it stays as it is."
    )
    reasoning: Annotated[str, text_field(CONTENT_LENGTH)] | None = None


# ---- responses --------------------------------------------------------------------------------------------


class ClockOut(StrictSchema):
    said: int = Field(description="Messages of members so far; one and its continuation count once.")
    most: int
    to_deadline: int


class TurnOut(StrictSchema):
    member: int
    why: Literal["asked", "reply", "roll_call", "challenge", "call", "draw", "closing"]


class DebateOptionOut(StrictSchema):
    number: int
    word: str
    meaning: str
    direction: Direction


class DocumentOut(StrictSchema):
    id: str = Field(examples=["A1"], description="As messages cite it.")
    title: str
    kind: Literal["text", "markdown", "csv", "pdf"]
    lines: int
    sha256: str = Field(description="Of the file as it came; empty once redacted.")


class DebateMemberOut(StrictSchema):
    seat: int = Field(description="1 to 9; the timekeeper has 0.")
    kind: str
    name: str
    who: str
    model: str | None
    fallback: str | None
    user: str | None
    stands_by: str | None = Field(description="An option.")
    abstained: bool
    reasoning: str
    since: int | None = Field(description="The message since which it supports that option.")
    withdrawn: bool
    silent: bool
    messages: int


class MessagePointOut(StrictSchema):
    number: str = Field(examples=["46.1"])
    claim: str
    option: str | None
    side: str
    document: str | None = Field(examples=["A1"])
    line: int | None
    answers: str | None = Field(description="The number of the point that it answers.", examples=["12.1"])


class ArtifactOut(StrictSchema):
    title: str
    kind: Literal["text", "table", "bars"]
    text: str
    columns: list[str]
    rows: list[list[str]]


class DebateMessageOut(StrictSchema):
    number: int
    id: str = Field(examples=["7f3a9c21-46"])
    at: Moment
    kind: Literal["said", "note", "chair", "closing", "leaving"]
    seat: int | None = Field(description="Null for the chair.")
    name: str
    speaking_to: list[str] = Field(description="Names, or everyone.")
    expects_answer: bool
    content: str
    points: list[MessagePointOut]
    artifact: ArtifactOut | None
    verdict: str | None = Field(description="An option, where this message stated one.")
    abstained: bool
    verdict_reasoning: str
    moved_by: list[int] = Field(description="The messages that it names as what changed its mind.")
    withdrawn: bool
    continues: int | None
    clock: int | None = Field(description="The how manieth of the members' messages it is.")
    heard: int = Field(description="The newest message that its speaker had read.")
    cut: bool
    repeats: int | None = Field(description="The earlier message that says the same, word for word.")


class DebateAct(StrictSchema):
    """What somebody did to the debate as its chair. Who leaves a seat out of turn does so in a message."""

    number: int = Field(description="Acts are numbered separately: it is not the number of a message.")
    at: Moment
    kind: ActDone = Field(
        description="`withdraw` is in older debates only; `look`, at the verdicts given alone, changes nothing."
    )
    by: str = Field(description="Name of the account; the timekeeper's where it gave up the seat of an ended account.")
    seat: int | None = Field(description="Seat of the member that it is about.")
    amount: int | None = Field(description="Number of additional messages.")
    after: int = Field(description="Number of the newest message at that time.")
    verdict: str | None
    abstained: bool
    verdict_reasoning: str


class DebateMessageListOut(StrictSchema):
    results: list[DebateMessageOut]


class FirstVerdictOut(StrictSchema):
    seat: int
    verdict: str | None
    abstained: bool
    confidence: int | None
    reasoning: str
    missing: str | None = Field(description="The code of why there is none.")


class FirstVerdictListOut(StrictSchema):
    outcome: str | None = Field(description="What the rule would have made of them, once it is over.")
    verdicts: list[FirstVerdictOut]


class VerdictChangeOut(StrictSchema):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    message: int
    seat: int
    before: str = Field(alias="from")
    to: str
    moved_by: list[int]


class SwitchesOut(StrictSchema):
    first: bool
    reply: bool
    call: bool
    challenge: bool
    free_floor: bool
    advisory: bool


class ExpectedCostOut(StrictSchema):
    calls: int
    dollars: str | None = Field(description="A decimal; null where a price is unknown.")
    likely_dollars: str | None = Field(description="If it ends after 30 messages.")
    minutes: list[int] = Field(description="From and to, if all is said; persons take their own time besides.")


class DebatePanelOut(StrictSchema):
    id: int
    name: str = Field(description="Its name when the debate began.")
    version: int


class PanelOptionOut(StrictSchema):
    word: str
    meaning: str
    direction: Direction


class PanelMemberOut(StrictSchema):
    seat: int
    name: str
    who: str
    model: str = Field(description="Empty for the default one, and for a person.")
    fallback: str
    person: bool = Field(description="A person sits here, whom a debate names by `members`.")


class PanelOptionInShort(StrictSchema):
    word: str


class PanelMemberInShort(StrictSchema):
    seat: int
    name: str
    person: bool = Field(description="A person sits here, whom a debate names by `members`.")


class PanelInShort(StrictSchema):
    id: int
    name: str
    version: int
    members: list[PanelMemberInShort]
    options: list[PanelOptionInShort]
    rule: Rule


class PanelOut(StrictSchema):
    id: int
    name: str
    version: int
    members: list[PanelMemberOut]
    options: list[PanelOptionOut]
    rule: Rule
    timekeeper: str
    view: View
    most: int
    reply_within: int | None
    switches: SwitchesOut


class PanelListOut(StrictSchema):
    """In short, or whole where `full` asks for it."""

    results: list[PanelInShort | PanelOut]


class DebateOut(ForkableRun):
    model_config = ConfigDict(extra="allow")

    kind: Literal["debate"]
    status: Status
    outcome: str | None = Field(description="An option, or no_decision; null until it has finished.")
    question: str
    stage: Literal["first", "open", "closing"] | None = Field(description="Null once it is over.")
    rule: Rule
    most: int
    until: Moment | None
    reply_within: int | None
    view: View
    switches: SwitchesOut
    timekeeper: str | None
    rehearsal: bool = Field(description="True where any answer came from the rehearsal and no model was asked for it.")
    clock: ClockOut
    floor: TurnOut | None
    options: list[DebateOptionOut]
    members: list[DebateMemberOut]
    panel: DebatePanelOut | None = Field(description="That it is by; null where it is nobody's but its own.")
    documents: list[DocumentOut]
    messages: list[DebateMessageOut]
    acts: list[DebateAct]
    tally: dict[str, int] = Field(description="Current verdicts by option.")
    no_decision: Literal["tie", "too_few", "quorum", "no_rule"] | None
    because: str | None = Field(description="Why it ended, or is closing.")
    because_of_absence: list[str] = Field(description="Whose word is missing, and why.")
    first: FirstVerdictListOut | None = Field(
        description="Verdicts that were given alone. Null where not shown: with a person on a seat, before the end."
    )
    changes: list[VerdictChangeOut]
    waits: Literal["person", "time"] | None = Field(description="What it waits for; null while it does not wait.")
    gates: list[GateOut] = Field(description="The turns that persons had or have, oldest first.")
    estimate: ExpectedCostOut
    seed: str | None = Field(description="Once it is over.")
    seed_word: str | None = Field(description="Once it is over.")
    seed_sha256: str = Field(description="Sealed when it was submitted.")
