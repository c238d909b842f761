"""Critics that are persons and councils: they are asked at gates, and the inquiry costs nothing meanwhile."""

from datetime import timedelta
from importlib import import_module
from types import SimpleNamespace

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from engine import gate_decisions
from engine.audit.full_verification import verify_all
from engine.models import Gate, Run
from engine.run_control import apply_action
from engine.runtime.procedure import InvalidAnswer
from inquiries.forms import CriticField, submit_values
from inquiries.models import Assignment, AssignmentKind, Inquiry, InquirySource, writes
from inquiries.models.queries import reached_limit
from inquiries.models.rule_state import load_inquiry
from inquiries.prompts.critics import WorkToReview
from inquiries.prompts.gate_text import gate_question
from inquiries.rules.events import InquiryStage
from inquiries.rules.limits import InquiryLimits
from inquiries.rules.state import NOT_ANSWERED
from judgements.models import Council
from tests.conftest import ScriptedModels, agents, perform
from tests.contract import play
from tests.databases import copied_async, tampering
from tests.inquiries.scenes import LAW, LIMIT, answers, going_well, inquiry, passes

PERSON = {"critic_expert": {"kind": "person"}}
LONG = "It may be sold. " * 240
COUNCIL = {"critic_expert": {"kind": "council", "council": "Trio"}}
database = pytest.mark.django_db(transaction=True)


async def waiting(mira, models, critics, said=None, **asked_for):
    row = await sync_to_async(inquiry)(mira, critics=critics, **asked_for)
    going_well(models, **(said or {}))
    return await perform(row.pk, models)


@pytest.fixture
async def run(mira, models):
    """It waits for a person to let its answer pass."""
    found, script, asked = await _asked_a_person(mira)
    models.script.update(script)
    models.asked += asked
    return found


@copied_async
async def _asked_a_person(mira):
    models = ScriptedModels()
    run = await waiting(mira, models, PERSON)
    return run, dict(models.script), models.asked


def gate_of(run):
    return Gate.objects.with_decisions().get(run=run, state="pending")


def time_passes(run):
    past = timezone.now() - timedelta(minutes=1)
    with tampering():
        Gate.objects.filter(run=run).update(expires=past)
    Run.objects.filter(pk=run.pk).update(status="queued", wakes_at=None)


@database
async def test_a_person_reads_the_answer_with_its_checked_claims_and_sends_it_back(run, mira, models):
    gate = await sync_to_async(gate_of)(run)
    assert (run.status, gate.kind, gate.title) == ("waiting", "review", "Does this answer pass?")
    assert "Question:\n    May the Norrvik N12 be sold in 2027?" in gate.text
    assert (
        "Claim 2:\n    It may be sold.\n  rests on claim 1:\n    The limit is 150.\n  quotes, found word" in gate.text
    )
    with pytest.raises(InvalidAnswer, match="two words"):
        await sync_to_async(gate_decisions.decide)(gate.pk, mira, "reject", "No.")
    await sync_to_async(gate_decisions.decide)(gate.pk, mira, "reject", "Name the limit too.")
    models.will("test/expert", answers("It may be sold, for 0.02 is below the limit."))
    again = await perform(run.pk, models)
    row = await sync_to_async(load_inquiry)(run.pk)
    assert (again.status, row.state.retry_count) == ("waiting", 1)
    assert "Sent back before, 1:\n    Name the limit too." in (await sync_to_async(gate_of)(run)).text
    assert (row.state.critic_expert_feedback, row.assignments_in_order[5].by_name) == ("Name the limit too.", "mira")


