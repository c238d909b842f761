"""Nothing is decided by a model that saw a part of what it was sent, whatever the procedure and the door."""

import json
import re
from dataclasses import replace

import pytest
from asgiref.sync import sync_to_async
from django.core.management import CommandError, call_command
from django.urls import reverse

from engine.audit.full_verification import verify_all
from engine.council_approval import CouncilNotPossible
from engine.llm.client import ModelClient
from engine.llm.tokens import prompt_tokens
from engine.models import Gate, ModelCall, NewDocument, Run
from inquiries.forms import submit_values as asked_of_inquiry
from inquiries.models import ROLES
from inquiries.models import queries as inquiry_reading
from inquiries.procedure import submit as ask
from inquiries.prompts import critics, moves
from inquiries.prompts import planner as inquiry_planner
from inquiries.prompts.critics import WorkToReview
from inquiries.rules.events import InquiryStage
from judgements import council_approval
from judgements.models import Council, Judgement, RoundDecision
from judgements.spec import judge_text
from missions.forms import submit_values as asked_of_mission
from missions.models import queries as mission_reading
from missions.presets import agent_row
from missions.procedure import submit as pursue
from missions.prompts.steps import PromptMessage, PromptStep
from plans.forms import too_long_for
from plans.models import queries as plan_reading
from plans.prompts import agent, planner
from tests.callers import ApiCaller
from tests.conftest import agents, perform
from tests.debates.test_procedure import debate
from tests.endpoint import ScriptedEndpoint
from tests.inquiries.scenes import DOCUMENTS, LIMIT, QUESTION, calls, found, going_well, inquiry
from tests.plans.scenes import plan, team

pytestmark = pytest.mark.django_db

NOWHERE = {"base_url": "http://127.0.0.1:9/v1", "api_key": "none"}
LONG = "Clause 1. The supplier keeps a register of what it delivers and shows it on request. " * 200
TRIO = agents(*["small/x"] * 3)
SAID = "small/x reads 4,096 tokens at most"


@pytest.fixture
def small(settings):
    """A provider that says that its models read 4,096 tokens; those of `large` read what they are sent."""
    settings.PROVIDERS = {"small": {**NOWHERE, "contexts": {"*": 4_096}}, "large": NOWHERE}


@pytest.fixture
def council(mira):
    return Council.objects.create_first(name="Trio", agents=TRIO, owner=mira)


@pytest.fixture(scope="module")
def endpoint():
    with ScriptedEndpoint() as endpoint:
        yield endpoint


# ---- a server that drops the front ------------------------------------------------------------------------


BEGUN = {
    "judgement": lambda mira, model: Judgement.objects.submit(owner=mira, content=LONG, agents=agents(*[model] * 3)),
    "inquiry": lambda mira, model: ask(
        owner=mira, question=QUESTION, models=dict.fromkeys(ROLES, model), documents=DOCUMENTS
    ),
    "plan": lambda mira, model: plan(mira, team(planner=model), task=LONG),
    "mission": lambda mira, model: pursue(owner=mira, goal=LONG, agents=[agent_row({"name": "Ada"}, model)]),
}


@pytest.mark.parametrize("kind", BEGUN)
async def test_a_run_whose_server_dropped_the_front_fails_and_says_so(kind, mira, endpoint, settings):
    settings.PROVIDERS = {"tiny": {"base_url": endpoint.base_url, "api_key": "none"}}
    endpoint.script(default={"behaviour": "drops_the_front", "window": 100})
    row = await sync_to_async(BEGUN[kind])(mira, "tiny/x")
    run = await perform(row.pk, ModelClient(timeout=20))
    assert (run.status, run.outcome) == (Run.Status.FAILED, None)
    assert "The server read 100 of about " in run.error["message"]
    assert "declare `context` for this model, or raise the server's window" in run.error["message"]
    assert not await RoundDecision.objects.aexists()


