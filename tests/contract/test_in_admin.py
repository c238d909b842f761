"""Where reviewers find what every procedure has: a list, and the page of one; of its kind, and of all kinds."""

import re
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient
from django.urls import reverse

from engine.models import Review, Run
from runs.procedure.spec import spec_of_run, specs
from tests.conftest import EVERYTHING, allow
from tests.contract import MARKER, PLAYED, judgement, problems

pytestmark = pytest.mark.django_db


def of_its_kind(run, page, *key):
    meta = spec_of_run(run).rows().model._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_{page}", args=key)


def of_all_kinds(run, page, *key):
    return reverse(f"admin:engine_run_{page}", args=key)


DESKS = (of_its_kind, of_all_kinds)  # where reviewers look for it


def desks_for(run):
    """The desk of all kinds is one and the same for each: by day a judgement alone is looked for there, too."""
    return DESKS if EVERYTHING or run.procedure == "judgement" else DESKS[:1]


async def sent(user, address, action, run, **more):
    """What the list streams when this is chosen for the run."""
    page = AsyncClient()
    await page.aforce_login(user)
    answer = await page.post(address, {"action": action, "_selected_action": [run.pk], **more})
    return b"".join([part async for part in answer.streaming_content]).decode()


def test_reviewers_find_it_in_the_lists_by_its_word_and_how_it_stands(asked, reviewer, client):
    client.force_login(reviewer)
    queued = next(word for word, statuses in spec_of_run(asked).standings.items() if "queued" in statuses)
    for desk in desks_for(asked):
        for sought, there in ({}, True), ({"q": MARKER}, True), ({"q": "zeppelin"}, False), ({"status": queued}, True):
            html = client.get(desk(asked, "changelist"), sought).content.decode()
            assert (asked.title in html) == there, (desk, sought)


def test_the_list_of_all_kinds_is_asked_for_one(mira, reviewer, client):
    run = judgement(mira).run
    client.force_login(reviewer)
    for kind, face in specs().items():
        html = client.get(reverse("admin:engine_run_changelist"), {"kind": kind}).content.decode()
        assert (run.title in html) == (kind == run.procedure)
        assert f">{face.noun.capitalize()}</a>" in html


def test_its_page_shows_the_record_and_takes_notes_and_overrides(ended, reviewer, client):
    client.force_login(reviewer)
    other = next(one for one in spec_of_run(ended).outcomes_of(ended) if one != ended.outcome)
    for desk in desks_for(ended):
        for what in ("note", other):
            client.post(desk(ended, "review", ended.pk), {"what": what, "text": f"Not so, says {what}."})
        html = client.get(desk(ended, "change", ended.pk)).content.decode()
        for text in (MARKER, "Intact", "Not so, says note.", f"Overridden by {reviewer} on"):
            assert text in html
    assert (Run.objects.get().override, problems()) == (other, [])
    assert Review.objects.filter(kind="note").count() == len(desks_for(ended))


async def test_it_is_exported_and_printed_from_the_lists(ended, reviewer):
    for desk in desks_for(ended):
        across = {"select_across": "1"} if desk is of_all_kinds else {}
        for kind in ("table", "lines", "evidence"):
            text = await sent(reviewer, desk(ended, "changelist"), f"export_{kind}", ended, **across)
            assert (MARKER in text, ended.outcome in text) == (True, True), (desk, kind)
        html = await sent(reviewer, desk(ended, "changelist"), "print_records", ended)
        assert re.search(rf'<h1 id="{str(ended.pk)[:8]}-rec-h">[^<]*{MARKER}', html), desk


def test_a_selection_is_cancelled_from_the_lists(name, mira, reviewer, client):
    client.force_login(reviewer)
    for desk in DESKS:
        run = PLAYED[name](mira).run
        client.post(desk(run, "changelist"), {"action": "cancel", "_selected_action": [run.pk]})
        assert Run.objects.get(pk=run.pk).cancelled_by == reviewer, desk


@pytest.mark.parametrize("desk", DESKS)
def test_a_selection_that_failed_is_retried_from_the_list(failed, reviewer, client, desk):
    client.force_login(reviewer)
    client.post(desk(failed, "changelist"), {"action": "retry", "_selected_action": [failed.pk]})
    assert Run.objects.get().status == "queued"


def test_staff_who_may_not_see_all_find_neither_list_nor_page(asked, mira, client):
    User.objects.filter(pk=mira.pk).update(is_staff=True)  # its owner
    client.force_login(mira)
    for desk in desks_for(asked):
        pages = [desk(asked, page, asked.pk) for page in ("change", "history", "review")]
        assert {client.get(page).status_code for page in (desk(asked, "changelist"), *pages)} == {403}, desk


def test_who_may_see_and_no_more_neither_reviews_nor_steers(asked, noor, client):
    User.objects.filter(pk=noor.pk).update(is_staff=True)
    client.force_login(allow(noor, "engine.view_run"))
    for desk in desks_for(asked):
        assert client.get(desk(asked, "change", asked.pk)).status_code == 200
        assert client.post(desk(asked, "review", asked.pk), {"what": "note", "text": "Hm."}).status_code == 403
        for action in ("cancel", "export_lines"):
            client.post(desk(asked, "changelist"), {"action": action, "_selected_action": [asked.pk]})
        assert (Run.objects.get().status, Review.objects.count()) == ("queued", 0), desk


def test_a_page_of_nothing_and_of_another_kind_is_not_there(asked, reviewer, client):
    client.force_login(reviewer)
    assert {client.get(desk(asked, "change", uuid4())).status_code for desk in DESKS} == {404}
    for face in specs().values():
        meta = face.rows().model._meta
        address = reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[asked.pk])
        assert client.get(address).status_code == (200 if face is spec_of_run(asked) else 404)
