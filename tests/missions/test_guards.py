"""What the database itself refuses to do to the rows of missions, whoever asks."""

import asyncio

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import DatabaseError, IntegrityError

from missions import comments, memory_review, workspace
from missions.memory_files import MemoryFile
from missions.models import (
    CarriedStep,
    Crew,
    HistorySummary,
    MemoryActivation,
    MemoryUse,
    MemoryVersion,
    Mission,
    MissionAgent,
    Repository,
    TerminalConnection,
    writes,
)
from tests.conftest import ScriptedModels, need, only_on, perform
from tests.databases import copied
from tests.engine.guarded import changed, deleted, guards_of, not_only_erased, redact, replaced, taking, texts_held
from tests.missions.scenes import finishes, mission, runs, step

pytestmark = pytest.mark.django_db

GUARDS = guards_of("missions")

MODELS = {model._meta.db_table: model for model in apps.get_app_config("missions").get_models()}


@copied
def made(mira: User) -> Mission:
    """With a row of every table."""
    Crew.objects.create_first(name="House", owner=mira, agents=[{"name": "Ada"}])
    models = ScriptedModels()
    typed = step("send_command_input", command_id=1, input="Ada\n", wait=5)
    asks = runs("read -p 'Name? ' name; echo $name > said")
    models.will("test/one", asks, typed, step("remember", text="Her name."), finishes("Said.", unproven="No matter."))
    row = mission(mira, check="false")
    comments.pause(row.pk, mira, True)
    comments.post_message(row.pk, mira, "Go on.")
    comments.pause(row.pk, mira, False)
    asyncio.run(perform(row.pk, models))
    agent = MissionAgent.objects.get(mission=row)
    writes.stop_agent(row.pk, agent, "failed", "It broke.")
    terminal = row.terminals.get()
    TerminalConnection.objects.create(
        mission=row, terminal=terminal, number=1, host="example.org", port=443, allowed=True
    )
    said = MemoryFile("rounding", "How we round.", "Half to even.", front="---\nname: rounding\n---\n")
    refused, proposed = (memory_review.propose(said, "Ada", mission=row) for _ in range(2))
    memory_review.decide_proposal(refused.pk, "mira", False)
    MemoryActivation.objects.create(mission=row, agent=agent, memory=proposed.memory, on=True)
    MemoryUse.objects.create(mission=row, agent=agent, version=proposed, on=True)
    about = {"base": "0" * 40, "files": 1, "size": 1, "shallow": False, "left_out": "[]", "staged": "0" * 32}
    Repository.objects.create(mission=row, address="/srv/house.git", branch="main", **about)
    told = {"tool": "ls", "args": "{}", "result": "a.txt", "reasoning": "I look."}
    CarriedStep.objects.create(mission=row, agent=agent, number=1, heard=0, **told)
    HistorySummary.objects.create(mission=row, agent=agent, covers=1, text="Short.", dump="Long.", digest="0" * 64)
    return Mission.objects.select_related("run").get(pk=row.pk)


@pytest.fixture
def done(mira: User) -> Mission:
    need("sandbox", not workspace.missing_programs(), workspace.missing_programs())
    return made(mira)


@only_on("sqlite")  # PostgreSQL knows no REPLACE
def test_no_row_takes_the_place_of_another(done: Mission) -> None:
    assert replaced(GUARDS, MODELS) == []


def test_no_row_is_deleted(done: Mission) -> None:
    assert deleted(GUARDS, MODELS) == []


def test_what_never_changes_is_refused_even_when_redacted(done: Mission) -> None:
    redact(done)
    assert changed(GUARDS, MODELS) == []


def test_a_text_goes_once_the_redaction_is_recorded_and_is_never_replaced(done: Mission) -> None:
    held = texts_held(GUARDS, MODELS)
    assert len(held) > 15
    assert taking("", held) == []
    redact(done)
    assert not_only_erased(held) == []


def test_a_memory_that_was_accepted_stays_when_its_mission_is_redacted(done: Mission) -> None:
    version = memory_review.propose(MemoryFile("kept", "", "Half."), "Ada", mission=done)
    memory_review.decide_proposal(version.pk, "mira", True)
    redact(done)
    with pytest.raises((IntegrityError, DatabaseError)):
        MemoryVersion.objects.filter(pk=version.pk).update(text="")
