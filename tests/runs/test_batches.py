"""What is alike is ticked and decided together on the page of what waits: one result each, none stops the others."""

import html
import re

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse

from engine.gate_decisions import MAX_BATCH
from engine.models import Gate, GateDecision, Run
from engine.policy import parse_policy
from runs import run_actions
from tests.callers import API
from tests.runs.test_councils import deciding

pytestmark = pytest.mark.django_db
WAITING = "/waiting/"


@pytest.fixture
def run(mira):
    return Run.objects.create(procedure="check", owner=mira, status=Run.Status.WAITING, worker="")


def ask(run, number, **values):
    usual = {"kind": "tool", "tool": "tasks.add", "title": f"Task {number}", "text": f"Add task {number}"}
    usual |= {"effect": "writes", "policy": parse_policy(None)}
    return Gate.objects.open(None, run=run, step=f"step {number}", **usual | values)


@pytest.fixture
def tasks(run):
    return [ask(run, number) for number in range(4)]


@pytest.fixture
def page(client, mira):
    client.force_login(mira)
    return client


def named(gate):
    return f"{gate.pk} {gate.digest}"


def say(page, gates, said="approve", text=""):
    return page.post(WAITING, {"gate": [named(gate) for gate in gates], "said": said, "text": text})


def words(answer):
    text = re.sub(r"<[^>]+>", " ", answer.content.decode())
    return html.unescape(re.sub(r"\s+", " ", text))


def states(gates):
    return [Gate.objects.get(pk=gate.pk).state for gate in gates]


def test_alike_ones_stand_together_each_with_its_text_and_digest_and_none_ticked(tasks, page):
    source = page.get(WAITING).content.decode()
    assert "4 alike: tasks.add" in source
    for gate in tasks:
        assert f'value="{named(gate)}">' in source
        assert f"sha256 {gate.digest}" in source
        assert gate.text in source
    assert " checked" not in source


def test_those_that_are_ticked_are_decided_and_the_others_wait(tasks, page):
    answer = say(page, tasks[:3])
    assert states(tasks) == ["approved", "approved", "approved", "pending"]
    assert "All 3 decided." in words(answer)
    assert GateDecision.objects.filter(by="mira").count() == 3


def test_what_changed_meanwhile_is_left_and_said(tasks, page, run, mira):
    run_actions.decide(tasks[1].pk, mira, "reject", text="No.")
    about = {"kind": "tool", "tool": "tasks.add", "effect": "writes", "text": "Another", "policy": parse_policy(None)}
    anew = Gate.objects.open(tasks[2], run=run, step=tasks[2].step, **about)
    mixed_up = f"{anew.pk} {'0' * 64}"
    answer = page.post(WAITING, {"gate": [*map(named, tasks), mixed_up], "said": "approve"})
    assert states([*tasks, anew]) == ["approved", "rejected", "void", "approved", "pending"]
    said = words(answer)
    assert "3 of 5 left as they were." in said
    assert "Task 1 : mira rejected this at" in said
    assert "Task 2 : Asked again at" in said
    assert "This is not the text that you have read" in said


@pytest.mark.parametrize(
    ("said", "text", "ticked", "sentence"),
    [
        ("approve", "", 0, "Nothing was ticked"),
        ("reject", "", 2, "Say why, in a word"),
    ],
)
def test_what_cannot_be_said_decides_nothing_and_keeps_the_ticks(tasks, page, said, text, ticked, sentence):
    answer = say(page, tasks[:ticked], said, text)
    assert (answer.status_code, states(tasks)) == (422, ["pending"] * 4)
    assert sentence in words(answer)
    assert answer.content.decode().count(" checked") == ticked


def test_more_than_fifty_and_different_ones_are_not_decided_together(tasks, page, run):
    other = ask(run, 7, tool="tasks.change")
    assert "up to 50 of one run" in words(say(page, [tasks[0], other]))
    many = [ask(run, number) for number in range(10, 61)]
    assert (say(page, many).status_code, set(states(many))) == (422, {"pending"})


def test_what_leaves_the_house_is_never_in_a_batch(run, page):
    letters = [ask(run, number, tool="mail.send", effect="reaches_out") for number in range(3)]
    source = page.get(WAITING).content.decode()
    assert ("alike:" in source, source.count("Read and decide")) == (False, 3)
    answer = say(page, letters)
    assert (answer.status_code, set(states(letters))) == (422, {"pending"})
    assert "one by one" in words(answer)


def test_what_leaves_something_out_is_decided_by_no_batch(run, page, mira):
    cut = [ask(run, number, whole="0" * 64) for number in range(2)]
    assert "alike:" not in page.get(WAITING).content.decode()
    answer = say(page, cut)
    assert (answer.status_code, "is decided alone" in words(answer)) == (422, True)
    caller = deciding(mira)
    shown = caller.get(f"{API}/gates/{cut[0].pk}").json()
    assert (shown["cut"], shown["whole"]) == (True, "0" * 64)
    asked = {"gates": [{"id": gate.pk, "digest": gate.digest} for gate in cut], "decision": "approve"}
    answer = caller.post(f"{API}/gates/decide", asked, content_type="application/json")
    assert (answer.status_code, states(cut)) == (422, ["pending"] * 2)
    shown = page.get(reverse("gate", args=[cut[0].pk])).content.decode()
    assert "This text does not show everything. It names what it leaves out" in shown


def test_a_long_text_is_folded_and_all_of_it_is_on_the_page(run, page):
    lines = [f"line {number} of many" for number in range(4_000)]
    gate = ask(run, 0, text="\n".join(lines))
    shown = page.get(reverse("gate", args=[gate.pk])).content.decode()
    assert [line for line in lines if line not in shown] == []
    assert len(re.findall(r"Show [\d]+ more lines", shown)) == 1


def test_what_others_are_asked_is_not_there(tasks, client, noor):
    client.force_login(noor)
    assert say(client, tasks).status_code == 404
    assert client.post(WAITING, {"gate": "x", "said": "approve"}).status_code == 404


def test_a_single_one_is_no_batch_and_no_more_than_fifty_stand_in_one(run, page):
    ask(run, 0)
    assert "alike:" not in page.get(WAITING).content.decode()
    for number in range(1, 60):
        ask(run, number)
    assert f"{MAX_BATCH} alike: tasks.add" in page.get(WAITING).content.decode()


def test_who_sees_them_for_a_group_decides_them_for_it(run, page, mira):
    group = Group.objects.create(name="Desk")
    mira.groups.add(group)
    asked = [ask(run, number, asked_group=group, asked="Desk") for number in range(2)]
    answer = page.post(f"{WAITING}?view=groups", {"gate": [named(gate) for gate in asked], "said": "approve"})
    assert (answer.status_code, states(asked)) == (200, ["approved", "approved"])


def test_its_page_leads_to_each_alone(tasks, page):
    assert reverse("gate", args=[tasks[2].pk]) in page.get(WAITING).content.decode()


def test_a_batch_that_is_no_number_is_none(tasks, page):
    for at in ("x", "\N{SUPERSCRIPT TWO}", "9" * 5_000):
        answer = page.post(WAITING, {"said": "approve", "batch": at})
        assert (answer.status_code, "Nothing was ticked" in words(answer)) == (422, True)
