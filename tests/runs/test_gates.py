"""What waits for somebody, by every door: a page, the bar, the API, commands, the admin."""

import asyncio
import json
import re

import pytest
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from engine.gate_decisions import decide as decide_at
from engine.models import Gate, GateDecision, Run
from engine.models.gates import ordered_gates
from engine.policy import parse_policy
from magi_site.models import Token
from runs import context_processors
from runs.procedure.spec import snapshot_of, spec_of_run
from runs.record.replay import build_replay
from tests.callers import API, ApiCaller, fields, problem
from tests.conftest import allow, only_on
from tests.contract import MARKER, play

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # by threads of their own


def ask(gate, number=1, **values):
    """Another gate beside it, of the same run."""
    usual = {"kind": "question", "title": f"Question {number}", "text": "Which one?", "policy": parse_policy(None)}
    return Gate.objects.open(None, run=gate.run, step=f"question {number}", **usual | values)


def deciding(user, scopes=("decide",)):
    return Client(headers={"Authorization": f"Bearer {Token.objects.make(user, scopes=scopes).secret}"})


def post(client, gate, **said):
    return client.post(f"{API}/gates/{gate.pk}/decide", json.dumps(said), "application/json")


def text_of(answer):
    return re.sub(r"\s+", " ", answer.content.decode())


# ---- pages -------------------------------------------------------------------------------------------------


def test_what_waits_stands_on_its_page_and_as_a_number_in_the_bar(gate, page):
    html = text_of(page.get(reverse("waiting")))
    assert f'<a href="{reverse("gate", args=[gate.pk])}">Doubted: A {MARKER} is an instrument.</a>' in html
    assert '<span class="nav__n">1</span><span class="vh"> for you</span>' in html
    assert "Changes something here" in html


def test_fifty_stand_on_a_page_and_the_others_behind(gate, page):
    for number in range(1, 121):
        ask(gate, number, kind="tool", tool=f"tool {number}")
    first, second = text_of(page.get(reverse("waiting"))), text_of(page.get(reverse("waiting"), {"from": "50"}))
    assert (first.count('<li class="due">'), second.count('<li class="due">')) == (50, 50)
    assert ['href="?view=&amp;from=50">More' in first, "Before" in first, "<span>99+</span>" in first] == [
        True,
        False,
        True,
    ]
    assert ['href="?view=&amp;from=0">Before' in second, 'from=100">More' in second] == [True, True]


def test_nothing_stands_in_the_bar_of_whom_nothing_waits_for(gate, noor, client):
    client.force_login(noor)
    html = text_of(client.get(reverse("waiting")))
    assert "Nothing waits." in html
    assert "nav__n" not in html


def test_the_number_is_counted_to_ninety_nine(gate, mira):
    for number in range(120):
        ask(gate, number)
    assert context_processors.pending_gate_count(mira) == "99+"


def test_the_page_takes_as_many_queries_for_one_as_for_many(gate, page):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            page.get(reverse("waiting"))
        return len(captured)

    few = queries()
    for number in range(10):
        ask(gate, number)
    assert queries() == few


def test_what_has_an_end_comes_first(gate, page):
    ask(gate, 1, policy=parse_policy({"hours": 1, "expiry": "reject"}))
    html = text_of(page.get(reverse("waiting")))
    assert html.index("Question 1") < html.index("Doubted")
    assert "rejects <time" in html


@only_on("sqlite")
def test_nothing_is_sorted_to_show_the_first_fifty(gate, mira):
    """Thousands may wait for one person, and SQLite takes up to 30 ms to sort them."""
    plan = ordered_gates(Gate.objects.for_user(mira).with_decisions())[:50].explain()
    assert "INDEX gate_in_order" in plan
    assert "FOR ORDER BY" not in plan


