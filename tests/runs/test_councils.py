"""A council at a gate, by every door: pages, the API, the history, the record."""

import asyncio
import json
import re
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from engine import council_approval
from engine.models import Gate, GateDecision, Run
from engine.policy import parse_policy
from judgements.models import Council
from magi_site.models import Token
from runs import run_actions
from runs.procedure.spec import spec_of_run
from tests import contract
from tests.callers import API
from tests.conftest import allow, person
from tests.contract import MARKER, doubted, play
from tests.databases import copied
from tests.engine.test_waiting import perform_until

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # by threads of their own

HISTORY = "/runs/"
BOTH = {"who": "both", "council": "Trio"}
REASON = "The council has not seen the letter that came with it, and I have."


def make_both():
    """Mira is asked besides a council that has come to its end, and hides that."""
    mira = person("mira")
    contract.trio(mira)
    run = doubted(mira, BOTH).run
    asyncio.run(perform_until(run, None, "waiting"))
    gate = Gate.objects.with_decisions().get()
    asyncio.run(perform_until(gate.council, None, "finished"))
    return Gate.objects.with_decisions().get()


@pytest.fixture(scope="module")
def both():
    return copied(make_both)


@pytest.fixture
def gate(both, mira):
    return both()


def html(client, address):
    return re.sub(r"\s+", " ", client.get(address).content.decode())


def page_of(gate):
    return reverse("gate", args=[gate.pk])


def deciding(user):
    token = Token.objects.make(user, scopes=("decide",))
    return Client(headers={"Authorization": f"Bearer {token.secret}"})


def test_a_council_judges_the_text_of_a_gate_and_nothing_else(gate):
    judged = gate.council
    assert (judged.procedure, judged.judgement.content, judged.status) == ("judgement", gate.text, "finished")
    assert judged.judgement.council_version.council.name == "Trio"


def test_what_it_said_is_shown_behind_no_door_before_the_person_has_decided(gate, mira, page):
    council = gate.council
    face = spec_of_run(council)
    for name in ("live", "record", "record-file", "fragments", "replay"):
        assert page.get(face.address(name, council.pk)).status_code == 404, name
    assert str(council.pk) not in html(page, spec_of_run(gate.run).address("live", gate.run_id))
    assert str(council.pk) not in html(page, HISTORY + f"?q={MARKER}")
    client = deciding(mira)
    assert client.get(f"{API}/judgements/{council.pk}").status_code == 404
    assert client.get(f"{API}/judgements/{council.pk}/record").status_code == 404
    seen = client.get(f"{API}/gates/{gate.pk}").json()
    trio = Council.objects.get(name="Trio").pk
    assert (seen["council"], seen["decisions"]) == ({"id": trio, "name": "Trio", "run": None, "said": None}, [])
    assert "has decided; it is shown after you" in html(page, page_of(gate))


def test_afterwards_both_stand_there(gate, mira, page):
    run_actions.decide(gate.pk, mira, "approve", choice="publish")
    seen = deciding(mira).get(f"{API}/gates/{gate.pk}").json()
    said = [(one["by"], one["decision"], one["knew_council"]) for one in seen["decisions"]]
    assert said[0] == ("mira", "approve", False)
    assert said[1][0] == "council Trio, version 1"
    assert (seen["council"]["run"], seen["decisions"][1]["judged_by"]) == (str(gate.council_id),) * 2
    assert spec_of_run(gate.council).address("live", gate.council_id) in html(page, page_of(gate))
    assert f"Doubted: A {MARKER} is an instrument." in html(page, spec_of_run(gate.run).address("live", gate.run_id))


def test_who_may_looks_and_that_is_on_record(gate, noor, client):
    client.force_login(allow(noor, "engine.view_run", "engine.override_gate"))
    assert "Show what the council says" in html(client, page_of(gate))
    client.post(page_of(gate), {"look": "1"})
    assert GateDecision.objects.get().by == "noor"
    assert client.get(spec_of_run(gate.council).address("live", gate.council_id)).status_code == 200


def test_who_may_not_is_told(gate, page):
    answer = page.post(page_of(gate), {"look": "1"})
    assert answer.status_code == 403
    assert "may not look at it before others" in answer.content.decode()


def test_a_refusal_is_overridden_on_the_page_with_a_reason(gate, mira, noor, client):
    Run.objects.filter(pk=gate.council_id).update(override=None)
    GateDecision.objects.create(gate=gate, by_user=mira, by="mira", decision="approve", choice="publish")
    GateDecision.objects.create(gate=gate, by="council Trio", judged_by=gate.council, decision="reject")
    Gate.objects.update(hides=False)
    client.force_login(allow(noor, "engine.view_run", "engine.override_gate"))
    assert "a yes opens nothing" in html(client, page_of(gate))
    assert client.post(page_of(gate), {"said": "override", "text": "Yes."}).status_code == 422
    client.post(page_of(gate), {"said": "override", "text": REASON})
    assert Gate.objects.get().state == "approved"


def test_the_history_shows_what_people_asked_for_and_finds_the_rest_by_words(gate, mira, page):
    run_actions.decide(gate.pk, mira, "reject", choice="withdraw")
    listed = html(page, HISTORY)
    assert str(gate.run_id) in listed
    assert str(gate.council_id) not in listed
    assert str(gate.council_id) in html(page, HISTORY + "?q=Doubted")
    assert f"letter, {spec_of_run(gate.run).noun}" not in listed


