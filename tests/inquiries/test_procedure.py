"""An inquiry, performed: what is let pass, sent back and refused, and how it ends."""

import json
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async

from engine.audit.full_verification import verify_all
from engine.llm.errors import Unauthorized
from engine.models import ModelCall, Run, ToolCall
from engine.run_control import RunEnded
from inquiries import comments
from inquiries.models import Assignment, AssignmentKind, ClaimQuote, Inquiry, InquiryClaim, InquiryMove, writes
from inquiries.models.queries import moves_left
from inquiries.models.rule_state import load_inquiry
from inquiries.rules.events import InquiryStage
from inquiries.rules.limits import InquiryLimits
from inquiries.rules.state import NOT_ANSWERED
from runs import run_actions
from tests.conftest import perform
from tests.databases import tampering
from tests.inquiries.scenes import (
    LAW,
    LIMIT,
    answers,
    breaks,
    calls,
    final,
    found,
    going_well,
    inquiry,
    passes,
    planned,
    sends_back,
)

pytestmark = pytest.mark.django_db(transaction=True)


async def played(mira, models, asked=None, **instead):
    going_well(models, **instead)
    run = await perform((await sync_to_async(inquiry)(mira, **(asked or {}))).pk, models)
    return run, await sync_to_async(Inquiry.objects.with_assignments().get)(pk=run.pk)


def asked_of(models, post):
    return [
        json.loads(messages[1]["content"].split("\n")[1]) for model, messages in models.asked if model == f"test/{post}"
    ]


def kinds(row):
    return [(one.kind, one.station, one.decision) for one in row.ordered]


def faults():
    return verify_all().faults


async def test_it_is_answered_with_quotes_that_stand_in_their_sources(mira, models):
    run, row = await played(mira, models)
    assert (run.status, run.outcome, row.answer) == (Run.Status.FINISHED, "answered", "It may be sold. [claim:2]")
    quote = await ClaimQuote.objects.select_related("claim", "source").aget()
    [[start, end]] = quote.parts
    assert (quote.source.number, LAW[start:end]) == (1, LIMIT[2])
    assert [one.kind for one in row.assignments_in_order] == ["work", "review"] * 3 + ["final"]
    plan = asked_of(models, "critic_planner")[0]
    assert ([one["title"] for one in plan["sources"]], plan["tools"][:2]) == (
        ["law.txt", "sheet.txt"],
        ["sources.search", "sources.read"],
    )
    call = await ToolCall.objects.aget(run=run)
    assert (call.tool, "[1] law.txt, from character 0:" in call.output) == ("sources.search", True)
    assert not await sync_to_async(faults)()


async def test_a_quote_that_is_not_there_is_refused_before_a_critic_sees_it(mira, models):
    wrong = found(("The limit is 100.", 1, "a warming potential of 100 or more"))
    _, row = await played(mira, models, researcher=[wrong, found(LIMIT)])
    [refused] = [one for one in row.moves.all() if one.refused]
    assert "There stands: “a warming potential of 150 or more.”" in refused.refused
    assert asked_of(models, "researcher")[1]["moves"][0]["result"] == refused.refused
    assert len(asked_of(models, "critic_researcher")) == 1
    assert [one.text for one in row.claims.all()] == ["The limit is 150.", "It may be sold."]


async def test_a_third_refusal_takes_a_retry_and_begins_another_try(mira, models):
    wrong = found(("The limit is 100.", 7, "a warming potential of 100"))
    run, row = await played(mira, models, researcher=[wrong, wrong, wrong, found(LIMIT)])
    assert (run.outcome, row.state.retry_count) == ("answered", 1)
    error = next(one for one in row.assignments_in_order if one.kind == AssignmentKind.ERROR)
    assert (error.station, error.category, error.place) == ("researcher", "validation", "research.1.0")
    assert [one.attempt for one in row.moves.all() if one.place == "research.1.0"] == [1, 1, 1, 2]


async def test_work_that_is_sent_back_is_done_again_with_the_words_of_the_critic(mira, models):
    better = ("The limit of the law is 150.", 1, "a warming potential of 150 or more")
    run, row = await played(
        mira, models, researcher=[found(LIMIT), found(better)], critic_researcher=[sends_back(), passes()],
        expert=[answers(numbers=[2])], finalizer=[final("[answer] [claim:3]")],
    )  # fmt: skip
    assert (run.outcome, row.state.retry_count) == ("answered", 1)
    second = asked_of(models, "researcher")[1]
    assert second["feedback"] == [{"try": "1", "text": "Name the limit itself."}]
    assert second["moves"][0]["number"] == 1
    assert asked_of(models, "critic_researcher")[1]["feedback"] == second["feedback"]