def test_what_does_not_wait_for_whose_run_it_is_was_asked_of_others(gate, mira, noor):
    """Said without a list of what waits for them: it must be all the rest."""
    group = Group.objects.create(name="Letters")
    mira.groups.add(Group.objects.create(name="Travel"))
    others = [{"asked_user": noor, "asked": "noor"}, {"asked_group": group, "asked": "Letters"}, {"asked": "gone"}]
    others += [
        {"policy": parse_policy({"four_eyes": True})},
        {"policy": parse_policy({"who": "council", "council": "C"})},
    ]
    others += [{"policy": parse_policy({"persons": 2})}]
    mine = [{"asked_user": mira, "asked": "mira"}, {"asked_group": mira.groups.get(), "asked": "Travel"}]
    asked = [ask(gate, number, **one) for number, one in enumerate([*mine, *others])]
    decide_at(asked[-1].pk, mira, "approve")
    assert set(Gate.objects.decidable_by_others(mira)) == set(asked[len(mine) :])
    assert set(Gate.objects.for_user(mira)) == {gate, *asked[: len(mine)]}


def test_a_gate_shows_exactly_the_text_and_its_digest(gate, page):
    html = text_of(page.get(reverse("gate", args=[gate.pk])))
    assert "Because it is so." in html
    assert gate.digest in html
    assert "Let it go out</button>" in html


@committed
def test_what_is_decided_on_the_page_lets_the_run_go_on(gate, mira, page):
    address = reverse("gate", args=[gate.pk])
    answer = page.post(address, {"said": "approve publish", "text": "It is fine.", "digest": gate.digest})
    assert answer.headers["Location"] == address
    assert "mira:" in text_of(page.get(address))
    assert asyncio.run(play(gate.run_id)).outcome == "approved"
    assert page.get(reverse("waiting"), {"view": "decided"}).content.decode().count("Approved") == 1


def test_a_rejection_without_a_word_is_asked_for_one(gate, page):
    other = ask(gate)
    answer = page.post(reverse("gate", args=[other.pk]), {"said": "reject", "digest": other.digest})
    assert answer.status_code == 422
    assert "Say why, in a word." in text_of(answer)


def test_who_comes_second_reads_who_was_first_and_keeps_the_word(gate, mira, noor, client):
    decide(gate, mira)
    client.force_login(allow(noor, "engine.view_run", "engine.decide_gate"))
    answer = client.post(reverse("gate", args=[gate.pk]), {"said": "reject withdraw", "text": "No."})
    assert answer.status_code == 409
    assert re.search(r"mira approved this at \d\d:\d\d UTC", text_of(answer))


def decide(gate, user):
    from engine import gate_decisions

    return gate_decisions.decide(gate.pk, user, "approve", choice="publish")


def test_others_find_no_gate_and_who_sees_the_run_only_reads(gate, noor, reviewer, client):
    address = reverse("gate", args=[gate.pk])
    client.force_login(noor)
    assert client.get(address).status_code == 404
    client.force_login(allow(noor, "engine.view_run"))
    assert "is asked, not you" in text_of(client.get(address))
    assert client.post(address, {"said": "approve publish"}).status_code == 403


def test_who_is_asked_sees_the_run_and_may_not_steer_it(gate, noor, client):
    face, run = spec_of_run(gate.run), gate.run
    client.force_login(noor)
    assert client.get(face.address("live", run.pk)).status_code == 404
    ask(gate, asked_user=noor, asked="noor")
    assert client.get(face.address("live", run.pk)).status_code == 200
    assert client.post(face.address("cancel", run.pk)).status_code == 403
    assert str(run.pk) in client.get(reverse("runs-history")).content.decode()


# ---- the run's own page ------------------------------------------------------------------------------------


def test_the_live_page_says_for_whom_it_waits_since_when_and_leads_there(gate, page):
    html = text_of(page.get(spec_of_run(gate.run).address("live", gate.run_id)))
    assert "<span>Waiting</span>" in html
    assert f'<a href="{reverse("gate", args=[gate.pk])}">' in html
    assert "Since <time" in html
    assert 'ws-connect="' in html


@committed
def test_its_replay_waits_too_and_leads_nowhere(gate, mira):
    decide(gate, mira)
    asyncio.run(play(gate.run_id))
    played = json.dumps(build_replay(snapshot_of(Run.objects.get())))
    assert "Waiting" in played
    assert "The person who started it is asked" in played
    assert f"/gates/{gate.pk}/" not in played


# ---- the API -----------------------------------------------------------------------------------------------


