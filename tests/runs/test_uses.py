"""What a run did with tools stands in its record, and a look back shows it as it was."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from engine.models import ToolCall
from runs.procedure.schemas import ToolCallOut as Described
from runs.procedure.spec import specs
from runs.record.replay import RunReplay
from runs.run_object import tool_call_object
from tests.checking.face import Checking
from tests.checking.models import Check

pytestmark = pytest.mark.django_db

NOW = timezone.now()


@pytest.fixture
def acted(mira, monkeypatch):
    """A check that also used a tool, a minute ago."""
    monkeypatch.setattr(Checking, "acts", True)
    check = Check.objects.submit(owner=mira, question="Sound?", writer="openai/a", checker="openai/b")
    said = {"arguments": '{"expression":"1 + 1"}', "output": "1 + 1 = 2", "output_size": 9, "status": "done"}
    tool = {"tool": "figures.calculate", "source": "toolbox.calculator", "definition": "0" * 64, "effect": "reads"}
    times = {"made": NOW - timedelta(seconds=60), "started": NOW - timedelta(seconds=60), "ended": NOW}
    ToolCall.objects.create(run_id=check.pk, step="1", number=1, outside=True, **tool, **said, **times)
    return Check.objects.whole().get(pk=check.pk)


def test_it_stands_in_the_record(acted, page):
    html = page.get(reverse("check-record", args=[acted.pk])).content.decode()
    assert "figures.calculate: done" in html
    assert "reads · brought text from outside · 60.0 s" in html
    assert "1 + 1 = 2</pre>" in html


def test_a_look_back_shows_it_under_way(acted):
    seen = specs()["check"].snapshot(acted)
    (before,), (after,) = seen.at(NOW - timedelta(seconds=30)).uses, seen.at(NOW).uses
    assert (before.status, before.output, before.outside) == ("open", "", False)
    assert (after.status, after.output) == ("done", "1 + 1 = 2")
    assert seen.at(NOW - timedelta(seconds=90)).uses == []


def test_a_replay_halts_at_each(acted, monkeypatch):
    acted.run.started, acted.run.ended = NOW - timedelta(seconds=90), NOW + timedelta(seconds=1)
    moments = RunReplay(specs()["check"].snapshot(acted)).moments
    assert {NOW - timedelta(seconds=60), NOW} <= set(moments)


def test_programs_are_told_what_the_api_describes(acted):
    told = tool_call_object(ToolCall.objects.select_related("gate").get())
    assert Described.model_validate(told).arguments == {"expression": "1 + 1"}


def test_who_never_acts_is_not_asked_for_it(acted, monkeypatch):
    monkeypatch.setattr(Checking, "acts", False)
    assert specs()["check"].snapshot(acted).uses == ()