async def test_the_last_retry_ends_it_with_the_stated_sentence_and_no_model_words_it(mira, models):
    plans = [planned(f"Find the limit of the law, way {number}.") for number in range(3)]
    run, row = await played(
        mira, models, {"retry_limit": 3}, planner=plans, critic_planner=[sends_back("Too vague.")] * 3
    )
    assert (run.status, run.outcome) == (Run.Status.FINISHED, "unanswered")
    assert (row.answer, row.trace) == (NOT_ANSWERED, NOT_ANSWERED)
    assert row.why.startswith("The critic of the plan rejected it, and the limit of 3 retries was reached.")
    assert row.why.endswith("It said: “Too vague.”")
    assert asked_of(models, "finalizer") == []


async def test_the_same_work_again_ends_it(mira, models):
    run, row = await played(mira, models, researcher=[found(LIMIT)] * 2, critic_researcher=[sends_back()])
    why = writes.SAME_WORK.format(critic="the critic of research 1", said="“Name the limit itself.”")
    assert (run.outcome, row.why, row.state.retry_count) == ("unanswered", why, 1)


async def test_that_it_cannot_be_answered_is_a_result_that_a_critic_lets_pass(mira, models):
    nothing = answers("No source names the N12.", numbers=(), answerable=False)
    run, row = await played(mira, models, researcher=[found(there=False, result="Nothing.")], expert=[nothing])
    assert (run.outcome, row.answer) == ("unanswered", NOT_ANSWERED)
    assert "The critic of the answer approved that it cannot be" in row.why
    assert row.why.endswith("The expert says: “No source names the N12.”")


async def test_a_result_is_used_or_named_as_not_needed(mira, models):
    silent = answers(numbers=(), claims=[{"text": "Sold.", "quotes": [], "reasoned_from": [9]}])
    run, row = await played(mira, models, expert=[silent, answers()])
    refused = next(one.refused for one in row.moves.all() if one.place == "expert.1")
    assert "There is no claim 9 among the results." in refused
    assert "The result of step 1 is neither used nor named as not needed." in refused
    assert run.outcome == "answered"


async def test_an_error_that_no_retry_helps_fails_it_and_a_person_lets_it_go_on(mira, models):
    run, row = await played(mira, models, researcher=[Unauthorized("The key is refused.")])
    assert (run.status, run.error["code"], run.error["component"]) == ("failed", "unauthorized", "researcher")
    assert row.state.retry_count == 0
    models.will("test/researcher", found(LIMIT))
    assert await sync_to_async(run_actions.retry)(row, mira)
    again = await perform(run.pk, models)
    assert again.outcome == "answered"
    assert len(asked_of(models, "planner")) == 1
    assert not await sync_to_async(faults)()


async def test_an_endpoint_that_errs_takes_a_retry_and_the_work_stays(mira, models):
    run, row = await played(mira, models, critic_researcher=[*[breaks() for _ in range(4)], passes()])
    assert (run.outcome, row.state.retry_count, row.state.errors) == ("answered", 1, 1)
    assert len(asked_of(models, "researcher")) == 2


async def test_the_finalizer_adds_nothing_and_code_words_it_where_it_cannot(mira, models):
    added = [final(f"It may be sold for {price} [claim:2].") for price in range(7001, 7005)]
    run, row = await played(mira, models, finalizer=added)
    assert run.outcome == "answered"
    assert row.answer == "It may be sold. [claim:2]"
    assert row.trace.startswith("Plan: 1 of research")


async def test_the_third_same_call_takes_the_tools_away(mira, models):
    again = calls("sources.search", words="limit")
    _, row = await played(mira, models, researcher=[again, again, again, found(LIMIT)])
    assert await ToolCall.objects.filter(run=row.pk).acount() == 1
    assert "stands at move 1" in row.moves.all()[1].result
    told = [messages[1]["content"] for model, messages in models.asked if model == "test/researcher"][-1]
    assert told.endswith("hand in now what there is, as “done”.")


@pytest.mark.parametrize(
    ("limits", "why"),
    [(InquiryLimits(moves=1, patience=0), ""), (InquiryLimits(minutes=1, patience=0), "1 minute, which is its limit")],
)
async def test_a_limit_ends_the_search_or_the_question(mira, models, limits, why):
    created = await sync_to_async(inquiry)(mira, limits=limits)
    await Run.objects.filter(pk=created.pk).aupdate(worked=61 if why else 0)
    going_well(models, researcher=[found(LIMIT)])
    run = await perform(created.pk, models)
    row = await Inquiry.objects.aget(pk=run.pk)
    assert run.outcome == ("unanswered" if why else "answered")
    assert why in row.why