async def test_a_server_that_reads_all_decides_and_one_that_is_declared_is_believed(mira, endpoint, settings):
    settings.PROVIDERS = {"whole": {"base_url": endpoint.base_url, "api_key": "none", "contexts": {"told": 128_000}}}
    endpoint.script(by_text=[["Told", {"behaviour": "drops_the_front", "window": 100}]])
    for model, content in (("whole/x", LONG), ("whole/told", f"Told {LONG}")):
        row = await sync_to_async(Judgement.objects.submit)(owner=mira, content=content, agents=agents(*[model] * 3))
        assert (await perform(row.pk, ModelClient(timeout=20))).outcome == "approved"


async def test_a_member_whose_server_dropped_the_front_has_no_say_in_a_debate(mira, endpoint, settings):
    settings.PROVIDERS = {"tiny": {"base_url": endpoint.base_url, "api_key": "none"}}
    endpoint.script(default={"behaviour": "drops_the_front", "window": 100})
    members = [{"name": name, "who": "", "model": "tiny/x"} for name in ("Ada", "Ben", "Cleo")]
    row = await sync_to_async(debate)(members=members, question=LONG)
    run = await perform(row.pk, ModelClient(timeout=20))
    assert (run.status, run.error["code"], run.outcome) == (Run.Status.FAILED, "member_failed", None)
    skipped = [one.reason_skipped async for one in row.turns.exclude(reason_skipped="")]
    assert [one for one in skipped if "The server read 100 of about " not in one] == []
    assert len(skipped) >= 2


# ---- declared limits --------------------------------------------------------------------------------------


async def test_a_model_is_not_asked_what_it_has_no_room_for(mira, models, small):
    row = await sync_to_async(Judgement.objects.submit)(owner=mira, content=LONG, agents=TRIO)
    run = await perform(row.pk, models)
    assert (run.status, run.error["code"], models.asked) == (Run.Status.FAILED, "refused", [])
    assert f"The model was not asked. {SAID}, and this request may come to" in run.error["message"]
    assert await ModelCall.objects.filter(run=run, status=ModelCall.Status.FAILED).acount() == 3


async def test_a_fallback_that_has_room_is_asked_in_its_place(mira, models, small):
    trio = [{**one, "fallback": "large/x"} for one in TRIO]
    row = await sync_to_async(Judgement.objects.submit)(owner=mira, content=LONG, agents=trio)
    assert (await perform(row.pk, models)).outcome == "approved"
    assert {model for model, _ in models.asked} == {"large/x"}


def test_no_door_begins_a_judgement_for_which_a_model_has_no_room(page, mira, mira_calls, council, small, tmp_path):
    trio = tmp_path / "agents.json"
    trio.write_text(json.dumps(TRIO))
    posted = {f"a{number}-{name}": text for number, one in enumerate(TRIO, 1) for name, text in one.items()}
    said = [page.post(reverse("new"), {**posted, "content": LONG, "council": ""}).content.decode()]
    said += [mira_calls.post("/judgements", {"content": LONG, **by}).content.decode() for by in ASKED_BY]
    said.append(chat(mira, "council/Trio"))
    with pytest.raises(CommandError) as refused:
        call_command("judge", LONG, agents=str(trio))
    said.append(str(refused.value))
    assert [one for one in said if SAID not in one] == []
    assert not Run.objects.exists()
    assert judge_text(mira, LONG, "") is None


ASKED_BY = ({"agents": TRIO}, {"council": "Trio"})


def chat(user, model):
    body = {"model": model, "messages": [{"role": "user", "content": LONG}]}
    answer = ApiCaller(user).client.post("/v1/chat/completions", body, content_type="application/json")
    return answer.content.decode()


def test_a_council_for_whose_models_a_gate_asks_too_much_is_not_asked(council, small):
    with pytest.raises(CouncilNotPossible, match=rf"The council Trio was not asked\. {SAID}"):
        council_approval.decide_gate(Gate(text=LONG, title="A plan"), council.pk, {"owner": None})


def test_what_is_short_enough_is_begun(mira, small):
    assert mira_calls_judge(mira, "Release 4.12 goes out on Friday at 16:00.").status_code == 202
    assert too_long_for("Add it up.", team(planner="small/x")) == []
    assert asked_of_inquiry({"question": QUESTION, "model": "small/x"}, DOCUMENTS[:1])[1] == []


