"""Who is to blame when an engine dies, and who is not."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from engine.models import Run, lease
from engine.models.claims import ALONE, MAX_CRASHES
from tests.conftest import claim

pytestmark = pytest.mark.django_db


def queue(number=1, **values):
    return Run.objects.bulk_create(Run(procedure="coin", **values) for _ in range(number))


def die(worker):
    """All leases of this worker end."""
    Run.objects.held(worker).update(lease_expires_at=Now() - timedelta(seconds=1))


def fail_after_five_deaths(run):
    """Its engine dies alone once more, as it did four times before; it is queued before that."""
    Run.objects.filter(pk=run.pk).update(deaths=MAX_CRASHES - 1, crashes=ALONE)
    assert taken_by("dies", suspects_first=True) == {run.pk}
    die("dies")
    claim("next")
    assert Run.objects.get(pk=run.pk).status == "failed"


def taken_by(worker, places=100, **options):
    return {run.pk for run in claim(worker, places, **options)}


def play(killers, engines=40, places=100):
    """One engine after the other takes what it may; it dies if a killer is among that, else what it has gets done."""
    for number in range(engines):
        taken = taken_by(f"engine {number}", places)
        if taken & killers:
            die(f"engine {number}")
        else:
            Run.objects.filter(pk__in=taken).update(status="finished", ended=Now(), worker="", crashes=0, deaths=0)


def test_runs_that_are_killed_together_again_and_again_do_not_fail():
    queue(5)
    for number in range(20):
        taken_by(f"engine {number}", places=5)
        die(f"engine {number}")
    assert not Run.objects.filter(status="failed").exists()


def test_one_killer_among_many_is_found_and_nobody_else_fails():
    queue(99)
    (killer,) = queue()
    play({killer.pk})
    assert Run.objects.filter(status="finished").count() == 99
    killer.refresh_from_db()
    assert (killer.status, killer.deaths) == ("failed", 5)


def test_two_killers_are_both_found():
    queue(40)
    killers = {run.pk for run in queue(2)}
    play(killers)
    assert {run.pk for run in Run.objects.filter(status="failed")} == killers


def test_one_crash_makes_no_suspects():
    queue(50)
    taken_by("one")
    die("one")
    assert len(taken_by("two")) == 50


def test_suspects_come_in_ever_smaller_groups_and_in_the_end_alone():
    queue(40)
    sizes = []
    for number in range(6):
        sizes.append(len(taken_by(f"engine {number}")))
        die(f"engine {number}")
        Run.objects.filter(status="queued", crashes__lt=number).update(status="waiting")  # out of this test's way
    assert sizes[:5] == [40, 40, 16, 4, 1]


def test_what_gets_on_is_no_suspect_any_more(models):
    (run,) = queue(crashes=ALONE, deaths=4)
    taken_by("one")
    assert taken_by("one") == set()
    Run.objects.update(deaths=0, crashes=0)
    queue()
    assert len(taken_by("one", performed=[run])) == 1


def test_an_engine_that_performs_a_suspect_takes_nothing_else():
    queue(crashes=ALONE)
    assert len(taken_by("one")) == 1
    queue(3)
    assert (taken_by("one"), len(taken_by("two"))) == (set(), 3)


def test_a_suspect_waits_for_all_others_until_it_is_its_turn():
    (suspect,) = queue(crashes=ALONE)
    others = queue(3)
    assert taken_by("one", places=2) < {run.pk for run in others}
    assert taken_by("one", performed=others[:2], suspects_first=True) == set()
    assert taken_by("two", suspects_first=True) == {suspect.pk}


def test_the_last_lease_of_a_dead_engine_to_end_does_not_seem_to_have_been_alone():
    first, last = queue(2)
    taken_by("one")
    Run.objects.filter(pk=first.pk).update(lease_expires_at=Now() - timedelta(seconds=1))
    assert taken_by("two") == set()
    Run.objects.filter(pk=last.pk).update(lease_expires_at=Now() - timedelta(seconds=1))
    assert taken_by("two") == {first.pk, last.pk}
    assert set(Run.objects.values_list("deaths", "crashes")) == {(0, 1)}


def test_what_a_live_engine_let_go_of_is_taken_a_lease_later():
    forgotten, _ = queue(2)
    taken_by("one")
    Run.objects.filter(pk=forgotten.pk).update(lease_expires_at=Now() - lease() - timedelta(seconds=1))
    assert taken_by("two") == {forgotten.pk}
    assert Run.objects.get(pk=forgotten.pk).deaths == 0


# ---- clocks ------------------------------------------------------------------------------------------------


def test_a_lease_of_two_hours_was_written_by_a_wrong_clock_and_holds_nothing():
    (run,) = queue()
    taken_by("two hours ahead")
    Run.objects.update(lease_expires_at=Now() + timedelta(hours=2))
    assert not Run.objects.in_progress().exists()
    assert taken_by("right") == {run.pk}


def test_a_run_under_a_wrong_clock_is_neglected_when_nobody_takes_it():
    queue()
    taken_by("two hours ahead")
    Run.objects.update(lease_expires_at=Now() + timedelta(hours=2))
    assert Run.objects.neglected().exists()
