"""An inquiry, performed: what comes next follows from its orders alone, so it goes on where it was left.

Why so: docs/decisions.md, Inquiries.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from engine.context import RunContext
from engine.llm import failures
from engine.llm.failures import RunFailed
from engine.llm.forms import AnswerForm, tokens_for
from engine.llm.prompting import growing, no_preview, run_boundary
from engine.models import ModelCall
from engine.procedure import Change
from runs import submissions

from .models import Inquiry, Order, OrderKind, PostKind, at_hand, keeping, reading
from .models.looking import looked_at
from .prompts import asked, critics, finalizer, moves, planner
from .prompts.common import Messages, complaint
from .rules.course import Impossible
from .rules.facts import Category, Finalized, Station
from .rules.limits import RESULT_LENGTH, TRACE_LENGTH, pause
from .rules.orders import ORCHESTRATOR, Finish, Over, Review, Work, following

CATEGORIES = {
    **dict.fromkeys(
        [failures.TimedOut.code, failures.Unreachable.code, failures.RateLimited.code, failures.ServerError.code],
        Category.NETWORK,
    ),
    failures.UnusableAnswer.code: Category.VALIDATION,
    failures.ContentFiltered.code: Category.FILTERED,
}
GATE = "review"
BROKEN = "broken_rows"
PLAN = AnswerForm(
    "inquiry-plan",
    planner.SCHEMA,
    planner.read_plan,
    partial(growing, fields=("thought",)),
    complaint,
    exact_schema=planner.EXACT,
    said=planner.own_texts,
    max_tokens=tokens_for(planner.LONGEST_PLAN),
)
REVIEW = AnswerForm(
    "inquiry-review",
    critics.SCHEMA,
    critics.read_review,
    partial(growing, fields=("feedback",)),
    complaint,
    said=lambda review: (review.feedback,),
    instructions=critics.instructions,
    max_tokens=tokens_for(critics.FEEDBACK_LENGTH),
)


def submit(**values: Any) -> Inquiry:
    """Queue an inquiry and wake the engine. Takes what `Inquiry.objects.submit` and `submissions.submit` take."""
    return submissions.submit(Inquiry.objects, waits_as="inquiry", **values)


async def inquire(run: RunContext) -> Change:
    while True:
        inquiry = await run.look(partial(looked_at, run.pk))
        order = _next(inquiry)
        if isinstance(order, Over):
            if not order.error:
                return partial(keeping.conclude, run.pk)
            await _retry(run, inquiry)
            continue
        await run.until(_resumes(inquiry))
        await _step(run, inquiry, order)


def _next(inquiry: Inquiry) -> Work | Review | Finish | Over:
    """RunFailed where its rows are none of one inquiry: no retry helps that."""
    try:
        return following(inquiry.state)
    except Impossible as error:
        raise RunFailed(BROKEN, f"Its rows do not fit together: {error}", component=ORCHESTRATOR) from error


async def _retry(run: RunContext, inquiry: Inquiry) -> None:
    """It failed; somebody may have let it go on since."""
    retried = sum(one.kind == OrderKind.RETRY for one in inquiry.ordered)
    if run.claimed.retries <= retried:
        last = _last_error(inquiry)
        raise RunFailed(last.error_code, inquiry.state.error, component=inquiry.state.error_component)
    await run.write(partial(keeping.keep_retry, run.pk, ""), "retry")


def _last_error(inquiry: Inquiry) -> Order:
    return next(one for one in reversed(inquiry.ordered) if one.kind == OrderKind.ERROR)


def _resumes(inquiry: Inquiry) -> Any:
    """After network errors in a row it waits, ever longer."""
    errors = 0
    for one in reversed(inquiry.ordered):
        if one.category != Category.NETWORK:
            break
        errors += 1
    begun = inquiry.ordered[-1].made if errors else inquiry.run.created
    return begun + timedelta(seconds=pause(errors) * inquiry.bounds.patience)


async def _step(run: RunContext, inquiry: Inquiry, order: Work | Review | Finish) -> None:
    station = order.station
    why = "" if isinstance(order, Finish) else await run.read(partial(reading.exhausted, inquiry, station, run.worked))
    if why:
        await run.write(partial(keeping.keep_exhausted, run.pk, station, why), "order")
        return
    try:
        await _perform(run, inquiry, order)
    except Impossible as missing:  # its rows are not all there: no retry helps that
        keep = partial(keeping.keep_failure, run.pk, station, Category.STATE, BROKEN, f"Its rows are broken: {missing}")
        await run.write(keep, "order")
    except RunFailed as failure:
        if isinstance(order, Finish):  # an approved answer is not lost for want of words
            said = finalizer.by_code(await run.read(partial(reading.approved, inquiry)))
            await run.write(partial(keeping.keep_final, run.pk, said), "order")
            return
        category = CATEGORIES.get(failure.code, Category.PERMANENT)
        keep = partial(keeping.keep_failure, run.pk, station, category, failure.code, str(failure))
        await run.write(keep, "order")


async def _perform(run: RunContext, inquiry: Inquiry, order: Work | Review | Finish) -> None:
    match order:
        case Work(Station.PLANNER):
            await _plan(run, inquiry)
        case Work(station):
            await _move(run, inquiry, station)
        case Review(station):
            await _review(run, inquiry, station)
        case Finish(stated=True):
            stated = Finalized(inquiry.state.final_answer, inquiry.state.final_reasoning_trace)
            await run.write(partial(keeping.keep_final, run.pk, finalizer.Worded(stated)), "order")
        case Finish():
            await _finish(run, inquiry)


async def _plan(run: RunContext, inquiry: Inquiry) -> None:
    post = inquiry.post(Station.PLANNER)
    tools = await run.read(partial(at_hand.names_of, inquiry, Station.RESEARCHER))
    brief, key = await run.read(partial(reading.brief_of, inquiry, tools)), reading.key_of(inquiry, Station.PLANNER)
    fitted = reading.brief_in_room(brief, [post.model, post.fallback], run_boundary(run.pk))
    keep = partial(keeping.keep_plan, run.pk)
    form = replace(PLAN, read=partial(planner.read_plan, tools=tools))
    await run.ask(key, post.model, fitted.messages, form, keep, post.fallback, left_out=fitted.left_out)


async def _move(run: RunContext, inquiry: Inquiry, station: Station) -> None:
    """A tool that was asked for comes first; then the next move."""
    made = reading.moves_at(inquiry, reading.place_of(inquiry, station))
    if due := next((one for one in made if one.settled is None), None):
        call = await run.use(due.key, due.tool, due.arguments, asked_in=await run.read(lambda: due.call))
        await run.write(partial(keeping.keep_result, due.pk, call), "result")
        return
    tools = await run.read(partial(at_hand.usable, inquiry, station))
    hand_in = await run.read(partial(at_hand.hands_in, inquiry, station))
    now = [] if hand_in else tools
    arguments = await run.read(partial(at_hand.arguments_by_tool, now))
    work: Any
    told: Callable[..., Messages]
    if station is Station.RESEARCHER:
        work = await run.read(partial(reading.research_of, inquiry))
        told, read, schema = moves.research, moves.read_research, moves.RESEARCH_SCHEMA
        exact = moves.research_schema(work, now)
    else:
        work = await run.read(partial(reading.expertise_of, inquiry))
        told, read, schema = moves.answer, moves.read_answer, moves.EXPERT_SCHEMA
        exact = moves.answer_schema(work, now)
    form = AnswerForm(
        f"inquiry-{station}",
        schema,
        partial(read, tools=arguments),
        partial(growing, fields=("thought",)),
        complaint,
        exact_schema=exact,
        said=moves.own_texts,
        instructions=moves.instructions,
    )
    keep = partial(keeping.keep_move, run.pk, station)
    post, key = inquiry.post(station), await run.read(partial(reading.move_key, inquiry, station))

    def messages_of(shown: Any, left_out: str) -> Messages:
        return told(shown, tools, run_boundary(run.pk), moves.Asked(inquiry.bounds.sites, hand_in, left_out))

    fitted = reading.work_in_room(messages_of, work, [post.model, post.fallback])
    await run.ask(key, post.model, fitted.messages, form, keep, post.fallback, left_out=fitted.left_out)


async def _review(run: RunContext, inquiry: Inquiry, critic: Station) -> None:
    post, key = inquiry.post(critic), reading.key_of(inquiry, critic)
    tools = await run.read(partial(at_hand.names_of, inquiry, Station.RESEARCHER))
    of = await run.read(partial(reading.reviewable, inquiry, critic, tools))
    if post.kind != PostKind.MODEL and not await run.read(partial(reading.came_back, run.pk, key)):
        about = asked.asked_of(critic, of)
        gate = await run.gate(key, kind=GATE, policy=post.policy, failed="tell", **vars(about))
        await run.write(partial(keeping.keep_decision, run.pk, critic, gate.pk), "decided")
        return
    keep = partial(keeping.keep_review, run.pk, critic)
    fitted = reading.review_in_room(critic, of, [post.model, post.fallback], run_boundary(run.pk))
    await run.ask(key, post.model, fitted.messages, REVIEW, keep, post.fallback, left_out=fitted.left_out)


async def _finish(run: RunContext, inquiry: Inquiry) -> None:
    post, of = inquiry.post(Station.FINALIZER), await run.read(partial(reading.approved, inquiry))
    read = partial(finalizer.read_final, of=of)
    form = AnswerForm(
        "inquiry-final",
        finalizer.SCHEMA,
        read,
        no_preview,
        complaint,
        said=lambda worded: (finalizer.own_words(worded.wording), worded.told),
        max_tokens=tokens_for(RESULT_LENGTH + TRACE_LENGTH),
    )

    def keep(call: ModelCall, said: finalizer.Worded) -> None:
        keeping.keep_final(run.pk, said, call)

    key = reading.key_of(inquiry, Station.FINALIZER)
    fitted = reading.finish_in_room(of, [post.model, post.fallback], run_boundary(run.pk))
    await run.ask(key, post.model, fitted.messages, form, keep, post.fallback, left_out=fitted.left_out)