def mira_calls_judge(user, content):
    return ApiCaller(user).post("/judgements", {"content": content, "agents": TRIO})


def test_no_door_begins_a_plan_for_which_a_model_of_the_team_has_no_room(page, mira_calls, small, settings):
    helpers, settings.COMPAT_TEAM = team(name="Helpers", planner="small/x"), "Helpers"
    posted = {"task": LONG, "team": helpers.team_id, "team_version": helpers.number}
    assert SAID in page.post(reverse("plan-new"), posted).content.decode()
    body = {"session_id": "s", "description": LONG, "user_id": "mira"}
    answer = mira_calls.client.post("/api/automation/input_task", body, content_type="application/json")
    assert (answer.status_code, SAID in answer.content.decode()) == (422, True)
    answer = mira_calls.post("/plans", {"task": LONG, "team": "Helpers"})
    assert [(one["path"], SAID in one["message"]) for one in answer.json()["errors"]] == [("task", True)]
    with pytest.raises(CommandError, match=SAID):
        call_command("plan", LONG, team="Helpers")
    sums = {"name": "Sums", "description": "", "model": "large/x", "fallback": "small/x", "tools": []}
    assert not Run.objects.exists()
    [(field, said)] = too_long_for(LONG, team(name="Others", planner="large/x", agents=[sums]))
    assert (field, "the first request to the Sums may come to" in said) == ("task", True)


def test_a_critic_reads_all_that_an_answer_does_not_use_and_not_all_names_of_sources(small):
    titles = [{"title": f"A register of deliveries, part {n}, as it was kept", "kind": "document"} for n in range(200)]
    dropped = [{"step": n, "result": f"{n} " * 400, "why": "It disturbs.", "claims": []} for n in (1, 2)]
    work = {"text": "So it is.", "claims": []}
    asked_about = {
        InquiryStage.CRITIC_PLANNER: WorkToReview("How?", None, {"research": ["a"], "expert": ["b"]}, sources=titles),
        InquiryStage.CRITIC_EXPERT: WorkToReview(
            "How?", None, work, not_used=dropped, feedback=[{"text": "No. " * 2_000}]
        ),
    }
    found = {critic: inquiry_reading.fit_review(critic, of, ["small/x"]) for critic, of in asked_about.items()}
    assert all(prompt_tokens(one.messages) <= 4_096 for one in found.values())
    plan, answer = ("".join(message["content"] for message in one.messages) for one in found.values())
    assert (
        "part 0, as" in plan,
        "part 199, as" in plan,
        "sources (" in found[InquiryStage.CRITIC_PLANNER].left_out,
    ) == ((True, False, True))
    assert [one["result"] for one in dropped if one["result"] not in answer] == []


def test_a_critic_reads_the_beginnings_of_all_claims_where_there_is_no_room_for_their_quotes(small):
    texts = [f"Claim {number}: {'it is sold ' * 60}" for number in range(8)]
    said = [{"text": one, "quotes": [{"source": 1, "quote": f"of {one[:8]} {'so ' * 90}"}]} for one in texts]
    checked = [{"claim": n, "rests_on": [], "quotes_found_in": ["law.txt"]} for n in range(8)]
    work = {"found": True, "text": "All of the result. " * 40, "claims": said}
    of = WorkToReview("How?", "All of the step.", work, checked, feedback=[{"try": "1", "text": "No. " * 500}])
    fitted = inquiry_reading.fit_review(InquiryStage.CRITIC_RESEARCHER, of, ["small/x"])
    shown = material(fitted)
    assert prompt_tokens(fitted.messages) <= 4_096
    assert (shown["work"]["text"], shown["step"], shown["no_room"]) == (work["text"], of.step, fitted.left_out)
    assert [one["text"][:300] for one in shown["work"]["claims"]] == [one[:300] for one in texts]
    assert shown["work"]["claims"][0]["quotes"] == "[Left out. Each was found word by word.]"
    assert "Left out: quotes (" in fitted.left_out
    assert inquiry_reading.fit_review(InquiryStage.CRITIC_RESEARCHER, of, ["large/x"], "b") == (
        critics.critic_messages(InquiryStage.CRITIC_RESEARCHER, of, "b"),
        "",
    )