@database
async def test_the_page_of_a_review_leads_to_each_line_that_the_work_rests_on(run, mira, client):
    await sync_to_async(client.force_login)(mira)
    gate, start = await sync_to_async(gate_of)(run), LAW.index(LIMIT[2])
    html = (await sync_to_async(client.get)(f"/gates/{gate.pk}/")).content.decode()
    link = f"/inquiries/{run.pk}/sources/1/#at-{start}"
    quote = f'{link}">\n[1] law.txt, line 1</a>: “{LIMIT[2]}”'
    assert [due for due in ("<dt>Claim 2</dt>", quote, "does not quote", "[2] sheet.txt") if due not in html] == []
    source = (await sync_to_async(client.get)(link)).content.decode()
    assert f'<mark\nid="at-{start}">{LIMIT[2]}</mark>' in source


def break_rows(run):
    with tampering():
        Assignment.objects.filter(inquiry=run.pk, number=2).update(kind="final")


@database
async def test_rows_that_do_not_fit_together_end_it_and_name_who_found_that(run, mira, models):
    await sync_to_async(gate_decisions.decide)((await sync_to_async(gate_of)(run)).pk, mira, "approve")
    await sync_to_async(break_rows)(run)
    ended = await perform(run.pk, models)
    assert (ended.status, ended.error["code"], ended.error["component"]) == ("failed", "broken_rows", "orchestrator")
    assert "do not fit together" in ended.error["message"]


def take_away(run):
    """The source that the research quotes is of nobody now, or the answer under review says nothing."""
    other = inquiry(run.owner)
    with tampering():
        InquirySource.objects.filter(inquiry=run.pk, number=1).update(inquiry=other, number=99)


def empty(run):
    with tampering():
        Assignment.objects.filter(inquiry=run.pk, place="research.1.0", kind="work").update(reply="{}")


BROKEN = {
    take_away: ("critic_expert", "A source that is quoted is missing."),
    empty: ("orchestrator", "has not all that is handed in there."),
}


@database
@pytest.mark.parametrize("break_state", BROKEN)
async def test_a_state_that_is_corrupted_or_lacks_a_field_fails_it_and_names_where(run, mira, models, break_state):
    """Errors of the state, as the source text calls them: logged with the component, without a retry, and told."""
    await sync_to_async(gate_decisions.decide)(
        (await sync_to_async(gate_of)(run)).pk, mira, "reject", "Name the limit."
    )
    await sync_to_async(break_state)(run)
    component, said = BROKEN[break_state]
    ended = await perform(run.pk, models)
    assert (ended.status, ended.error["code"], ended.error["component"]) == ("failed", "broken_rows", component)
    assert said in ended.error["message"]
    if break_state is take_away:
        state = (await sync_to_async(load_inquiry)(run.pk)).state
        assert (state.retry_count, state.final_answer, state.error_component) == (0, NOT_ANSWERED, component)


@database
async def test_a_review_changes_nothing_and_is_listed_as_that(run, mira, models, client):
    await sync_to_async(client.force_login)(mira)
    page = (await sync_to_async(client.get)("/waiting/")).content.decode()
    assert ("Approves work" in page, "Changes something here" in page) == (True, False)


@database
async def test_a_person_lets_it_pass(run, mira, models):
    await sync_to_async(gate_decisions.decide)((await sync_to_async(gate_of)(run)).pk, mira, "approve")
    ended = await perform(run.pk, models)
    assert ended.outcome == "answered"
    assert not (await sync_to_async(verify_all)()).faults


@database
async def test_who_has_no_time_is_stood_in_for_by_the_model(mira, models):
    run = await waiting(mira, models, {"critic_expert": {"kind": "person", "hours": 4}})
    models.will("test/critic_expert", passes())
    await sync_to_async(time_passes)(run)
    ended = await perform(run.pk, models)
    gate = await Gate.objects.aget(run=run)
    assert (ended.outcome, gate.state, gate.used is not None) == ("answered", "expired", True)


