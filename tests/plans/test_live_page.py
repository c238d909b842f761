"""What one person is shown and can say on the live page of a plan."""

import re

import pytest
from asgiref.sync import sync_to_async
from django.urls import reverse

from engine import gate_decisions
from engine.llm.errors import Unauthorized
from engine.models import Gate, GateDecision
from engine.policy import parse_policy
from engine.runtime.tool_execution import UNCERTAIN_CHOICES
from plans.display import display_of, fragments
from plans.management.commands.plan import Command as Planning
from plans.models import Plan, PlanMessage, PlanStep, queries
from plans.record import revision_lines
from plans.responses import plan_fields
from plans.rules.approval_policy import OPEN, OPEN_READS, ApprovalKind, TeamPolicy
from runs.live.feed import snapshot_of
from runs.procedure.fragments import render_fragments
from runs.procedure.spec import spec_of_run, specs
from tests.conftest import perform
from tests.plans.scenes import LETTER, SUM, SUMMARY, move, pending, plan, planned, questions, says, steps, team
from tests.read_gates import decide_as_read, steer_as_read

pytestmark = pytest.mark.django_db(transaction=True)
HTMX = {"HX-Request": "true"}


@pytest.fixture
async def proposed(mira, models):
    pk = await planned(mira, models, steps(SUM, LETTER))
    return await Plan.objects.select_related("run__owner").aget(pk=pk)


def gate_of(row, kind):
    return Gate.objects.with_decisions().filter(run=row.pk, kind=kind).pending().get()


def here(gate):
    return reverse("gate-here", args=[gate.pk])


def test_the_page_asks_each_thing_where_it_stands(proposed, page):
    html = page.get(f"/plans/{proposed.pk}/").content.decode()
    plan_gate, step_gate = gate_of(proposed, "plan"), gate_of(proposed, "step")
    assert f'id="at-0"><section class="at" id="gate-{plan_gate.pk}"' in " ".join(html.split()).replace("> <", "><")
    assert 'value="approve all"' in html
    assert ">Answer</button>" not in html
    assert f'action="{here(step_gate)}"' in html.partition('id="at-2"')[2]


def test_sections_of_a_record_have_plain_ids_while_a_gate_is_open(proposed, page):
    html = page.get(f"/plans/{proposed.pk}/record/").content.decode()
    names = re.findall(r' aria-labelledby="([^"]+)"', html)
    assert names
    assert [name for name in names if not re.fullmatch(r"[\w-]+", name)] == []


def test_what_is_decided_there_brings_the_part_back_and_without_scripts_the_page(proposed, page):
    step = gate_of(proposed, "step")
    part = page.post(here(step), {"said": "approve", "digest": step.digest}, headers=HTMX).content.decode()
    assert part.lstrip().startswith("<section")
    assert "<form" not in part
    whole = gate_of(proposed, "plan")
    sent = page.post(here(whole), {"said": "approve accept", "digest": whole.digest})
    assert sent.headers["Location"] == f"/plans/{proposed.pk}/#gate-{whole.pk}"


def test_a_decision_about_another_text_is_refused_where_it_stands(proposed, page):
    step = gate_of(proposed, "step")
    refused = page.post(here(step), {"said": "approve", "digest": "0" * 64, "text": "Fine."}, headers=HTMX)
    assert refused.status_code == 409
    assert "asked anew" in refused.content.decode() or "changed" in refused.content.decode().lower()
    assert gate_of(proposed, "step").pk == step.pk


def test_whoever_is_not_asked_reads_it_and_nobody_else_does(proposed, client, noor, reviewer):
    gate = gate_of(proposed, "plan")
    client.force_login(noor)
    assert client.get(here(gate), headers=HTMX).status_code == 404
    steer_as_read(gate.pk, proposed.run.owner, "approve", choice="accept")
    client.force_login(reviewer)
    part = client.get(here(gate), headers=HTMX).content.decode()
    assert "Add two and three." in part
    assert "<form" not in part