def test_the_record_says_who_has_made_it_and_what_it_has_made(gate, mira, page):
    run_actions.decide(gate.pk, mira, "reject", choice="withdraw")
    record = html(page, spec_of_run(gate.council).address("record", gate.council_id))
    assert f"<dt>Made by</dt><dd>{gate.run_id}, gate {gate.pk}</dd>" in record
    assert f"{gate.council_id} (gate {gate.pk})" in html(page, spec_of_run(gate.run).address("record", gate.run_id))


def test_the_record_says_what_was_asked_and_who_said_what(gate, mira, page):
    run_actions.decide(gate.pk, mira, "approve", choice="publish", text="I have read it.")
    record = html(page, spec_of_run(gate.run).address("record", gate.run_id))
    told = record[record.index(">Decisions</h2>") :]
    sentence = next(one["sentence"] for one in gate.choices if one["word"] == "publish")
    for said in (gate.text, gate.digest, f"mira approved: {sentence}, ", "I have read it.", "council Trio "):
        assert said in told, said


@committed
def test_a_yes_is_not_offered_where_it_would_open_nothing(mira, page):
    contract.trio(mira)
    run = doubted(mira, BOTH | {"blind": False}).run
    asyncio.run(perform_until(run, None, "waiting"))
    gate = Gate.objects.get()
    council = Run.objects.get(pk=gate.council_id)
    GateDecision.objects.create(gate=gate, by="council Trio", judged_by=council, decision="reject")
    assert 'value="approve' not in html(page, page_of(gate))
    assert page.post(page_of(gate), {"said": "approve publish"}).status_code == 422
    run_actions.decide(gate.pk, mira, "reject", choice="withdraw")


def test_an_open_page_hears_that_a_run_belongs_to_it_as_soon_as_that_may_be_seen(gate, mira, page):
    def mark():
        fragments = html(page, spec_of_run(gate.run).address("fragments", gate.run_id))
        return re.search('id="made-mark" hidden data-mark="([^"]+)"', fragments)[1]

    before, made = mark(), spec_of_run(gate.run).address("made", gate.run_id)
    assert str(gate.council_id) not in html(page, made)
    run_actions.decide(gate.pk, mira, "approve", choice="publish")
    assert mark() != before
    assert spec_of_run(gate.council).address("live", gate.council_id) in html(page, made)


@committed
def test_a_redaction_names_what_may_repeat_its_texts(gate, mira, reviewer, client):
    run_actions.decide(gate.pk, mira, "reject", choice="withdraw")
    asyncio.run(play(gate.run_id))
    client.force_login(reviewer)
    asked = html(client, spec_of_run(gate.run).address("redact", gate.run_id))
    assert "what it has asked, where its texts may be repeated" in asked
    assert spec_of_run(gate.council).address("live", gate.council_id) in asked
    said = StringIO()
    call_command("redact", str(gate.run_id), reason="Asked for it.", stdout=said)
    assert f"{gate.council_id}: made by it, and not redacted with it" in said.getvalue()


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_an_export_of_all_leaves_out_what_is_shown_to_nobody_yet(gate, mira, form):
    def lines_that_name_it():
        said = StringIO()
        call_command("export_records", format=form, kind=gate.council.procedure, stdout=said)
        return sum(str(gate.council_id) in line for line in said.getvalue().splitlines())

    before = lines_that_name_it()  # the record of whoever asked may
    run_actions.decide(gate.pk, mira, "reject", choice="withdraw")
    assert lines_that_name_it() == before + 1


# ---- many at once --------------------------------------------------------------------------------------------


def make_questions():
    run = doubted(person("mira")).run
    asyncio.run(perform_until(run, None, "waiting"))
    usual = {"run": run, "kind": "step", "title": "A step", "text": "Do it.", "policy": parse_policy(None)}
    return [Gate.objects.open(None, step=f"step {number}", **usual) for number in range(3)]


@pytest.fixture(scope="module")
def asked():
    return copied(make_questions)


@pytest.fixture
def questions(asked, mira):
    return asked()


def decide_all(user, gates):
    return decide_named(user, [{"id": gate.pk, "digest": gate.digest} for gate in gates])


def decide_named(user, gates):
    asked = {"gates": gates, "decision": "approve"}
    return deciding(user).post(f"{API}/gates/decide", json.dumps(asked), "application/json")


def test_many_are_decided_at_once_and_each_has_its_own_result(questions, mira):
    run_actions.decide(questions[1].pk, mira, "reject", text="No.")
    results = decide_all(mira, questions).json()["results"]
    assert [one["status"] for one in results] == [200, 409, 200]
    assert results[1]["detail"].startswith("mira rejected this at")
    assert [gate.state for gate in Gate.objects.filter(kind="step")] == ["approved", "rejected", "approved"]


def test_a_digest_of_another_text_stops_that_one_alone(questions, mira):
    asked = [{"id": questions[0].pk, "digest": "0" * 64}, {"id": questions[1].pk, "digest": questions[1].digest}]
    assert [one["status"] for one in decide_named(mira, asked).json()["results"]] == [409, 200]


def test_gates_of_different_kinds_are_not_decided_together(questions, mira):
    answer = decide_all(mira, [*questions, Gate.objects.get(kind="answer")])
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "gates")


def test_what_another_one_may_not_see_is_not_there(questions, noor):
    assert decide_all(noor, questions).status_code == 404


def test_the_installation_has_a_council_that_can_be_asked():
    assert council_approval._decider().__name__ == "decide_gate"
