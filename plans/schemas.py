"""Request and response schemas of the API of plans."""

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
        None, description="A name of your own. The planner sees how earlier plans of the same matter ended."
    )
    spend: Annotated[str, text_field(20)] | None = Field(None, description="Dollars at most, as in 3.00.")
    begin: str | None = Field(
        None, alias="from", description="The id of a completed plan of your own; the planner sees its steps."
    )


class PlanListQuery(ProcedureRunListQuery):
    """Filters of plans. An empty or missing filter matches all."""

    team: Annotated[str, text_field(NAME_LENGTH)] = Field("", description="The name or id of a team.")
    matter: Annotated[str, text_field(100)] = Field("", description="The name or id of a matter of your own.")
    waits_for: Literal["", "me"] = Field("", description="Only plans with a gate that waits for the token's owner.")


class ProjectChange(StrictSchema):
    """Fields that are left out stay unchanged."""

    title: Annotated[str, text_field(TITLE_LENGTH)] | None = Field(
        None, description="Shown instead of the name; empty: the title of its first plan."
    )
    closed: bool | None = Field(None, description="Removes it from lists and choices.")


class ProjectOut(StrictSchema):
    id: Identifier
    name: str
    title: str
    current_status: Literal["active", "completed"]
    message_to_user: str | None = Field(description="The text of the newest gate that waits for its owner.")
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
    tools_due: bool = Field(description="Whether the planner has yet to name the tools, since the action was changed.")
    needs: list[int] | None = Field(description="Numbers of steps; null: all before it.")
    effect: Effect
    status: StepStatus
    actions: list[Literal["change", "say"]] = Field(description="Actions that are possible now; others are refused.")
    skipped: bool
    reply: str | None
    claimed: bool = Field(
        description="For a step that writes or sends: its agent says that it is done, but no tool call shows it."
    )
    note: str | None = Field(description="Why it is claimed, in a sentence.")
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
    begun_from: Identifier | None = Field(alias="from", description="The plan whose steps its planner was shown.")
    policy: dict[str, Any]
    plan_revision: int = Field(
        description="Number of revisions with steps; 0 before the first. `revision` counts all changes."
    )
    questions: list[str]
    counts: StepCountsOut
    actions: list[Literal["say"]] = Field(description="Actions on the plan itself that are possible now.")
    steps: list[PlanStepOut]
    summary: str
    figures: str = Field(description="What its tools did, by counting calls; to check the summary.")
    tainted: bool = Field(description="Whether it has read untrusted text; then every change needs approval.")
    rehearsal: bool
    waits: Literal["person", "time"] | None
    gates: list[GateOut] = Field(description="Its gates, oldest first.")


class NewPlanFork(NewFork):
    step: int = Field(ge=1, description="The number of the step after which the fork goes on.")


class PlanCommentIn(StrictSchema):
    text: Annotated[str, text_field(4_000, 1)]
    step: StrictInt | None = Field(None, description="The number of a step, for its agent; null: for the planner.")


class StepChange(StrictSchema):
    """Fields that are left out stay unchanged."""

    action: Annotated[str, text_field(2_000, 2)] | None = None
    owner: Annotated[str, text_field(80, 1)] | None = None
    tools: list[str] | None = Field(
        None, description="If action or owner change and this is left out or null, the planner names owner and tools."
    )
    needs: list[int] | None = Field(None, description="Numbers of steps before it; null: all of them.")


class TeamAgentInShort(StrictSchema):
    name: str
    model: str | None = Field(description="Null: the installation's default model.")


class TeamInShort(StrictSchema):
    id: int
    name: str
    version: int
    description: str
    agents: list[TeamAgentInShort]


class TeamAgentOut(StrictSchema):
    name: str
    description: str
    model: str | None = Field(description="Null: the installation's default model.")
    tools: list[str]


class TeamOut(StrictSchema):
    id: int
    name: str
    version: int
    description: str
    policy: dict[str, Any]
    agents: list[TeamAgentOut]


class TeamAgentDetailOut(TeamAgentOut):
    system: str = Field(description="Its instructions.")
    fallback: str | None


class TeamDetailOut(TeamOut):
    planner: str | None = Field(description="The planner's model; null: the installation's default model.")
    examples: list[str]
    retention_days: int | None = Field(description="Days for which texts of its plans are kept; null: without limit.")
    agents: list[TeamAgentDetailOut]  # type: ignore[assignment]


class TeamListOut(StrictSchema):
    """Short entries, or complete ones with `full`."""

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
    left_out: list[str] = Field(description="Parts of the file that were not used, a sentence each.")


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
    left_out: list[LeftOut] = Field(description="Tools of MCP servers that cannot be used, and why.")