def test_a_step_is_changed_in_place_with_the_tools_of_its_owner(proposed, page):
    path = f"/plans/{proposed.pk}/steps/2/"
    typed = {"action": "Write it to Ben.", "owner": "Letters", "tools Letters": ["mail.draft"], "needs": "1"}
    assert "Write it to Ada." in page.get(path, headers=HTMX).content.decode()
    assert page.post(path, {**typed, "tools Sums": ["figures.calculate"]}, headers=HTMX).status_code == 200
    step = PlanStep.objects.get(plan=proposed.pk, number=2)
    assert (step.action, step.tools, step.needs) == ("Write it to Ben.", ["mail.draft"], [1])


def test_a_change_that_cannot_be_comes_back_as_it_was_typed(proposed, page):
    for wrong in ({"action": " "}, {"owner": "Nobody"}, {"needs": "2"}, {"needs": "one"}):
        typed = {"action": "Write it to Ben.", "owner": "Letters", "needs": "all"} | wrong
        refused = page.post(f"/plans/{proposed.pk}/steps/2/", typed)
        assert (refused.status_code, 'role="alert"' in refused.content.decode()) == (422, True), wrong
        assert f'value="{typed["needs"]}"' in refused.content.decode()


def test_what_is_said_to_the_planner_is_kept_and_what_is_empty_is_not(proposed, page):
    said = page.post(f"/plans/{proposed.pk}/say/", {"text": "Ben, too.", "to": ""}, headers=HTMX)
    assert (said.status_code, "Said." in said.content.decode()) == (200, True)
    assert page.post(f"/plans/{proposed.pk}/say/", {"text": " "}, headers=HTMX).status_code == 422
    assert PlanMessage.objects.filter(plan=proposed.pk, content="Ben, too.").count() == 1


async def test_a_question_is_answered_in_words_alone(page, mira, models):
    found = await planned(mira, models, questions("Which year?"))
    html = (await sync_to_async(page.get)(f"/plans/{found}/")).content.decode()
    assert ">Answer</button>" in html
    assert ">Approve</button>" not in html
    assert "Plan with what is known" in html
    [gate] = await sync_to_async(pending)(found)
    sent = {"said": "answer", "digest": gate.digest}
    empty = (await sync_to_async(page.post)(here(gate), sent, headers=HTMX)).content.decode()
    assert (empty.count("aria-invalid"), '<details class="more" open>' in empty) == (1, False)


async def test_a_step_has_one_number_on_its_page_in_its_record_and_at_all_other_places(page, mira, models):
    """Also where a step that was planned before comes after a new one: none stands above one with a lower number."""
    models.will("test/sums", move("give_up", "No."), move("ask", "Which two?"))
    both, version = steps(SUM, LETTER), await sync_to_async(team)(OPEN_READS)
    run = await planned(mira, models, both, both, version=version)
    html = await sync_to_async(lambda: page.get(f"/plans/{run}/").content.decode())()
    record = await sync_to_async(lambda: page.get(f"/plans/{run}/record/").content.decode())()
    row = await sync_to_async(Plan.objects.with_steps().get)(pk=run)
    news = "\n".join(line for _, line in await sync_to_async(lambda: [*Planning().new_lines(row)])())
    told = {"page": html, "record": record.partition("Steps of earlier revisions")[0]}
    shown = {name: re.findall(r"Step (\d), (Sums|Letters): ", text) for name, text in told.items()}
    shown["command"] = re.findall(r"^  (\d)\. (Sums|Letters): ", news, re.MULTILINE)
    shown["API"] = [(str(one["number"]), one["owner"]) for one in (await sync_to_async(plan_fields)(row))["steps"]]
    due = [("3", "Sums"), ("4", "Letters")]
    assert [name for name, found in shown.items() if found != due] == []
    assert all(words in html for words in ("Sums, step 3", "Go to step 3", "revision 2 in place of steps 1, 2"))
    letters = {gate.title.partition(" of ")[0] for gate in await sync_to_async(pending)(run)}
    assert (letters, "To decide: Step 3 of" in news) == ({"Step 3", "Step 4"}, True)
    assert await sync_to_async(queries.step_labels)([(run, "step-3-0-1")]) == {
        (run, "step-3-0-1"): ("Step 3", "step-3")
    }


