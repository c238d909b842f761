"""An account is deleted; what it asked, cancelled, wrote and reviewed stays, under its name."""

import json

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from engine.audit.full_verification import verify_all
from engine.llm.pricing import DOLLAR
from engine.models import Review, Run
from engine.models.budgets import Budget
from judgements.models import Council, Judgement
from runs import reviews, run_actions
from runs.procedure.spec import specs
from runs.record.export import FORMATS
from tests.conftest import JAPAN

pytestmark = pytest.mark.django_db


@pytest.fixture
def gone(client, mira, reviewer, council):
    """A judgement that Mira asked of her own council, cancelled and reviewed, before her account was deleted."""
    Council.objects.filter(pk=council.pk).update(owner=mira)
    values = {"content": JAPAN, "agents": council.agents(), "council": council.current}
    judgement = Judgement.objects.submit(owner=mira, **values)
    council.revise(name="Magi", agents=[a | {"criteria": "Others."} for a in council.agents()], author=mira)
    run_actions.cancel(judgement, mira)
    reviews.add_review(judgement.run, mira, "A journey too many.")
    Budget.objects.create(owner=mira, limit=DOLLAR)
    client.force_login(reviewer)
    answer = client.post(reverse("admin:auth_user_delete", args=[mira.pk]), {"post": "yes"})
    assert (answer.status_code, User.objects.filter(pk=mira.pk).exists()) == (302, False)
    return judgement


def test_what_it_did_stays_and_is_intact(gone):
    run = Run.objects.get()
    assert (run.owner, run.asked_by, run.cancelled_by_name) == (None, "mira", "mira")
    assert Review.objects.get().by == "mira"
    assert verify_all().faults == []


PAGES = {
    "live": lambda judgement: reverse("live", args=[judgement.pk]),
    "record": lambda judgement: reverse("record", args=[judgement.pk]),
    "history": lambda judgement: reverse("history"),
    "council": lambda judgement: reverse("council", args=[judgement.council_version.council_id]),
    "admin": lambda judgement: reverse("admin:judgements_judgement_change", args=[judgement.pk]),
    "admin's list": lambda judgement: reverse("admin:judgements_judgement_changelist"),
}


def test_pages_name_who_asked_and_the_live_page_who_cancelled(client, gone):
    pages = {name: client.get(address(gone)).content.decode() for name, address in PAGES.items()}
    assert [name for name, html in pages.items() if "mira" not in html or "command line" in html] == []
    assert "by mira." in pages["live"]


def test_files_name_who_asked_and_who_cancelled(client, gone):
    record = json.loads(client.get(reverse("record-file", args=[gone.pk])).content)
    said = {name: text for entry in record["entries"] for name, text in entry["texts"].items()}
    assert (said["asked by"], said["cancelled by"]) == ("mira", "mira")
    table, face = FORMATS["csv"], specs()["judgement"]
    assert ",mira," in table.begun(face)(list(table.read(face)), "https://magi.example")


def test_several_accounts_are_deleted_at_once(client, gone, noor):
    chosen = {"action": "delete_selected", "_selected_action": [noor.pk], "post": "yes"}
    client.post(reverse("admin:auth_user_changelist"), chosen)
    assert not User.objects.filter(pk=noor.pk).exists()


def test_a_judgement_under_way_goes_on_without_its_account(judgement, mira):
    mira.delete()
    assert Run.objects.get(status="queued").asked_by == "mira"


def test_a_record_names_people_as_they_are_sealed_in_it(page, judgement, mira):
    run_actions.cancel(judgement, mira)
    User.objects.filter(pk=mira.pk).update(username="somebody", first_name="Else")
    record = page.get(reverse("record", args=[judgement.pk])).content.decode()
    provenance = record[record.index("Provenance</h2>") :]
    assert provenance.count("mira") == 2
    assert "Else" not in provenance
