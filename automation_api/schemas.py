"""Request and response schemas under the other planner's names. Unknown keys of requests are ignored."""

from typing import Annotated, Any, Literal

from ninja import Field, Schema

from plans.forms import PROJECT_NAME_LENGTH, WORDS_LENGTH
from plans.models.plans import TASK_LENGTH
from runs.procedure.schemas import Identifier, Moment, StrictTypes, text_field

PlanStatus = Literal["in_progress", "completed", "failed", "canceled"]
StepStatus = Literal["planned", "awaiting_feedback", "approved", "rejected", "action_requested", "completed", "failed"]
FeedbackStatus = Literal["pending", "addressed", "rejected"]


class AutomationRequest(StrictTypes):
    user_id: str | None = Field(None, description="If given, it must be the token's owner.")


class InputTask(AutomationRequest):
    session_id: Annotated[str, text_field(PROJECT_NAME_LENGTH)] | None = Field(
        None, description="The planner sees how earlier plans of the session ended. Without one: a new UUID."
    )
    description: Annotated[str, text_field(TASK_LENGTH, 1)] = Field(description="What is to be done.")


class InputTaskOut(Schema):
    status: str
    session_id: str
    plan_id: Identifier
    description: str
    user_id: str


class _FeedbackFields(AutomationRequest):
    plan_id: str
    session_id: str
    approved: bool
    human_feedback: str | None = Field(None, description="The reason; at a question, the answer.")
    updated_action: str | None = Field(None, description="What is to be done instead, with approved=true.")

    @property
    def words(self) -> str:
        return self.human_feedback or ""

    @property
    def action(self) -> str:
        return (self.updated_action or "").strip()


class HumanFeedback(_FeedbackFields):
    step_id: str


class HumanFeedbackForAll(_FeedbackFields):
    step_id: str | None = Field(None, description="Without one: all steps.")


class HumanFeedbackOut(Schema):
    status: str = Field(examples=["Step 3 approved"])
    session_id: str
    step_id: str


class ApproveStepsOut(Schema):
    status: str = Field(examples=["4 steps approved, 1 had changed"])


class HumanClarification(AutomationRequest):
    plan_id: str
    session_id: str
    human_clarification: Annotated[str, text_field(WORDS_LENGTH, 1)]


class HumanClarificationOut(Schema):
    status: str
    session_id: str


class DeleteMessagesOut(Schema):
    status: str = Field(examples=["6 plans deleted, 1 still ending"])


class AutomationStepOut(Schema):
    id: Identifier
    data_type: Literal["step"]
    plan_id: Identifier
    session_id: str
    user_id: str = Field(description="Who decided about it last, else the plan's owner.")
    action: str
    agent: str
    status: StepStatus
    agent_reply: str | None
    human_feedback: str | None
    human_feedback_status: FeedbackStatus | None
    updated_action: str | None = Field(description="The current action, if it was changed.")
    ts: Moment


class AutomationPlanSummaryOut(Schema):
    id: Identifier
    data_type: Literal["plan"]
    session_id: str
    user_id: str
    initial_goal: str
    overall_status: PlanStatus
    ts: Moment
    total_steps: int
    completed_steps: int
    pending_steps: int


class AutomationPlanOut(AutomationPlanSummaryOut):
    steps: list[AutomationStepOut]


class AutomationMessageOut(Schema):
    id: Identifier
    data_type: Literal["agent_message"]
    session_id: str
    user_id: str
    plan_id: Identifier
    content: str
    source: str = Field(description="Human, Planner, GroupChatManager, or the name of an agent.")
    ts: Moment
    step_id: Identifier | None


class AutomationSessionOut(Schema):
    id: Identifier
    data_type: Literal["session"]
    session_id: str
    user_id: str
    content: str
    current_status: Literal["active", "completed"]
    message_to_user: str | None
    ts: Moment


class AutomationPlanWithStepsOut(AutomationPlanSummaryOut):
    content: str


class AutomationStepWithMessagesOut(AutomationStepOut):
    content: str


class AgentToolOut(Schema):
    agent: str
    function: str
    description: str
    arguments: dict[str, Any] = Field(description="Each with its schema, and whether it is required.")


EVENT_NAMES = (
    "approval_request",
    "action_request",
    "action_response",
    "plan_state_update",
    "group_chat_message",
    "request_to_speak",
)
EVENTS: dict[str, Any] = {
    "content": {
        "text/event-stream": {
            "schema": {
                "type": "object",
                "properties": {
                    "event": {"enum": EVENT_NAMES},
                    "id": {"type": "string", "description": "Its number in this session."},
                    "data": {"type": "string", "contentMediaType": "application/json"},
                },
            }
        }
    }
}
