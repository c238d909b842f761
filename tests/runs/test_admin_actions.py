"""What reviewers do with a selection: take it along, print it, cancel and retry it."""

import csv
import io
import json
import re

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import AsyncClient
from django.urls import reverse

from engine.ledger.merkle_log import LogLeaf
from engine.models import Run
from judgements.models import Judgement
from tests.conftest import allow, perform
from tests.databases import tampering
from tests.runs.desk import steer

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # by threads of their own


async def selected(reviewer, action, *judgements, query=""):
    """The text of the file; the page where there is none."""
    client = AsyncClient()
    await client.aforce_login(reviewer)
    across = {} if judgements else {"select_across": "1"}
    chosen = [judgement.pk for judgement in judgements or [await Judgement.objects.afirst()]]
    address = reverse("admin:judgements_judgement_changelist") + query
    answer = await client.post(address, {"action": action, "_selected_action": chosen, **across}, follow=True)
    if not answer.streaming:
        return answer.content.decode()
    return b"".join([part async for part in answer.streaming_content]).decode()


def test_the_selection_cannot_be_deleted(admin, judgement):
    steer(admin, "delete_selected", judgement)
    judgement.refresh_from_db()


@committed
async def test_a_selection_is_exported_as_a_table(reviewer, several):
    chosen = await Judgement.objects.aget(run__title="Ship")
    rows = list(csv.DictReader(io.StringIO((await selected(reviewer, "export_table", chosen)).removeprefix("\ufeff"))))
    assert [(row["title"], row["outcome"]) for row in rows] == [("Ship", "rejected")]


@committed
async def test_all_that_a_filter_finds_is_exported(reviewer, several):
    lines = (await selected(reviewer, "export_lines", query="?status=approved")).splitlines()
    assert [json.loads(line)["title"] for line in lines] == ["Travel", "Refund"]


@committed
async def test_records_are_printed_one_after_the_other_on_one_page(reviewer, several):
    html = await selected(reviewer, "print_records", query="?status=approved")
    assert re.findall(r'<h1 id="[0-9a-f]{8}-rec-h">(\w+)</h1>', html) == ["Travel", "Refund"]
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert html.count("Raw answer</p>") == 18
    assert html.rstrip().endswith("</html>")


@committed
async def test_more_records_than_fit_on_a_page_are_refused(reviewer, several, monkeypatch):
    monkeypatch.setattr("runs.admin.actions.MAX_PRINTED", 2)
    html = await selected(reviewer, "print_records")
    assert "At most 2 judgements fit at once, and more are selected." in html


def test_selected_judgements_are_cancelled_and_it_is_said_how_many(admin, reviewer, judgement):
    assert "1 judgement cancelled." in steer(admin, "cancel", judgement)
    assert Run.objects.get().cancelled_by == reviewer
    assert "0 judgements cancelled. 1 was over already." in steer(admin, "cancel", judgement)


def test_selected_judgements_that_failed_are_retried(admin, failed):
    assert "1 judgement queued again." in steer(admin, "retry", failed)
    assert Run.objects.get().status == "queued"
    assert "0 judgements queued again. 1 was left alone" in steer(admin, "retry", failed)


ACTIONS = ("cancel", "retry", "export_table", "export_lines", "export_evidence", "print_records")


@pytest.mark.parametrize(
    ("rights", "offered"),
    [
        (("engine.view_run",), ()),
        (("engine.view_run", "engine.steer_run"), ACTIONS[:2]),
        (("engine.view_run", "engine.export_run"), ACTIONS[2:]),
    ],
)
def test_each_action_asks_for_its_own_right(client, judgement, rights, offered):
    client.force_login(allow(User.objects.create_user("staff", is_staff=True), *rights))
    html = client.get(reverse("admin:judgements_judgement_changelist")).content.decode()
    assert tuple(action for action in ACTIONS if f'<option value="{action}">' in html) == offered
    assert ("1 judgement cancelled." in steer(client, "cancel", judgement)) == ("cancel" in offered)
    answer = client.post(
        reverse("admin:judgements_judgement_changelist"),
        {"action": "export_table", "_selected_action": [judgement.pk]},
    )
    assert answer.streaming == ("export_table" in offered)


@committed
async def test_the_evidence_of_a_selection_is_exported(reviewer, judgement, models):
    await perform(judgement.pk, models)
    [line] = (await selected(reviewer, "export_evidence", judgement)).splitlines()
    assert json.loads(line)["checkpoint"]


@committed
async def test_the_evidence_of_a_damaged_log_is_refused_in_a_sentence(reviewer, judgement, models):
    await perform(judgement.pk, models)
    await sync_to_async(damage)()
    said = await selected(reviewer, "export_evidence", judgement)
    assert "No checkpoint can be made: leaf 0 of the log was damaged." in said


def damage():
    with tampering():
        LogLeaf.objects.update(hash="zz")
