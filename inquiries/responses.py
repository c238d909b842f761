"""Fields of inquiries in API responses, in addition to those of every run."""

from typing import Any

from engine.ledger.hashing import format_timestamp

from .answer_view import answer_remarks, finalizer_remarks
from .models import Assignment, AssignmentKind, Inquiry, InquiryClaim, InquirySource
from .models.queries import error_text, flags_of, possible_words_to, steps_of
from .rules.state import NOT_ANSWERED, InquiryState

STATE = (
    *("current_step", "next_step", "retry_count", "retry_limit", "research_steps", "expert_steps"),
    *("current_research_index", "research_results", "expert_answer", "expert_reasoning"),
    *("critic_planner_decision", "critic_planner_feedback", "critic_researcher_decision"),
    *("critic_researcher_feedback", "critic_expert_decision", "critic_expert_feedback"),
    *("final_answer", "final_reasoning_trace", "error", "error_component"),
)


def inquiry_fields(row: Inquiry) -> dict[str, Any]:
    state, run = row.state, row.run
    failed = {"component": state.error_component, **run.error} if run.error else None
    return {
        "question": row.question,
        "answer": row.answer or (NOT_ANSWERED if run.error else None),
        "trace": row.trace or (NOT_ANSWERED if run.error else None),
        "finalizer": finalizer_object(row) if run.outcome == "answered" else None,
        "why": row.why or None,
        **vars(answer_remarks(row)),
        "retries": state.retry_count,
        "retry_limit": row.retry_limit,
        "limits": row.limits,
        "state": state_fields(state),
        "error": failed,
        "actions": [] if run.is_ended else list(possible_words_to(row)),
        "steps": [assignment_fields(one) for one in row.assignments_in_order],
        "claims": [claim_fields(row, one) for one in row.claims.all()],
        "web": row.web,
        "collections": row.collections,
        "roster": str(row.roster_version) if row.roster_version else None,
        "follows": str(row.follows_id) if row.follows_id else None,
        "sources": [source_fields(one) for one in row.sources.all()],
        "posts": {
            post.name: {
                "kind": post.kind,
                "model": post.model,
                "fallback": post.fallback or None,
                "council": post.council or None,
                "council_id": post.council_id,
            }
            for post in row.posts.all()
        },
        "rehearsal": row.rehearsal,
    }


def state_fields(state: InquiryState) -> dict[str, Any]:
    """Return the state under the names of the source text; null for empty values."""
    values = {name: getattr(state, name) for name in STATE}
    return {name: _shown(value) for name, value in values.items()}


def _shown(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return None if value == "" else value


def finalizer_object(row: Inquiry) -> dict[str, Any]:
    beside = finalizer_remarks(row)
    pieces = [{"text": text, "own": own} for text, own in beside.pieces]
    return {"wording": pieces, "told": beside.told or None, "approved": beside.approved or None}


def assignment_fields(one: Assignment) -> dict[str, Any]:
    error = error_text(one) if one.kind == AssignmentKind.ERROR else ""
    said = {"decision": one.decision, "feedback": one.feedback, "error": error, "by": one.by_name}
    return {
        **{"number": one.number, "kind": one.kind, "sender": "orchestrator", "receiver": one.station},
        **{"type": "instruction", "content": one.instruction, "step_id": one.step_id},
        "reply": one.submitted_work or None,
        **{name: value or None for name, value in said.items()},
    }


def source_fields(one: InquirySource) -> dict[str, Any]:
    names = ("address", "asked", "text_digest", "bytes_digest")
    said = {
        "number": one.number,
        "kind": one.kind,
        "title": one.title,
        "flags": one.flags,
        "read": format_timestamp(one.made),
    }
    return said | {name: getattr(one, name) or None for name in names}


def claim_fields(row: Inquiry, one: InquiryClaim) -> dict[str, Any]:
    quotes = [{"source": quote.source.number, "quote": quote.text, "parts": quote.parts} for quote in one.quotes.all()]
    said = {"number": one.number, "text": one.text, "quotes": quotes, "reasoned_from": one.reasoned_from}
    return said | {"calculated": steps_of(row, one), "flags": flags_of(row, one), "bare": one.bare}
