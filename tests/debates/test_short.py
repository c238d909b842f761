"""What a member is told whose model has no room for all that was said."""

import asyncio
import json
import re
from itertools import pairwise

import pytest
from django.db import transaction

from debates import prompts
from debates.models import Debate
from debates.prompts import member_history
from debates.prompts.short import WHOLE, Short
from debates.rules.state import TurnReason, TurnState
from engine.audit.verification import verify_one
from engine.llm.tokens import prompt_tokens
from engine.models import ModelCall, Run
from runs.record.document import attempt_text, record_of
from tests.conftest import perform
from tests.corpus.means import retell
from tests.databases import tampering

from .golden import debate
from .tampering import change, of_debate
from .test_procedure import AgreeingModels, says
from .test_procedure import debate as submitted

NUMBER = re.compile(r"^([0-9]+) ", re.MULTILINE)
TURN = TurnState(999, 2, TurnReason.DRAW)


def asked_within(messages, room):
    return prompts.in_room(debate(5, messages), TURN, None, lambda asked: prompt_tokens(asked) <= room)


def test_a_model_that_has_room_is_told_as_ever():
    table = debate(5, 200)
    assert asked_within(200, 20_000) == (prompts.member_messages(table, TURN), WHOLE)


def test_each_shorter_request_is_shorter_than_the_one_before():
    for messages in (1, 20, 21, 200):
        table = debate(5, messages)
        ways = [WHOLE, *member_history.shorter(table, table.read_messages(TURN))]
        sizes = [prompt_tokens(prompts.member_messages(table, TURN, None, way)) for way in ways]
        drops = [after < before + 40 for before, after in pairwise(sizes)]  # which it takes to say so
        assert all(drops), (messages, sizes)


def test_as_much_is_told_as_there_is_room_for_and_what_is_not_is_said():
    for messages, room in ((21, 5_000), (200, 9_000), (200, 7_000), (200, 5_500)):
        asked, short = asked_within(messages, room)
        assert room - 2_500 < prompt_tokens(asked) <= room
        floor = asked[-1]["content"].rpartition("<Floor")[2]
        assert f'lines_before="{short.begins}" gone="{short.gone}"' in floor
        assert short.sentence in floor
        told = "\n".join(one["content"] for one in asked[1:])
        lines = [
            int(one) for text in re.findall("<Minutes>(.*?)</Minutes>", told, re.S) for one in NUMBER.findall(text)
        ]
        assert [number for number in lines if not short.gone < number < short.begins] == []
        assert messages == 21 or "What about &lt;the letter&gt;?" in told  # the chair's


def test_what_is_left_out_is_said_in_words():
    said = [Short(*each).sentence.partition(": ")[2] for each in ((31, 0), (181, 160), (41, 40))]
    assert said == [
        "messages up to 30 stand as lines.",
        "messages up to 160 are left out, but the chair's, and those up to 180 stand as lines.",
        "messages up to 40 are left out, but the chair's.",
    ]


class Wordy(AgreeingModels):
    """Members that say much and agree about nothing."""

    async def ask(self, model, messages, form, *rest):
        verdict = {"verdict": "HIRE" if model.endswith("ada") else "DO NOT HIRE", "verdict_reasoning": "So it is."}
        if form.name == "message":
            number = len(self.asked)
            words = " ".join(f"word{number * place % 1009}" for place in range(1, 90))
            self.will(model, says(f"Remark {number} of {model}: {words}", **verdict))
        return await super().ask(model, messages, form, *rest)


@pytest.mark.django_db
def test_a_debate_of_small_models_is_held_to_its_end_and_its_record_says_what_they_were_not_told(settings, monkeypatch):
    monkeypatch.setattr(prompts, "VERSION", "2")  # of which but the shortening tells it from the first
    settings.PROVIDERS = {"small": {"base_url": "http://127.0.0.1:9/v1", "api_key": "none", "contexts": {"*": 6_000}}}
    members = [{"name": name, "who": "", "model": f"small/{name.lower()}"} for name in ("Ada", "Ben", "Cleo")]
    models = Wordy()
    pk = submitted(members=members, most=20, switches={"first": False}).pk
    run = asyncio.run(perform(pk, models))
    assert (run.status, run.error) == (Run.Status.FINISHED, None)
    assert verify_one(pk)[2] == []
    short = ModelCall.objects.filter(run=pk).exclude(left_out="")
    assert short.count() > 4
    assert {one.error for one in ModelCall.objects.filter(run=pk)} == {""}
    assert "This model has no room for all of it: messages up to " in short[0].left_out
    cut = dict(record_of(Debate.objects.with_members().get(pk=pk), [*run.calls.order_by("pk")])["record"].provenance)
    last = short.order_by("-pk")[0]
    assert cut["Requests cut"] == f"{len(short)} requests left something out; the last, in {last.step}: {last.left_out}"
    assert attempt_text(last)[2].endswith(f" · {last.left_out}")
    forged = {
        "a border where none is": ('lines_before="[0-9]+', 'lines_before="3'),
        "another line": (r"(\n[0-9]+ \w+: )Remark", r"\1Reward"),
        "prompts of before": ("", ""),
    }
    said = {
        name: doubt_of(pk, short[0], *each, "1" if name == "prompts of before" else "") for name, each in forged.items()
    }
    assert said == {
        "a border where none is": "was shortened as no rule says.",
        "another line": "has other lines than the record.",
        "prompts of before": "was shortened, which prompts of version 1 never are.",
    }


def doubt_of(pk, call, pattern, instead, version):
    """What is said of a prompt, or of a debate, that was written anew, with all hashes right."""
    with tampering(), transaction.atomic():
        told = [{**one, "content": re.sub(pattern, instead, one["content"])} for one in json.loads(call.prompt)]
        change(call, "prompt", json.dumps(told, ensure_ascii=False))
        if version:
            of_debate("prompt_version", version)(pk)
        retell(pk)
        fault = verify_one(pk)[2][0]
        transaction.set_rollback(True)
    return re.sub("^What a model was told for message [0-9]+ ", "", fault.text)
