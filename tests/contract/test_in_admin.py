"""Where reviewers find what every procedure has: a list, and the page of one; of its kind, and of all kinds."""

import re
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import AsyncClient
from django.urls import reverse

from engine.llm.failures import Unauthorized
from engine.models import Review, Run
from runs.face import face_of, faces
from tests.conftest import ScriptedModels, allow
from tests.contract import MARKER, play, problems

pytestmark = pytest.mark.django_db(transaction=True)


DESKS = {
    "of its kind": lambda run, page, *key: reverse(f"admin:{table_of(run)}_{page}", args=key),
    "of all kinds": lambda run, page, *key: reverse(f"admin:engine_run_{page}", args=key),
}


def table_of(run):
    meta = face_of(run).rows().model._meta
    return f"{meta.app_label}_{meta.model_name}"


@pytest.fixture(params=["of its kind", "of all kinds"])
def desk(request):
    """Where reviewers look for it: a list, and the page of one."""
    return DESKS[request.param]


def test_reviewers_find_it_in_the_list_by_its_word_and_how_it_stands(asked, reviewer, client, desk):
    client.force_login(reviewer)
    queued = next(word for word, statuses in face_of(asked).standings.items() if "queued" in statuses)
    for sought, there in ({}, True), ({"q": MARKER}, True), ({"q": "zeppelin"}, False), ({"status": queued}, True):
        html = client.get(desk(asked, "changelist"), sought).content.decode()
        assert (asked.title in html) == there, sought


def test_the_list_of_all_kinds_is_asked_for_one(asked, reviewer, client):
    client.force_login(reviewer)
    for kind, face in faces().items():
        html = client.get(reverse("admin:engine_run_changelist"), {"kind": kind}).content.decode()
        assert (asked.title in html) == (kind == asked.procedure)
        assert f">{face.noun.capitalize()}</a>" in html


async def test_its_page_shows_the_record_and_takes_notes_and_overrides(ended, reviewer, client, desk):
    def review():
        client.force_login(reviewer)
        other = next(one for one in face_of(ended).outcomes_of(ended) if one != ended.outcome)
        for what in ("note", other):
            client.post(desk(ended, "review", ended.pk), {"what": what, "text": f"Not so, says {what}."})
        html = client.get(desk(ended, "change", ended.pk)).content.decode()
        for text in (MARKER, "Intact", "Not so, says note.", f"Overridden by {reviewer} on"):
            assert text in html
        assert (Run.objects.get().override, problems()) == (other, [])

    await sync_to_async(review)()


@pytest.mark.parametrize("kind", ["table", "lines", "evidence"])
async def test_it_is_exported_from_the_list(ended, reviewer, desk, kind):
    page = AsyncClient()
    await page.aforce_login(reviewer)
    chosen = {"action": f"export_{kind}", "_selected_action": [ended.pk]}
    for more in ({}, {"select_across": "1"}):
        answer = await page.post(desk(ended, "changelist"), chosen | more)
        text = b"".join([part async for part in answer.streaming_content]).decode()
        assert MARKER in text
        assert ended.outcome in text


async def test_it_is_printed_from_the_list(ended, reviewer, desk):
    page = AsyncClient()
    await page.aforce_login(reviewer)
    answer = await page.post(desk(ended, "changelist"), {"action": "print_records", "_selected_action": [ended.pk]})
    html = b"".join([part async for part in answer.streaming_content]).decode()
    assert re.search(rf'<h1 id="{str(ended.pk)[:8]}-rec-h">[^<]*{MARKER}', html)


def test_a_selection_is_cancelled_from_the_list(asked, reviewer, client, desk):
    client.force_login(reviewer)
    client.post(desk(asked, "changelist"), {"action": "cancel", "_selected_action": [asked.pk]})
    assert Run.objects.get().cancelled_by == reviewer


async def test_a_selection_that_failed_is_retried_from_the_list(asked, reviewer, client, desk):
    models = ScriptedModels()
    models.will("rehearsal/instant", *[Unauthorized("The key was refused.")] * 3)
    await play(asked.pk, models)
    await sync_to_async(client.force_login)(reviewer)
    chosen = {"action": "retry", "_selected_action": [asked.pk]}
    await sync_to_async(client.post)(desk(asked, "changelist"), chosen)
    assert (await Run.objects.aget()).status == "queued"


def test_staff_who_may_not_see_all_find_neither_list_nor_page(asked, mira, client, desk):
    User.objects.filter(pk=mira.pk).update(is_staff=True)  # its owner
    client.force_login(mira)
    assert client.get(desk(asked, "changelist")).status_code == 403
    for page in ("change", "history", "review"):
        assert client.get(desk(asked, page, asked.pk)).status_code == 403


def test_who_may_see_and_no_more_neither_reviews_nor_steers(asked, noor, client, desk):
    User.objects.filter(pk=noor.pk).update(is_staff=True)
    client.force_login(allow(noor, "engine.view_run"))
    assert client.get(desk(asked, "change", asked.pk)).status_code == 200
    assert client.post(desk(asked, "review", asked.pk), {"what": "note", "text": "Hm."}).status_code == 403
    for action in ("cancel", "export_lines"):
        client.post(desk(asked, "changelist"), {"action": action, "_selected_action": [asked.pk]})
    assert (Run.objects.get().status, Review.objects.count()) == ("queued", 0)


def test_a_page_of_nothing_and_of_another_kind_is_not_there(asked, reviewer, client, desk):
    client.force_login(reviewer)
    assert client.get(desk(asked, "change", uuid4())).status_code == 404
    for face in faces().values():
        meta = face.rows().model._meta
        address = reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[asked.pk])
        assert client.get(address).status_code == (200 if face is face_of(asked) else 404)