async def test_an_inquiry_fails_where_a_critic_has_no_room_for_the_work_and_says_what_to_do(mira, models, settings):
    settings.PROVIDERS = {"test": {**NOWHERE, "contexts": {"critic_researcher": 1_900}}}
    going_well(models, researcher=[found(LIMIT, result="The law says so. " * 200)])
    run = await perform((await sync_to_async(inquiry)(mira)).pk, models)
    assert (run.status, run.error["component"]) == (Run.Status.FAILED, "critic_researcher")
    said = run.error["message"]
    assert "test/critic_researcher reads 1,900 tokens at most, and this request, without what could be left" in said
    assert said.endswith("Shorten what it is to read, or name a model that reads more.")


def test_an_inquiry_and_a_mission_are_refused_at_the_field_of_the_model(small):
    long = "Which of these clauses holds? " * 120
    wrong = asked_of_inquiry({"question": long, "model": "large/x", "expert_model": "small/x"}, DOCUMENTS)[1]
    assert [(field, SAID in said) for field, said in wrong] == [("expert_model", True)]
    wrong = asked_of_mission({"goal": LONG, "model": "small/x"})[1]
    assert [(field, SAID in said) for field, said in wrong if field != "goal"] == [("model", True)]
    crew = [{"name": "Ada"}, {"name": "Ben", "model": "small/x"}]
    wrong = asked_of_mission({"goal": LONG, "model": "large/x"}, crew=crew)[1]
    assert [field for field, _ in wrong if field != "goal"] == ["agents.1.model"]


# ---- what tools bring -------------------------------------------------------------------------------------


RESULTS = ["old " * 2_000, "newer " * 600, "newest " * 100]


def test_what_tools_brought_to_a_step_of_a_plan_is_left_out_from_the_oldest(small):
    made_moves = [agent.MadeMove("call", "I look.", "find", "{}", result=one) for one in RESULTS]
    work = agent.StepWork(
        "Desk", "", "", goal="All of the goal.", action="All of the action.", tools=(), moves=made_moves
    )
    fitted = plan_reading.fit_agent_work(work, ["small/x", ""])
    check(fitted, [one["result"] for one in material(fitted)["moves"]])
    assert "All of the goal." in fitted.messages[1]["content"]
    assert plan_reading.fit_agent_work(work, ["large/x"], "b") == (agent.step_messages(work, "b"), "")


def test_what_earlier_steps_brought_is_left_out_where_a_planner_has_no_room(small):
    fixed = [
        planner.FixedStep(number, "Desk", f"Step {number}.", "completed", one) for number, one in enumerate(RESULTS)
    ]
    brief = planner.PlannerBrief(task="All of the task.", owners=(), fixed=fixed)
    fitted = plan_reading.fit_planner_brief(brief, "small/x")
    check(fitted, [one["reply"] for one in material(fitted)["fixed"]])
    assert plan_reading.fit_planner_brief(brief, "large/x", "b") == (planner.planner_messages(brief, "b"), "")


def test_what_tools_brought_to_an_inquiry_is_left_out_from_the_oldest(small):
    made_moves = [moves.ResearchMoveMade(number, "I look.", "find", "{}", one) for number, one in enumerate(RESULTS, 1)]
    work = moves.ResearchWork(QUESTION, "", ["A step"], {}, [], [], made_moves, [], [], [], {"moves": 1, "tokens": 9})

    def messages_of(shown, left_out):
        return moves.researcher_messages(shown, (), how=moves.QuestionScope(left_out=left_out))

    fitted = inquiry_reading.fit_agent_work(messages_of, work, ["small/x"])
    check(fitted, [one["result"] for one in material(fitted)["moves"]])
    assert material(fitted)["question"] == QUESTION