def test_a_program_finds_what_waits_and_decides(gate, mira):
    client = deciding(mira)
    (entry,) = client.get(f"{API}/gates?mine=1").json()["results"]
    found = client.get(f"{API}/gates/{entry['id']}").json()
    assert (found | entry, "text" in entry) == (found, False)
    assert client.get(f"{API}/gates?mine=1&full=1").json()["results"] == [found]
    assert (found["id"], found["state"], found["digest"]) == (gate.pk, "pending", gate.digest)
    assert [choice["word"] for choice in found["choices"]] == ["publish", "withdraw"]
    answer = post(client, gate, decision="reject", choice="withdraw", text="No.", digest=gate.digest)
    assert (answer.status_code, answer.json()["state"]) == (200, "rejected")
    assert answer.json()["decisions"][0]["by"] == "mira"
    assert client.get(f"{API}/gates/{gate.pk}").json()["state"] == "rejected"
    assert client.get(f"{API}/gates").json() == {"results": [], "next": None}


def test_a_usual_token_decides_nothing(gate, mira_calls):
    answer = mira_calls.post(f"/gates/{gate.pk}/decide", {"decision": "approve", "choice": "publish"})
    assert "lacks the scope “decide”" in problem(answer, 403)["detail"]
    assert post(deciding(gate.run.owner, ["decide:judgement"]), gate, decision="approve").status_code == 403


@pytest.mark.parametrize(
    ("said", "status", "path"),
    [
        ({"decision": "approve"}, 422, "choice"),
        ({"decision": "maybe"}, 422, "decision"),
        ({"decision": "answer", "text": "x" * 5000}, 422, "text"),
        ({"decision": "approve", "choice": "publish", "digest": "0" * 64}, 409, ""),
    ],
)
def test_what_does_not_fit_comes_back_with_its_path(gate, mira, said, status, path):
    answer = post(deciding(mira), gate, **said)
    if status == 422:
        assert path in fields(answer)
    else:
        problem(answer, status)
    assert not GateDecision.objects.exists()


def test_who_is_second_gets_409_and_others_find_nothing(gate, mira, noor):
    assert problem(post(deciding(noor), gate, decision="approve"), 404)
    said = {"decision": "approve", "choice": "publish"}
    assert post(deciding(mira), gate, **said).status_code == 200
    assert "mira approved this" in problem(post(deciding(mira), gate, **said), 409)["detail"]


def test_a_long_list_goes_on(gate, mira):
    for number in range(60):
        ask(gate, number)
    calls = ApiCaller(mira)
    first = calls.get("/gates", mine=1).json()
    rest = calls.client.get(first["next"].replace("http://testserver", "")).json()
    assert (len(first["results"]), len(rest["results"]), rest["next"]) == (50, 11, None)


# ---- commands and admin ------------------------------------------------------------------------------------


def test_commands_list_and_decide(gate, mira, capsys):
    call_command("gates", mine="mira")
    assert f"{gate.pk}: Doubted: A {MARKER} is an instrument. (answer of" in capsys.readouterr().out
    call_command("gates", json=True)
    assert json.loads(capsys.readouterr().out)[0]["id"] == gate.pk
    call_command("decide", str(gate.pk), "--by", "mira", "--reject", "No.", "--then", "withdraw")
    assert capsys.readouterr().out == "rejected\n"


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["--by", "nobody", "--approve"], 64, "There is no user nobody"),
        (["--by", "noor", "--approve", "--then", "publish"], 1, "Somebody else is asked, not you"),
        (["--by", "mira", "--approve"], 64, "It is one of publish"),
    ],
)
def test_a_decision_that_is_refused_says_why(gate, noor, words, status, sentence):
    with pytest.raises(CommandError, match=sentence) as refused:
        call_command("decide", str(gate.pk), *words)
    assert refused.value.returncode == status


def test_an_answer_with_a_form_is_json_on_the_command_line(gate, mira):
    other = ask(gate)
    call_command("decide", str(other.pk), "--by", "mira", "--answer", '{"option": "b"}')
    assert Gate.objects.with_decisions().get(pk=other.pk).answer == {"option": "b"}


def test_reviewers_read_them_in_the_admin_and_decide_nothing_there(gate, reviewer, client):
    client.force_login(reviewer)
    html = client.get(reverse("admin:engine_gate_changelist")).content.decode()
    assert MARKER in html
    assert "_selected_action" not in html
