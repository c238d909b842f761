"""What the API takes and gives, for its description and for a first check."""

from typing import Annotated, Any, Literal

from ninja import Field
from pydantic import StrictInt

from engine.models import TITLE_LENGTH
from runs.presets import NAME_LENGTH
from runs.procedure.schemas import (
    ForkableRun,
    GateOut,
    Identifier,
    Moment,
    NewFork,
    ProcedureRunListQuery,
    StrictSchema,
    text_field,
)

from .models.plans import TASK_LENGTH

Status = Literal["queued", "running", "waiting", "finished", "failed", "cancelled"]
StepStatus = Literal[
    "planned", "awaiting_feedback", "approved", "rejected", "action_requested", "completed", "failed", "superseded"
]
Effect = Literal["reads", "writes", "reaches_out"]


class NewPlan(StrictSchema):
    """A task in your own words, and who plans it and carries it out."""

    task: Annotated[str, text_field(TASK_LENGTH, 1)]
    title: Annotated[str, text_field(TITLE_LENGTH)] | None = Field(
        None, description="Without one: the task's first line."
    )
    team: str | None = Field(None, description="The name or id of a team; without one the first that is offered.")
    matter: Annotated[str, text_field(100, 1)] | None = Field(
        None, description="A name of your own: plans of one matter know how the earlier ones came out."
    )
    spend: Annotated[str, text_field(20)] | None = Field(None, description="Dollars at most, as in 3.00.")
    begin: str | None = Field(
        None, alias="from", description="The id of an own plan that is done: its steps are shown to the planner."
    )


class PlanListQuery(ProcedureRunListQuery):
    """Which plans. Whatever is left out or empty restricts nothing."""

    team: Annotated[str, text_field(NAME_LENGTH)] = Field("", description="The name or id of a team.")
    matter: Annotated[str, text_field(100)] = Field("", description="The name or id of a matter of one's own.")
    waits_for: Literal["", "me"] = Field("", description="Those in which a gate waits for the token's owner.")


class ProjectChange(StrictSchema):
    """Whatever is left out stays as it is."""

    title: Annotated[str, text_field(TITLE_LENGTH)] | None = Field(
        None, description="What it is called instead; empty: by its first plan."
    )
    closed: bool | None = Field(None, description="Takes it out of lists and choices, no more.")


class ProjectOut(StrictSchema):
    id: Identifier
    name: str
    title: str
    current_status: Literal["active", "completed"]
    message_to_user: str | None = Field(description="The newest sentence that waits for its owner.")
    ts: Moment
    closed: bool


class ProjectListOut(StrictSchema):
    results: list[ProjectOut]


class ToolUseOut(StrictSchema):
    tool: str
    effect: Effect
    status: str
    arguments: dict[str, Any]
    output: str
    error: str


class PlanStepOut(StrictSchema):
    number: int
    owner: str
    action: str
    first_action: str
    tools: list[str]
    tools_due: bool = Field(description="Whether the planner has still to name them: its action was changed.")
    needs: list[int] | None = Field(description="Numbers of steps; null: all before it.")
    effect: Effect
    status: StepStatus
    actions: list[Literal["change", "say"]] = Field(description="What can be done to it now; all else is refused.")
    skipped: bool
    reply: str | None
    claimed: bool = Field(
        description="Whether its agent says that it is done and no tool call shows it: of a step that writes or sends."
    )
    note: str | None = Field(description="What claimed means here, in a sentence.")
    error: str | None
    calls: list[ToolUseOut]
    began: Moment | None


class StepCountsOut(StrictSchema):
    total: int
    completed: int
    pending: int
    rejected: int
    failed: int


class PlanTeamOut(StrictSchema):
    id: int
    name: str
    version: int


class PlanOut(ForkableRun):
    status: Status
    outcome: Literal["done", "claimed", "rejected", "failed"] | None
    task: str
    team: PlanTeamOut
    matter: str | None
    begun_from: Identifier | None = Field(alias="from", description="The plan from which it began.")
    policy: dict[str, Any]
    plan_revision: int = Field(
        description="How often the planner has made steps, 0 before the first time; `revision` counts all changes."
    )
    questions: list[str]
    counts: StepCountsOut
    actions: list[Literal["say"]] = Field(description="What can be done to the plan now, beside its steps and gates.")
    steps: list[PlanStepOut]
    summary: str
    figures: str = Field(description="What its tools really did, by counting calls: hold the summary against it.")
    tainted: bool = Field(description="Whether text of strangers was read: then every change is asked about.")
    rehearsal: bool
    waits: Literal["person", "time"] | None
    gates: list[GateOut] = Field(description="What people and councils were asked, oldest first.")


class NewPlanFork(NewFork):
    step: int = Field(ge=1, description="The number of the step after which it goes on.")


class PlanCommentIn(StrictSchema):
    text: Annotated[str, text_field(4_000, 1)]
    step: StrictInt | None = Field(None, description="The number of a step, for its agent; null: for the planner.")


class StepChange(StrictSchema):
    """Whatever is left out stays as it is."""

    action: Annotated[str, text_field(2_000, 2)] | None = None
    owner: Annotated[str, text_field(80, 1)] | None = None
    tools: list[str] | None = Field(
        None, description="Left out or null where action or owner change: the planner names who does it and with what."
    )
    needs: list[int] | None = Field(None, description="Numbers of steps before it; null: all of them.")


class TeamAgentInShort(StrictSchema):
    name: str
    model: str | None = Field(description="Null: the installation's default one.")


class TeamInShort(StrictSchema):
    id: int
    name: str
    version: int
    description: str
    agents: list[TeamAgentInShort]


class TeamAgentOut(StrictSchema):
    name: str
    description: str
    model: str | None = Field(description="Null: the installation's default one.")
    tools: list[str]


class TeamOut(StrictSchema):
    id: int
    name: str
    version: int
    description: str
    policy: dict[str, Any]
    agents: list[TeamAgentOut]


class TeamAgentDetailOut(TeamAgentOut):
    system: str = Field(description="What it is told.")
    fallback: str | None


class TeamDetailOut(TeamOut):
    planner: str | None = Field(description="The model that plans; null: the installation's default one.")
    examples: list[str]
    retention_days: int | None = Field(description="For so long texts of its plans are kept; null: for ever.")
    agents: list[TeamAgentDetailOut]  # type: ignore[assignment]


class TeamListOut(StrictSchema):
    """In short, or whole where `full` asks for it."""

    results: list[TeamInShort | TeamDetailOut]


class TeamFileAgent(StrictSchema):
    name: str
    description: str
    system: str
    model: str
    fallback: str
    tools: list[str]


class TeamFileIn(StrictSchema):
    name: str
    description: str
    planner: str
    policy: dict[str, Any]
    examples: list[str]
    agents: list[TeamFileAgent]


class TeamSavedOut(StrictSchema):
    team: TeamDetailOut
    left_out: list[str] = Field(description="What of the file is in no team, a sentence each.")


class ToolOut(StrictSchema):
    name: str
    description: str
    effect: Effect
    source: str
    arguments: dict[str, Any] = Field(description="The JSON schema of its arguments.")


class LeftOut(StrictSchema):
    server: str
    why: str


class ToolListOut(StrictSchema):
    results: list[ToolOut]
    left_out: list[LeftOut] = Field(description="Tools that MCP servers last offered and that cannot be used, and why.")