async def test_hints_reach_who_works_and_a_new_plan_takes_no_retry(mira, models):
    row = await sync_to_async(inquiry)(mira)
    await sync_to_async(comments.post_hint)(row.pk, mira, AssignmentKind.HINT, "Look at the law.")
    await sync_to_async(comments.post_hint)(row.pk, mira, AssignmentKind.REPLAN, "One step will do.")
    going_well(models)
    run = await perform(row.pk, models)
    brief = asked_of(models, "planner")[0]
    assert (brief["hints"][0]["text"], brief["feedback"][0]["text"]) == ("Look at the law.", "One step will do.")
    assert (run.outcome, (await sync_to_async(load_inquiry)(row.pk)).state.retry_count) == (
        "answered",
        0,
    )


async def stopped_while_it_researches(mira, models):
    """After the first of two steps was let pass."""
    going_well(
        models, planner=[planned("Find the limit of the law.", "Find what the N12 uses.")],
        researcher=[], critic_researcher=[passes()],
    )  # fmt: skip
    row = await sync_to_async(inquiry)(mira, limits=InquiryLimits(patience=10))
    waits = await perform(row.pk, models)  # for its endpoint
    assert waits.status == "waiting"
    await sync_to_async(comments.post_hint)(row.pk, mira, AssignmentKind.STOP)
    return await perform(row.pk, models)


async def test_stopped_it_answers_with_what_was_let_pass(mira, models):
    models.will("test/researcher", found(LIMIT), *[breaks() for _ in range(4)])
    run = await stopped_while_it_researches(mira, models)
    row = await sync_to_async(load_inquiry)(run.pk)
    assert (run.outcome, row.state.left_out) == ("answered", ("Find what the N12 uses.",))
    assert [one["step"] for one in asked_of(models, "expert")[0]["results"]] == [1]
    with pytest.raises(RunEnded):
        await sync_to_async(comments.post_hint)(row.pk, mira, AssignmentKind.HINT, "Too late now.")


async def test_stopped_in_a_step_it_is_asked_once_for_what_it_has(mira, models):
    going_well(
        models, planner=[planned("Find the limit of the law.", "Find what the N12 uses.")],
        researcher=[calls("sources.search", words="limit"), *[breaks() for _ in range(4)]],
    )  # fmt: skip
    row = await sync_to_async(inquiry)(mira, limits=InquiryLimits(patience=10))
    await perform(row.pk, models)
    await sync_to_async(comments.post_hint)(row.pk, mira, AssignmentKind.STOP)
    await sync_to_async(comments.post_hint)(row.pk, mira, AssignmentKind.STOP)  # a second click says nothing more
    models.will("test/researcher", found(LIMIT))
    run = await perform(row.pk, models)
    row = await sync_to_async(load_inquiry)(run.pk)
    assert (run.outcome, row.state.left_out) == ("answered", ("Find what the N12 uses.",))
    assert (
        "no more uses of tools"
        in [told[1]["content"] for model, told in models.asked if model == "test/researcher"][-1]
    )


def test_a_step_has_so_many_moves_over_all_its_tries():
    row, made = Inquiry(pk=uuid4(), question="Why?", retry_limit=20, limits={"moves": 12}), []
    row._prefetched_objects_cache = {"orders": [], "moves": made}
    for number in range(1, 50):
        made.append(InquiryMove(place="research.0.0", number=number, attempt=9))
    assert moves_left(row, "research.0.0", InquiryStage.RESEARCHER) == 1
    assert moves_left(row, "research.0.1", InquiryStage.RESEARCHER) == 12


async def test_what_cannot_be_said_is_refused_with_a_sentence(mira, models):
    row = await sync_to_async(inquiry)(mira)
    with pytest.raises(comments.HintRefused, match="while it researches"):
        await sync_to_async(comments.post_hint)(row.pk, mira, AssignmentKind.STOP)
    with pytest.raises(comments.InvalidHint):
        await sync_to_async(comments.post_hint)(row.pk, mira, AssignmentKind.HINT, "One")


CHANGED = (
    (ClaimQuote, "claim__inquiry", {"parts": [[0, 4]]}),
    (Inquiry, "pk", {"answer": "It may not be sold. [claim:2]"}),
    (Inquiry, "pk", {"trace": "Everybody agreed."}),
    (Assignment, "inquiry", {"decision": "reject"}),
    (InquiryClaim, "inquiry", {"text": "Another."}),
    (InquiryMove, "inquiry", {"thought": "Another."}),
)


async def test_a_changed_row_is_found(mira, models):
    run, row = await played(mira, models)
    assert await sync_to_async(unseen)(row) == []
    assert await ModelCall.objects.filter(run=run, status="open").acount() == 0


def unseen(of):
    found = []
    for model, path, change in CHANGED:
        row = model.objects.filter(**{path: of}).order_by("pk")[1 if model is Assignment else 0]
        before = {name: getattr(row, name) for name in change}
        with tampering():
            model.objects.filter(pk=row.pk).update(**change)
            found += [] if faults() else [(model.__name__, change)]
            model.objects.filter(pk=row.pk).update(**before)
    assert not faults()
    return found