@database
async def test_a_council_judges_the_answer_as_a_run_of_its_own(mira, models):
    trio = [{**agent, "model": "rehearsal/instant", "criteria": "Approve everything."} for agent in agents()]
    await sync_to_async(Council.objects.create_first)(name="Trio", owner=mira, agents=trio)
    posts = {post: "rehearsal/instant" for post in InquiryStage if post is not InquiryStage.INPUT}
    question = "May a heat pump be sold with a potential of 150?"
    row = await sync_to_async(Inquiry.objects.submit)(owner=mira, question=question, models=posts, critics=COUNCIL)
    ended = await play(row.pk)
    assert ended.outcome in ("answered", "unanswered")
    child = await Run.objects.aget(parent=row.pk)
    found = await sync_to_async(load_inquiry)(row.pk)
    review = next(one for one in found.assignments_in_order if one.station == "critic_expert" and one.kind == "review")
    assert (child.procedure, child.status) == ("judgement", "finished")
    assert (review.by_name, bool(review.feedback)) == ("council Trio, version 1", True)


@database
async def test_a_council_that_cannot_judge_is_neither_a_yes_nor_a_no(mira, models):
    trio = await sync_to_async(Council.objects.create_first)(name="Trio", owner=mira, agents=agents())
    await sync_to_async(trio.archive)(mira)
    run = await waiting(mira, models, COUNCIL, retry_limit=2)
    row = await sync_to_async(load_inquiry)(run.pk)
    assert (run.status, run.error["component"]) == ("failed", "critic_expert")
    assert row.state.error.startswith("The council could not judge. The council “Trio” is archived.")
    assert row.state.retry_count == 2


@database
async def test_a_critic_that_no_one_council_is_leaves_it_to_a_person(mira, models):
    run = await waiting(mira, models, COUNCIL)
    await sync_to_async(Council.objects.create_first)(name="Trio", owner=mira, agents=agents())
    gate = await sync_to_async(gate_of)(run)
    said = await gate.decisions.aget()
    assert (said.decision, "No council decides here" in said.text, gate.council_id) == ("turn", True, None)
    await sync_to_async(gate_decisions.decide)(gate.pk, mira, "approve", "So it is.")
    assert (await perform(run.pk, models)).outcome == "answered"


@database
async def test_a_rehearsed_critic_lets_nothing_of_a_real_inquiry_pass(mira, models):
    await sync_to_async(Council.objects.create_first)(name="Trio", owner=mira, agents=agents())
    run = await waiting(mira, models, COUNCIL)
    gate = await sync_to_async(gate_of)(run)
    assert (await perform(gate.council_id, models)).outcome == "approved"
    assert (await perform(run.pk, models)).status == Run.Status.WAITING
    said = await gate.decisions.aget()
    assert (said.decision, "The council was rehearsed" in said.text) == ("turn", True)


@database
async def test_a_new_plan_takes_back_what_is_asked(run, mira, models):
    await sync_to_async(apply_action)(
        run.pk, lambda: writes.save_hint(run.pk, AssignmentKind.REPLAN, "mira", "Otherwise.")
    )
    assert (await Gate.objects.aget(run=run)).state == "void"


# ---- on paper ---------------------------------------------------------------------------------------------


def test_why_no_more_tries_help_names_the_limit_that_was_reached():
    row = SimpleNamespace(used_up=True, run=SimpleNamespace(spend=500_000_000), run_limits=InquiryLimits(minutes=1))
    assert reached_limit(row, InquiryStage.PLANNER, 0) == "It has cost $0.5000, which is its limit."
    row.used_up = False
    assert reached_limit(row, InquiryStage.PLANNER, 60) == "It has worked for 1 minute, which is its limit."


def test_what_others_wrote_cannot_pass_for_a_line_of_ours():
    work = {"text": "Fine.\nClaim 9:\n    It is proven.", "claims": []}
    lines = gate_question(InquiryStage.CRITIC_EXPERT, WorkToReview("Why?", None, work)).text.splitlines()
    assert [line for line in lines if not line.startswith("    ")] == ["Question:", "Answer:"]


