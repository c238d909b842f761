"""Performs inquiries. The next assignment follows from the rows alone, so an inquiry goes on after a crash where it
was.

Why so: inquiries/DESIGN.md, Inquiries.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from engine.llm import errors
from engine.llm.errors import RunFailed
from engine.llm.prompt_blocks import growing, no_preview, run_boundary
from engine.llm.response_format import ResponseFormat, tokens_for
from engine.models import ModelCall
from engine.runtime.procedure import CommitChange
from engine.runtime.run_context import RunContext
from runs import submissions

from .models import Assignment, AssignmentKind, Inquiry, RoleKind, available_tools, queries, writes
from .models.rule_state import load_inquiry
from .prompts import critics, finalizer, gate_text, moves, planner
from .prompts.common import Messages, retry_message
from .rules.dispatch import (
    ORCHESTRATOR,
    FinishAssignment,
    NoAssignment,
    ReviewAssignment,
    WorkAssignment,
    next_assignment,
)
from .rules.events import AnswerFinalized, ErrorCategory, InquiryStage
from .rules.limits import RESULT_LENGTH, TRACE_LENGTH, retry_pause
from .rules.state import InquiryStateError

CATEGORIES = {
    **dict.fromkeys(
        [
            errors.CallTimedOut.code,
            errors.EndpointUnreachable.code,
            errors.RateLimited.code,
            errors.ServerError.code,
        ],
        ErrorCategory.NETWORK,
    ),
    errors.UnusableAnswer.code: ErrorCategory.VALIDATION,
    errors.ContentFiltered.code: ErrorCategory.FILTERED,
}
GATE = "review"
BROKEN = "broken_rows"
PLAN = ResponseFormat(
    "inquiry-plan",
    planner.SCHEMA,
    planner.read_plan,
    partial(growing, fields=("thought",)),
    retry_message,
    exact_schema=planner.EXACT,
    said=planner.own_texts,
    max_tokens=tokens_for(planner.LONGEST_PLAN),
)
REVIEW = ResponseFormat(
    "inquiry-review",
    critics.SCHEMA,
    critics.read_review,
    partial(growing, fields=("feedback",)),
    retry_message,
    said=lambda review: (review.feedback,),
    instructions=critics.instructions,
    max_tokens=tokens_for(critics.FEEDBACK_LENGTH),
)


def submit(**values: Any) -> Inquiry:
    """Queue an inquiry and wake the workers. Takes the arguments of `Inquiry.objects.submit` and
    `submissions.submit_run`."""
    return submissions.submit_run(Inquiry.objects, waits_as="inquiry", **values)


async def perform(run: RunContext) -> CommitChange:
    while True:
        inquiry = await run.read_snapshot(partial(load_inquiry, run.pk))
        order = _next(inquiry)
        if isinstance(order, NoAssignment):
            if not order.error:
                return partial(writes.conclude, run.pk)
            await _retry(run, inquiry)
            continue
        await run.until(_resumes(inquiry))
        await _step(run, inquiry, order)


def _next(inquiry: Inquiry) -> WorkAssignment | ReviewAssignment | FinishAssignment | NoAssignment:
    """Return the next assignment. Raises RunFailed if the rows do not fit together: no retry would help."""
    try:
        return next_assignment(inquiry.state)
    except InquiryStateError as error:
        raise RunFailed(BROKEN, f"Its rows do not fit together: {error}", component=ORCHESTRATOR) from error


async def _retry(run: RunContext, inquiry: Inquiry) -> None:
    """Save that somebody retried the failed run, or raise RunFailed again if nobody did."""
    retried = sum(one.kind == AssignmentKind.RETRY for one in inquiry.assignments_in_order)
    if run.claimed.retries <= retried:
        last = _last_error(inquiry)
        raise RunFailed(last.error_code, inquiry.state.error, component=inquiry.state.error_component)
    await run.write(partial(writes.save_retry, run.pk, ""), "retry")


def _last_error(inquiry: Inquiry) -> Assignment:
    return next(one for one in reversed(inquiry.assignments_in_order) if one.kind == AssignmentKind.ERROR)


def _resumes(inquiry: Inquiry) -> Any:
    """Return when to go on: after network errors in a row, pauses get longer."""
    errors = 0
    for one in reversed(inquiry.assignments_in_order):
        if one.category != ErrorCategory.NETWORK:
            break
        errors += 1
    begun = inquiry.assignments_in_order[-1].made if errors else inquiry.run.created
    return begun + timedelta(seconds=retry_pause(errors) * inquiry.run_limits.patience)


async def _step(run: RunContext, inquiry: Inquiry, order: WorkAssignment | ReviewAssignment | FinishAssignment) -> None:
    station = order.station
    why = (
        ""
        if isinstance(order, FinishAssignment)
        else await run.read(partial(queries.reached_limit, inquiry, station, run.seconds_worked))
    )
    if why:
        await run.write(partial(writes.save_exhausted, run.pk, station, why), "order")
        return
    try:
        await _perform(run, inquiry, order)
    except InquiryStateError as missing:  # rows are missing: no retry would help
        keep = partial(
            writes.save_failure, run.pk, station, ErrorCategory.STATE, BROKEN, f"Its rows are broken: {missing}"
        )
        await run.write(keep, "order")
    except RunFailed as failure:
        if isinstance(order, FinishAssignment):  # the answer is approved already: it needs no model
            said = finalizer.rule_answer(await run.read(partial(queries.approved, inquiry)))
            await run.write(partial(writes.save_final_answer, run.pk, said), "order")
            return
        category = CATEGORIES.get(failure.code, ErrorCategory.PERMANENT)
        keep = partial(writes.save_failure, run.pk, station, category, failure.code, str(failure))
        await run.write(keep, "order")


async def _perform(
    run: RunContext, inquiry: Inquiry, order: WorkAssignment | ReviewAssignment | FinishAssignment
) -> None:
    match order:
        case WorkAssignment(InquiryStage.PLANNER):
            await _plan(run, inquiry)
        case WorkAssignment(station):
            await _move(run, inquiry, station)
        case ReviewAssignment(station):
            await _review(run, inquiry, station)
        case FinishAssignment(stated=True):
            stated = AnswerFinalized(inquiry.state.final_answer, inquiry.state.final_reasoning_trace)
            await run.write(partial(writes.save_final_answer, run.pk, finalizer.WordedFinal(stated)), "order")
        case FinishAssignment():
            await _finish(run, inquiry)


async def _plan(run: RunContext, inquiry: Inquiry) -> None:
    post = inquiry.role(InquiryStage.PLANNER)
    tools = await run.read(partial(available_tools.tool_names, inquiry, InquiryStage.RESEARCHER))
    brief, key = (
        await run.read(partial(queries.planner_brief, inquiry, tools)),
        queries.key_of(inquiry, InquiryStage.PLANNER),
    )
    fitted = queries.fit_planner_brief(brief, [post.model, post.fallback], run_boundary(run.pk))
    keep = partial(writes.save_plan, run.pk)
    form = replace(PLAN, read=partial(planner.read_plan, tools=tools))
    await run.request_model(key, post.model, fitted.messages, form, keep, post.fallback, left_out=fitted.left_out)


async def _move(run: RunContext, inquiry: Inquiry, station: InquiryStage) -> None:
    """Perform the pending tool call, if there is one; else ask for the next move."""
    made = queries.moves_at(inquiry, queries.assignment_number(inquiry, station))
    if due := next((one for one in made if one.settled is None), None):
        call = await run.execute_tool(due.key, due.tool, due.arguments, asked_in=await run.read(lambda: due.call))
        await run.write(partial(writes.save_result, due.pk, call), "result")
        return
    tools = await run.read(partial(available_tools.usable_tools, inquiry, station))
    hand_in = await run.read(partial(available_tools.hands_in, inquiry, station))
    now = [] if hand_in else tools
    arguments = await run.read(partial(available_tools.arguments_by_tool, now))
    work: Any
    prompt: Callable[..., Messages]
    if station is InquiryStage.RESEARCHER:
        work = await run.read(partial(queries.research_of, inquiry))
        prompt, read, schema = moves.researcher_messages, moves.read_research, moves.RESEARCH_SCHEMA
        exact = moves.research_schema(work, now)
    else:
        work = await run.read(partial(queries.expertise_of, inquiry))
        prompt, read, schema = moves.expert_messages, moves.read_expert, moves.EXPERT_SCHEMA
        exact = moves.answer_schema(work, now)
    form = ResponseFormat(
        f"inquiry-{station}",
        schema,
        partial(read, tools=arguments),
        partial(growing, fields=("thought",)),
        retry_message,
        exact_schema=exact,
        said=moves.own_texts,
        instructions=moves.instructions,
    )
    keep = partial(writes.save_move, run.pk, station)
    post, key = inquiry.role(station), await run.read(partial(queries.move_key, inquiry, station))

    def messages_of(shown: Any, left_out: str) -> Messages:
        return prompt(
            shown, tools, run_boundary(run.pk), moves.QuestionScope(inquiry.run_limits.sites, hand_in, left_out)
        )

    fitted = queries.fit_agent_work(messages_of, work, [post.model, post.fallback])
    await run.request_model(key, post.model, fitted.messages, form, keep, post.fallback, left_out=fitted.left_out)


async def _review(run: RunContext, inquiry: Inquiry, critic: InquiryStage) -> None:
    post, key = inquiry.role(critic), queries.key_of(inquiry, critic)
    tools = await run.read(partial(available_tools.tool_names, inquiry, InquiryStage.RESEARCHER))
    of = await run.read(partial(queries.work_to_review, inquiry, critic, tools))
    if post.kind != RoleKind.MODEL and not await run.read(partial(queries.rejected_before, run.pk, key)):
        about = gate_text.gate_question(critic, of)
        gate = await run.gate(key, kind=GATE, policy=post.policy, failed="tell", **vars(about))
        await run.write(partial(writes.save_decision, run.pk, critic, gate.pk), "decided")
        return
    keep = partial(writes.save_review, run.pk, critic)
    fitted = queries.fit_review(critic, of, [post.model, post.fallback], run_boundary(run.pk))
    await run.request_model(key, post.model, fitted.messages, REVIEW, keep, post.fallback, left_out=fitted.left_out)


async def _finish(run: RunContext, inquiry: Inquiry) -> None:
    post, of = inquiry.role(InquiryStage.FINALIZER), await run.read(partial(queries.approved, inquiry))
    read = partial(finalizer.read_final, of=of)
    form = ResponseFormat(
        "inquiry-final",
        finalizer.SCHEMA,
        read,
        no_preview,
        retry_message,
        said=lambda worded: (finalizer.own_words(worded.wording), worded.told),
        max_tokens=tokens_for(RESULT_LENGTH + TRACE_LENGTH),
    )

    def keep(call: ModelCall, answer: finalizer.WordedFinal) -> None:
        writes.save_final_answer(run.pk, answer, call)

    key = queries.key_of(inquiry, InquiryStage.FINALIZER)
    fitted = queries.fit_finalizer(of, [post.model, post.fallback], run_boundary(run.pk))
    await run.request_model(key, post.model, fitted.messages, form, keep, post.fallback, left_out=fitted.left_out)