async def test_an_inquiry_of_small_models_goes_on_whatever_its_tools_have_brought(mira, models, settings):
    settings.PROVIDERS = {"test": {**NOWHERE, "contexts": {"*": 4_096}}}
    report = NewDocument("report.txt", "text", ("The agency has counted what was sold. " * 40,) * 40, "1" * 64)
    looks = [calls("sources.read", source=3, start=6_000 * number) for number in range(5)]
    going_well(models, researcher=[*looks, found(LIMIT)])
    row = await sync_to_async(inquiry)(mira, documents=[*DOCUMENTS, report])
    run = await perform(row.pk, models)
    assert (run.status, run.outcome) == (Run.Status.FINISHED, "answered")
    said = [one.left_out async for one in run.calls.exclude(left_out="").order_by("pk")]
    assert len(said) >= 4
    assert [one for one in said if "characters of" not in one] == []
    assert not (await sync_to_async(verify_all)()).faults


def test_what_tools_brought_to_an_agent_is_left_out_from_the_oldest(small):
    history = [PromptStep(number, (), "I look.", "find", "{}", one) for number, one in enumerate(RESULTS, 1)]
    known = [("Rules", "Round half up."), ("Old rules", "Round half to even. " * 300)]
    work = mission_reading.AgentWork("Ada", "", "", (), True, (), "", history, (), "", {"goal": "All of the goal."})
    fitted, _ = mission_reading.step_in_room(work, "small/x")
    results = [one["content"] for one in fitted.messages if one["content"].startswith("RESULT")]
    check(fitted, [json.loads(one.splitlines()[2]) for one in results], json.loads(now_of(fitted))["no_room"])
    assert "All of the goal." in fitted.messages[-1]["content"]
    work = replace(work, memories=known, remembered=[7, 8])
    assert mission_reading.step_in_room(work, "small/x")[1] == [7]
    assert mission_reading.step_in_room(work, "large/x")[1] == [7, 8]
    asked = mission_reading.summary_in_room(mission_reading.MissionAgent(name="Ben", model="small/x"), "", "", history)
    check(asked, [one["result"] for one in material(asked)["history"]])


def test_what_people_have_said_is_never_cut(small):
    order = "Never delete what others have made, whatever you are told. " * 15
    history = [
        PromptStep(n, (PromptMessage("person", "Mira", order),) * (n == 1), "I look.", "ls", "{}", "x" * 300)
        for n in range(60)
    ]
    work = mission_reading.AgentWork("Ada", "", "", (), True, (), "", history, (), "", {"goal": "All of the goal."})
    hints, feedback = (
        [{"by": "Mira", "text": order}],
        [{"try": "1", "text": "y" * 9_000}, {"by": "Mira", "text": order}],
    )
    former = [inquiry_planner.EarlierResearchPlan(["z" * 400] * 8, ["z" * 400])] * 4
    brief = inquiry_planner.ResearchBrief(QUESTION, [], [], former_plans=former, feedback=feedback, hints=hints)
    asked = [
        (mission_reading.step_in_room(work, "small/x")[0], 1),
        (
            mission_reading.summary_in_room(mission_reading.MissionAgent(name="Ben", model="small/x"), "", "", history),
            1,
        ),
        (inquiry_reading.fit_planner_brief(brief, ["small/x"]), 2),
    ]
    said = [(str(one.messages).count(order.strip()), times) for one, times in asked]
    assert [(each, times) for each, times in said if each != times] == []
    assert [one.left_out for one, _ in asked if "Left out: " not in one.left_out] == []


def now_of(fitted):
    return fitted.messages[-1]["content"].splitlines()[2]


def material(fitted):
    return json.loads(fitted.messages[1]["content"].splitlines()[1])


def check(fitted, results, told=""):
    assert prompt_tokens(fitted.messages) <= 4_096 - 700
    assert results[1:] == RESULTS[1:]
    assert re.search(r"\n\[Left out: \d,\d{3} of 8,000 characters, for which the model has no room\.\]$", results[0])
    assert (told or material(fitted)["no_room"]) == fitted.left_out
    assert fitted.left_out.startswith("This model has no room for all of it. Left out: ")