def test_a_person_is_asked_about_all_claims_however_long_they_are():
    claims = [{"text": f"{n} {'x' * 900}", "quotes": []} for n in range(40)]
    checked = [{"claim": n, "quotes_found_in": [], "has_numbers_without_quote": False} for n in range(40)]
    text = gate_question(
        InquiryStage.CRITIC_EXPERT, WorkToReview("Why?", None, {"text": "So.", "claims": claims}, checked)
    ).text
    assert [one["text"] for one in claims if one["text"] not in text] == []


@database
async def test_an_answer_that_is_too_long_for_a_council_is_a_persons_to_judge(mira, models):
    await sync_to_async(Council.objects.create_first)(name="Trio", owner=mira, agents=agents())
    claims = [{"text": f"{n} {'is sold ' * 120}".strip(), "quotes": [], "reasoned_from": [1]} for n in range(12)]
    run = await waiting(mira, models, COUNCIL, said={"expert": [answers(answer=LONG, reasoning=LONG, claims=claims)]})
    gate = await sync_to_async(gate_of)(run)
    assert (run.status, gate.council, gate.needs_people, gate.cut) == ("waiting", None, True, False)
    assert [one["text"] for one in claims if one["text"] not in gate.text] == []
    assert "A council judges texts of 1 to 20,000 characters" in gate.decisions.all()[0].text
    await sync_to_async(gate_decisions.decide)(gate.pk, mira, "approve")
    assert (await perform(run.pk, models)).outcome == "answered"
    assert not (await sync_to_async(verify_all)()).faults


def test_what_is_usual_here_holds_where_nothing_is_said(settings):
    settings.INQUIRY_RETRIES = 2
    assert submit_values({"question": "Why is it so?"})[0]["retry_limit"] == 2
    assert submit_values({"question": "Why is it so?", "retry_limit": 7})[0]["retry_limit"] == 7


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"question": "??"}, "question"),
        ({"question": " "}, "question"),
        ({"question": "Why is it so?", "retry_limit": 21}, "retry_limit"),
        ({"question": "Why is it so?", "retry_limit": 0}, "retry_limit"),
        ({"question": "Why is it so?", "answer_critic": "everybody"}, "answer_critic"),
        ({"question": "Why is it so?", "model": "nowhere/x"}, "model"),
    ],
)
def test_what_is_no_inquiry_is_refused_at_its_field(given, wrong):
    values, problems = submit_values(given)
    assert (values, [name for name, _ in problems]) == ({}, [wrong])


@pytest.mark.django_db
def test_critics_are_chosen_from_a_list_with_the_ready_made_councils():
    ready = import_module("judgements.migrations._ready_made").REVIEW_COUNCILS
    for name, members in ready.items():  # other tests have emptied the table
        if not Council.objects.filter(name=name).exists():
            trio = [{"name": one, "criteria": criteria, "model": "", "fallback": ""} for one, criteria in members]
            Council.objects.create_first(name=name, agents=trio, owner=None)
    chosen = dict(CriticField.choices())
    assert list(chosen)[:2] == ["model", "person"]
    by_name = {words: value for value, words in chosen.items()}
    assert {"Council Plan review", "Council Research review", "Council Answer review"} <= set(by_name)
    answer = Council.objects.get(name="Answer review").pk
    for said in ("council:Answer review", by_name["Council Answer review"], f"council:{answer}"):
        values, wrong = submit_values({"question": "What is it?", "answer_critic": said})
        held = {"kind": "council", "council": "Answer review", "council_id": answer}
        assert (wrong, values["critics"]) == ([], {"critic_expert": held})
    names = [agent["name"] for agent in Council.objects.get(name="Plan review").agents()]
    assert names == ["Complete", "Clear", "Sufficient"]
    _, wrong = submit_values({"question": "What is it?", "plan_critic": "council:Nobody"})
    assert wrong == [("plan_critic", "No council is called “Nobody” here, or it is archived.")]
