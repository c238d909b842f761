"""Request and response schemas of the API of missions."""

from typing import Annotated, Any, Literal

from ninja import Field

from engine.models import TITLE_LENGTH
from runs.procedure.schemas import ForkableRun, GateOut, NewFork, SoughtSaved, StrictSchema, text_field

Status = Literal["queued", "running", "waiting", "finished", "failed", "cancelled"]


class NewMissionAgent(StrictSchema):
    name: Annotated[str, text_field(40, 1)]
    description: Annotated[str, text_field(2_000)] = ""
    model: Annotated[str, text_field(200)] | None = None
    tools: list[Annotated[str, text_field(120)]] | None = Field(None, description="Null: all that agents may have.")


class NewMissionFile(StrictSchema):
    path: Annotated[str, text_field(1_000, 1)]
    text: Annotated[str, text_field(400_000)]


class NewMission(StrictSchema):
    """A goal, who works on it, and what the workspace holds at first."""

    goal: Annotated[str, text_field(20_000, 1)]
    title: Annotated[str, text_field(TITLE_LENGTH)] | None = Field(
        None, description="Without one: the goal's first line."
    )
    crew: Annotated[str, text_field(100)] | None = Field(
        None, description="The name of one; null: the coordinator alone."
    )
    agents: list[NewMissionAgent] | None = Field(
        None, description="Instead of a crew; the first coordinates.", json_schema_extra={"minItems": 1}
    )
    model: Annotated[str, text_field(200)] | None = Field(None, description="Of who has none; null: the usual one.")
    files: list[NewMissionFile] = Field(
        [],
        description="What the workspace holds at first; without any it is empty. Texts, a zip or tar, and a repository "
        "(a zip or tar with its folder .git, or a bundle of git) also come as parts named files of a multipart body, "
        "in which the part mission has these fields.",
    )
    git: Annotated[str, text_field(1_000)] | None = Field(
        None, description="A repository of `MAGI_WORKSPACES_FROM`, with a clone of which it begins."
    )
    mission: str | None = Field(None, description="The id of one that is over, whose files this one goes on with.")
    check: Annotated[str, text_field(16_000)] | None = Field(None, description="A command that has to end with 0.")
    limits: dict[str, int] = Field({}, description="Of the whole tree: steps, minutes, agents, terminals and others.")
    policy: dict[str, str] = Field(
        {}, description="Who decides about `network` and `publish`: both, person, never; council for publish."
    )
    spend: Annotated[str, text_field(20)] | None = Field(None, description="Dollars at most, as in 3.00.")


class NewMissionFork(NewFork):
    step: int = Field(ge=1, description="How many steps come along, in the order in which they came to their ends.")


class MissionMessageIn(StrictSchema):
    text: Annotated[str, text_field(8_000, 1)]
    to: Annotated[str, text_field(40)] = Field("", description="The name of an agent; empty: the coordinator.")


class MissionCheckOut(StrictSchema):
    command: str
    exit_code: int | None


class MissionOut(ForkableRun):
    status: Status
    outcome: Literal["done", "unproven"] | None
    goal: str
    result: str | None
    unproven: str | None
    figures: str = Field(description="What its tools really did, by counting: hold the result against it.")
    check: MissionCheckOut | None
    agents: list[dict[str, Any]]
    steps: list[dict[str, Any]]
    messages: list[dict[str, Any]]
    terminals: list[dict[str, Any]]
    files: list[dict[str, Any]]
    branches: list[dict[str, Any]]
    limits: dict[str, int]
    follows: str | None
    paused: bool
    rehearsal: bool
    waits: Literal["person", "run", "time"] | None
    gates: list[GateOut]


class Cursor(StrictSchema):
    row: int = Field(description="From 1, as the column; of a wide sign both columns count.")
    column: int
    shown: bool


class TerminalScreen(StrictSchema):
    rows: int
    columns: int
    text: str = Field(description="One line for each row, without what is blank at its end.")
    cursor: Cursor


class TerminalOut(StrictSchema):
    number: int
    command: str
    exit_code: int | None
    reason: str
    seconds: int | None
    size: int | None
    living: bool
    text: str = Field(description="What it has printed, while it lives so far; what an editor draws is on its screen.")
    screen: TerminalScreen | None = Field(description="Of one that lives on this machine.")
    waits_for: Literal["input", "time", "child"] | None = Field(
        description="While it lives, as the kernel says; null where it computes, or nobody can know."
    )
    children: list[str] = Field(description="Names of the processes that it waits for, where these are its children.")


class PatchOut(StrictSchema):
    patch: str = Field(description="A unified difference since the beginning, of what is kept as text.")


# ---- memories -------------------------------------------------------------------------------------------------

Name = Annotated[str, Field(min_length=1, max_length=60)]
MemoryTextIn = Annotated[str, Field(max_length=20_000)]
DescribedField = Annotated[str, Field(max_length=300)]


class NewMemory(StrictSchema):
    name: Name
    text: MemoryTextIn = Field(description="Markdown.")
    description: DescribedField = ""
    active_for: list[Name] = Field([], description="Names of agents, or all: whole in their prompts.")
    visible_to: list[Name] = Field([], description="By its name, for them to bring it in.")
    except_for: list[Name] = Field([], description="For these it is not there.")
    library: str = Field("", max_length=80, description="The name of a library; empty: everybody's.")


class MemoryChange(StrictSchema):
    base: int = Field(description="The version that it was written from.", ge=1)
    text: MemoryTextIn | None = None
    description: DescribedField | None = None
    active_for: list[Name] | None = Field(None, description="Whole lists; null: as it is.")
    visible_to: list[Name] | None = None
    except_for: list[Name] | None = None


class MemoryDecision(StrictSchema):
    version: int = Field(description="Of the proposal.", ge=1)
    accept: bool = True


class SoughtMemories(SoughtSaved):
    library: str = Field("", max_length=80, description="The name of a library; empty: everybody's.")


class MemoryInShort(StrictSchema):
    name: str
    file: str
    library: str
    version: int
    base: int
    state: Literal["proposed", "accepted", "refused"]
    description: str
    by: str
    decided_by: str
    mission: str | None


class MemoryOut(StrictSchema):
    name: str
    file: str
    library: str
    version: int
    base: int
    state: Literal["proposed", "accepted", "refused"]
    description: str
    text: str
    active_for: list[str]
    visible_to: list[str]
    except_for: list[str]
    by: str
    decided_by: str
    mission: str | None


class MemoryListOut(StrictSchema):
    """In short, or whole where `full` asks for it."""

    results: list[MemoryInShort | MemoryOut]
    proposals: list[MemoryInShort | MemoryOut]
