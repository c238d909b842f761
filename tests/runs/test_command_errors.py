"""What commands complain of is named as their own options and arguments are."""

import json
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from django.core.management import call_command, load_command_class
from django.core.management.base import CommandError, OutputWrapper

from debates.models import Panel
from engine.models import Gate
from engine.policy import parse_policy
from judgements.models import Council
from tests.conftest import agents
from tests.missions.scenes import mission
from tests.plans.cast import team

LONG = "x" * 400
WRONG = {
    "--title": [
        ("judge", "Go?", "--title", LONG),
        ("ask", "Why is it so?", "--title", LONG),
        ("plan", "Go.", "--title", LONG),
    ],
    "content": [("judge", " ")],
    "--council": [("judge", "Go?", "--council", "Nobody")],
    "--panel": [("debate", "Go?", "--panel", "Nobody")],
    "--most": [("debate", "Go?", "--most", "many")],
    "--spend": [(name, "Why is it so?", "--spend", "much") for name in ("debate", "ask", "plan", "mission")],
    "--document": [("debate", "Go?", "--document", "/nowhere"), ("ask", "Why is it so?", "--document", "/nowhere")],
    "--posts": [("ask", "Why is it so?", "--posts", "Nobody")],
    "--limit": [("ask", "Why is it so?", "--limit", "often")],
    "--plan-critic": [("ask", "Why is it so?", "--plan-critic", "council:Nobody")],
    "--planner-model": [("ask", "Why is it so?", "--planner-model", "nobody/x")],
    "--follows": [("ask", "Why is it so?", "--follows", "00000000-0000-4000-8000-000000000000")],
    "--team": [("plan", "Go.", "--team", "Nobody")],
    "--from": [("plan", "Go.", "--from", "nothing")],
    "--crew": [("mission", "Go.", "--crew", "Nobody")],
    "--steps": [("mission", "Go.", "--steps", "0")],
    "--continue": [("mission", "Go.", "--continue", "nothing")],
    "--workspace": [("mission", "Go.", "--workspace", "/nowhere")],
    "--scopes": [("create_token", "mira", "--scopes", "everything")],
    "--name": [("create_token", "mira", "--name", LONG)],
    "name": [("collection", "a,b")],
}
OPTIONS = [{"word": word, "direction": "between", "meaning": ""} for word in ("GO", "STAY")]


def complaint(*words):
    with pytest.raises(CommandError) as refused:
        call_command(*words)
    return str(refused.value)


@pytest.mark.django_db
def test_what_is_wrong_is_said_under_the_option_that_gave_it(mira):
    members = [{"name": name, "who": "", "model": "", "fallback": ""} for name in ("Ada", "Ben")]
    team("Posts")
    Panel.objects.create_first(name="Posts", owner=mira, members=members, options=OPTIONS)
    Council.objects.create_first(name="Magi", owner=mira, agents=agents())
    said = {words: complaint(*words) for many in WRONG.values() for words in many}
    strange = [words for option, many in WRONG.items() for words in many if f"{option}: " not in said[words]]
    assert {words: said[words] for words in strange} == {}


@pytest.mark.django_db
def test_agents_of_a_file_are_named_by_their_place_in_it(tmp_path):
    file = tmp_path / "agents.json"
    file.write_text(json.dumps([*agents()[:2], {**agents()[2], "model": "nobody/x"}]))
    assert complaint("judge", "Go?", "--agents", str(file)).startswith("--agents: 2.model: ")


COMMANDS = {"judge": "content", "debate": "question", "ask": "question", "plan": "task", "mission": "goal"}


def standard_input(monkeypatch, data):
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(data)))


@pytest.mark.django_db
def test_what_comes_in_another_encoding_is_refused_with_what_to_do(mira, monkeypatch):
    Council.objects.create_first(name="Magi", owner=mira, agents=agents())
    said = {}
    for command, name in COMMANDS.items():
        standard_input(monkeypatch, "+price £ 12\n".encode("latin-1"))
        said[f"{name}: Standard input is not in UTF-8: the byte 0xA3 in line 1"] = complaint(command, "-")
        said[f"{name}: It is not in UTF-8: the byte 0xE9"] = complaint(command, "caf\udce9")  # as the shell hands it on
    assert {begins: sentence for begins, sentence in said.items() if not sentence.startswith(begins)} == {}


def test_what_a_windows_shell_writes_is_read_and_said(monkeypatch):
    """The very text, without its mark, that the same words in UTF-8 are: so whoever judges says the same of it, which
    may be no. A rehearsal rejects “Deploy on Friday at 16:00.” in every encoding, with exit status 1."""
    command, said = load_command_class("judgements", "judge"), StringIO()
    command.stderr = OutputWrapper(said)
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-be"):
        standard_input(monkeypatch, "Deploy on Friday.\r\nAt 16:00.\r\n".encode(encoding))
        assert command.text_of("-", "content") == "Deploy on Friday.\nAt 16:00.\n"
    assert said.getvalue().count("content: Standard input was read as UTF-16") == 2
    assert command.text_of("Café\r\n", "content") == "Café\r\n"  # an argument is as it is


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["--approve"], "--then: It is one of publish"),
        (["--approve", "--then", "else"], "--then: It is one of publish"),
        (["--reject", "x" * 4_001], "--reject: It has 4,001 characters"),
        (["--answer", " "], "--answer: An answer needs a word."),
    ],
)
def test_at_a_gate_the_option_is_named_that_did_not_fit(mira, words, option):
    choices = [{"word": "publish", "decision": "approve", "sentence": "Publish it"}]
    gate = Gate.objects.open(
        None, run=mission(mira).run, step="a", kind="tool", policy=parse_policy({}), choices=choices
    )
    assert complaint("decide", str(gate.pk), "--by", "mira", *words).startswith(option)


def test_whatever_has_no_option_is_said_without_the_name_of_a_field():
    command = load_command_class("runs", "decide")
    command.create_parser("manage.py", "decide")
    assert command.in_options([("nowhere.1", "It is wrong.")], {}) == "It is wrong."
