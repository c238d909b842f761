"""An inquiry that follows another begins from the sources and the answer of that one. And what one usually takes."""

import json
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async

from engine.audit.full_verification import verify_all
from inquiries.estimate import estimate
from inquiries.forms import follow_up_problem, submit_values
from inquiries.models import ROLES, Inquiry
from inquiries.models.sources import InquirySource, SourceKind, are_from_one_site
from inquiries.procedure import submit
from runs.live.related_runs import readable_through
from tests.callers import fields
from tests.conftest import perform
from tests.inquiries.scenes import going_well, inquiry

pytestmark = pytest.mark.django_db(transaction=True)


async def answered(mira, models, **more):
    going_well(models)
    run = await perform((await sync_to_async(inquiry)(mira, **more)).pk, models)
    return await sync_to_async(Inquiry.objects.with_assignments().get)(pk=run.pk)


async def test_it_begins_from_the_sources_and_the_answer_of_the_first(mira, models):
    first = await answered(mira, models)
    values, wrong = await sync_to_async(submit_values)({"question": "And what does it cost?"}, follows=first)
    assert (wrong, [one.title for one in values["documents"]]) == ([], ["law.txt", "sheet.txt"])
    second = await answered(mira, models, follows=first, documents=values["documents"])
    assert [one.text for one in second.sources.all()] == [one.text for one in first.sources.all()]
    brief = [json.loads(m[1]["content"].split("\n")[1]) for model, m in models.asked if model == "test/planner"][-1]
    assert brief["earlier"]["answer"] == first.answer
    assert brief["earlier"]["claims"] == ["It may be sold."]
    assert not await sync_to_async(lambda: list(verify_all().faults))()


async def test_who_has_its_texts_is_named_before_it_is_redacted(mira, models):
    first = await answered(mira, models)
    second = await answered(mira, models, follows=first)
    bound = await sync_to_async(readable_through)(first.run, mira)
    assert [one.title for one in bound] == [second.run.title]


def test_what_is_still_at_work_is_followed_by_nothing(mira):
    assert "still at work" in follow_up_problem(inquiry(mira))


def test_it_says_what_it_usually_takes_and_a_council_takes_more():
    models = dict.fromkeys(ROLES, "test/any")
    plain = estimate(models, {})
    council = estimate(models, {"critic_expert": {"kind": "council"}})
    person = estimate(models, {"critic_expert": {"kind": "person"}})
    assert plain.calls == (18, 31)
    assert (council.calls[0] - person.calls[0], plain.cost) == (9, None)
    assert plain.calls[0] - person.calls[0] == 1


def test_each_post_may_have_a_model_of_its_own_and_an_inquiry_limits_of_its_own(mira):
    models = {"model": "rehearsal/instant", "expert_model": "rehearsal/magi", "critics_model": "rehearsal/magi"}
    given = {"question": "What is it?", **models, "fallback": "rehearsal/magi", "moves": "7", "tokens": "5,000"}
    values, wrong = submit_values(given)
    row = submit(owner=mira, **values)
    posts = {one.name: (one.model.split("/")[1], one.fallback) for one in row.posts.all()}
    assert (wrong, row.run_limits.moves, row.run_limits.tokens, row.run_limits.minutes) == ([], 7, 5_000, 30)
    assert posts["planner"] == posts["finalizer"] == ("instant", "rehearsal/magi")
    assert posts["expert"] == posts["critic_planner"] == ("magi", "")
    _, wrong = submit_values({"question": "What is it?", "moves": 41, "expert_model": "nowhere/x"})
    assert [name for name, _ in wrong] == ["expert_model", "moves"]


@pytest.mark.django_db
def test_one_that_is_not_there_is_named_also_under_a_key(mira_calls):
    asked = {"question": "And what does it cost?", "follows": str(uuid4())}
    assert set(fields(mira_calls.post("/inquiries", asked, Idempotency_Key="a"))) == {"follows"}


@pytest.mark.parametrize(("address", "one"), [("https://blog.example./a", True), ("", False)])
def test_a_page_that_is_taken_over_stays_one_of_its_site(address, one):
    kind = SourceKind.PAGE if address else SourceKind.DOCUMENT
    taken = InquirySource(kind=kind, title="A very long title " * 9, address=address, read="It says so.").as_document()
    later = [
        InquirySource(kind=SourceKind.DOCUMENT, title=taken.title),
        InquirySource(kind=SourceKind.PAGE, address="https://blog.example/b"),
    ]
    assert are_from_one_site(later) == one
