"""Whose account ends while they sit in a debate: silent at once, and not waited for."""

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from debates import human_turns
from debates.models import Debate
from engine.models import Gate, Run
from tests.conftest import perform
from tests.databases import copied_async
from tests.debates.test_evidence import faults
from tests.debates.test_procedure import AgreeingModels, clara, debate, says

__all__ = ["clara"]

pytestmark = pytest.mark.django_db


async def with_clara(clara):
    members = [{"name": name, "who": f"{name} asks.", "model": f"test/{name.lower()}"} for name in ("Ada", "Ben")]
    seated = [*members, {"name": "Clara", "user": clara}]
    return await sync_to_async(debate)(members=seated, switches={"first": False}, most=20)


class Asking(AgreeingModels):
    """Whoever speaks first asks Clara."""

    def __init__(self):
        super().__init__()
        for name in ("ada", "ben"):
            self.will(
                f"test/{name}", says(f"What does Clara think, asks {name}?", speaking_to=["Clara"], expects_answer=True)
            )


async def goes_on_without_her(run):
    found = await Debate.objects.with_messages().aget(pk=run.pk)
    skipped = [turn.reason_skipped for turn in found.turns.all() if turn.state == "skipped"]
    assert (run.status, run.outcome) == (Run.Status.FINISHED, "HIRE")
    assert (skipped, found.state().silent) == (["Clara has no account any more."], {3})
    assert not await Gate.objects.filter(run=run.pk, state="pending").aexists()
    assert await faults(run.pk) == []


async def test_who_is_disabled_before_the_turn_is_silent_at_once(clara):
    submitted = await with_clara(clara)
    await User.objects.aupdate(is_active=False)
    await goes_on_without_her(await perform(submitted.pk, Asking()))


@copied_async
async def waits_for_her(clara):
    submitted, models = await with_clara(clara), Asking()
    await perform(submitted.pk, models)
    assert await Gate.objects.filter(run=submitted.pk, state="pending").aexists()
    return submitted, models


async def test_nobody_waits_for_a_person_whose_account_is_disabled_meanwhile(clara):
    submitted, models = await waits_for_her(clara)
    clara.is_active = False
    await clara.asave()
    assert (await Run.objects.aget(pk=submitted.pk)).status == Run.Status.QUEUED
    await goes_on_without_her(await perform(submitted.pk, models))


async def test_nor_for_one_whose_account_is_deleted(clara):
    submitted, models = await waits_for_her(clara)
    await clara.adelete()
    await goes_on_without_her(await perform(submitted.pk, models))


async def test_accounts_that_are_disabled_in_the_database_are_noticed_by_a_chore(clara):
    submitted, models = await waits_for_her(clara)
    await User.objects.aupdate(is_active=False)
    assert not await sync_to_async(human_turns.skip_disabled_members)()
    await goes_on_without_her(await perform(submitted.pk, models))
