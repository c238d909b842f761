"""A run whose rows are nonsense, so that its seal raises, stops itself and nobody else."""

import logging
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from engine import run_control
from engine.audit.full_verification import verify_all
from engine.ledger.entries import AuditEntry
from engine.models import Run
from engine.models.claims import MAX_CRASHES
from tests.conftest import claim, perform
from tests.engine.test_worker import Coin

pytestmark = pytest.mark.django_db

NONSENSE = "nonsense"


class Nonsense(Coin):
    def build_entries(self, told, *, new=False):
        if Run.objects.filter(pk__in=told, lane=NONSENSE).exists():
            raise KeyError("verdict")


@pytest.fixture(autouse=True)
def procedures(settings):
    settings.PROCEDURES = {**settings.PROCEDURES, "coin": f"{__name__}.Nonsense"}


def sealed(run):
    return AuditEntry.objects.filter(run=run, kind="ended").exists()


async def test_it_ends_as_failed_once_and_the_others_finish(models, caplog):
    nonsense = await Run.objects.acreate(procedure="coin", lane=NONSENSE)
    others = [await Run.objects.acreate(procedure="coin") for _ in range(3)]
    for run in (nonsense, *others):
        await perform(run.pk, models)
    found = [(run.status, run.claims) async for run in Run.objects.order_by("lane")]
    assert found == [("finished", 1)] * 3 + [("failed", 1)]
    assert f"Run {nonsense.pk} has ended and could not be sealed." in caplog.text


def test_its_fifth_death_holds_up_no_claim(caplog):
    caplog.set_level(logging.CRITICAL)
    lost = {"status": "running", "worker": "dead", "lease_expires_at": Now() - timedelta(seconds=1)}
    nonsense = Run.objects.create(procedure="coin", lane=NONSENSE, deaths=MAX_CRASHES - 1, **lost)
    sound = Run.objects.create(procedure="coin", deaths=MAX_CRASHES - 1, **lost | {"worker": "dead too"})
    waiting = Run.objects.create(procedure="coin")
    assert [run.pk for run in claim("one", 5)] == [waiting.pk]
    assert set(Run.objects.exclude(pk=waiting.pk).values_list("status", flat=True)) == {"failed"}
    assert (sealed(nonsense), sealed(sound)) == (False, True)


def test_it_can_be_cancelled():
    nonsense = Run.objects.create(procedure="coin", lane=NONSENSE)
    assert run_control.cancel(nonsense.pk)
    assert Run.objects.get().status == "cancelled"


def test_the_verification_names_it(settings):
    run_control.cancel(Run.objects.create(procedure="coin").pk)
    nonsense = Run.objects.create(procedure="coin", lane=NONSENSE)
    run_control.cancel(nonsense.pk)
    settings.PROCEDURES = {**settings.PROCEDURES, "coin": "tests.engine.test_worker.Coin"}
    assert {problem.run for problem in verify_all().faults} == {nonsense.pk}