def test_no_gate_whose_texts_were_erased_has_a_heading():
    headings = [specs()["plan"].heading(Gate(kind=kind, step="step-1")) for kind in ApprovalKind]
    assert headings == [""] * len(ApprovalKind)


async def test_an_answer_stands_in_the_thread_and_is_told_to_its_agent_once(page, mira, models):
    models.will("test/sums", move("ask", "Which two?"), move("reply", "5"))
    version = await sync_to_async(team)(OPEN_READS)
    run = await planned(mira, models, questions("By when?"), steps(SUM), SUMMARY, version=version)
    headings = []
    for answer in ("By Friday.", "Two and three."):
        headings += [spec_of_run(gate.run).heading(gate) for gate in await sync_to_async(pending)(run)]
        await says(run, mira, "answer", text=answer)
        await perform(run, models)
    row = await sync_to_async(Plan.objects.with_steps().get)(pk=run)
    said = [(one.by, one.to, one.content) for one in display_of(await sync_to_async(snapshot_of)(row.run)).thread]
    assert {("mira", 0, "By Friday."), ("mira", 1, "Two and three.")} <= {*said}
    asked = [messages[1]["content"] for model, messages in models.asked if model == "test/sums"]
    assert asked[-1].count("Two and three.") == 1
    assert headings == ["The planner asks: By when?", "Step 1 asks: Which two?"]
    assert (row.revision, [one.head.partition(",")[0] for one in revision_lines(row)]) == (
        1,
        ["Questions", "Revision 1"],
    )


async def test_what_broke_says_why_and_no_step_seems_to_work_on(page, mira, models):
    models.will("test/planner", steps(SUM))
    models.will("test/sums", Unauthorized("The endpoint refuses the key."))
    row = await sync_to_async(plan)(mira, await sync_to_async(team)(TeamPolicy(OPEN)))
    await perform(row.pk, models)
    html = await sync_to_async(lambda: page.get(f"/plans/{row.pk}/").content.decode())()
    pushed = await sync_to_async(lambda: render_fragments(fragments(display_of(snapshot_of(row.run)))))()
    assert [said.count("The endpoint refuses the key.") for said in (html, pushed)] == [1, 1]
    assert [word in html for word in ("Stopped", ">Working", "move 1 of")] == [True, False, False]


# ---- a call that was cut off ------------------------------------------------------------------------------------


@pytest.fixture
def cut(proposed):
    """As the engine asks: what becomes of the answers, it tells elsewhere."""
    step = gate_of(proposed, "step")
    rejects = [one for one in step.choices if one["decision"] == "reject"]
    said = {"kind": "uncertain", "title": "Did it happen?", "text": "Nobody knows.", "policy": parse_policy(None)}
    return Gate.objects.open(step, run=proposed.run, step=step.step, choices=[*UNCERTAIN_CHOICES, *rejects], **said)


def test_whether_it_happened_is_answered_on_its_page_and_on_that_of_what_waits(cut, page):
    html = page.get(f"/plans/{cut.run_id}/").content.decode().partition(f'id="gate-{cut.pk}"')[2]
    for choice in UNCERTAIN_CHOICES:
        assert f'value="answer {choice["word"]}">{choice["sentence"]}</button>' in html
    assert 'value="approve' not in html.partition("</section>")[0]
    assert f"/gates/{cut.pk}/" in page.get("/waiting/").content.decode()
    assert 'value="answer happened"' in page.get(f"/gates/{cut.pk}/").content.decode()
    page.post(here(cut), {"said": "answer happened", "digest": cut.digest}, headers=HTMX)
    assert GateDecision.objects.get(gate=cut).choice == "happened"


def test_what_is_uncertain_is_not_approved(cut, mira):
    with pytest.raises(gate_decisions.InvalidAnswer):
        decide_as_read(cut.pk, mira, "approve")
    assert Gate.objects.get(pk=cut.pk).pending
