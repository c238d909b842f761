"""A performed run whose rows are put in again is as good as one that was performed just now."""

from django.test import Client

from engine.audit import verification
from judgements.models import Judgement
from tests.conftest import agents


def test_a_scene_is_a_run_that_verifies_and_that_its_owner_sees(approved_judgement: Judgement, page: Client):
    assert approved_judgement.run.outcome == "approved"
    assert page.get(f"/judgements/{approved_judgement.pk}/").status_code == 200
    assert verification.verify_one(approved_judgement.pk)[2] == []


def test_what_comes_after_a_scene_goes_on_from_it(failed_judgement: Judgement, mira, noor):
    assert failed_judgement.run.owner == mira
    assert Judgement.objects.submit(owner=noor, content="Another.", agents=agents()).pk
