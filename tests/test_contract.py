"""What every procedure gets from the house and owes it, played with each that the settings name."""

import asyncio
import re
import subprocess
import sys
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection, models
from django.test import AsyncClient
from django.urls import reverse

from engine import faults
from engine.evidence import guards, signing
from engine.evidence.audit import verify_all
from engine.evidence.checkpoints import Checkpoint
from engine.llm.failures import Unauthorized
from engine.models import Gate, ModelCall, Review, Run
from engine.search import terms_of
from runs import redaction, reviews, steering
from runs.api.objects import run_object
from runs.face import face_of, faces
from runs.feed import snapshot_of
from runs.fragments import LivePage
from runs.models import found_by
from runs.record import record_line
from runs.replay import Past, replay
from tests.acceptance.site import ROOT
from tests.conftest import ScriptedModels, allow
from tests.contract import EXAMPLES, MARKER, OFFLINE, THAT_ASK, THAT_WAIT, play
from tests.databases import once, tampering

pytestmark = pytest.mark.django_db(transaction=True)


PLAYED = EXAMPLES | THAT_WAIT


@pytest.fixture(params=sorted(PLAYED))
def name(request):
    return request.param


@pytest.fixture
def asked(name, mira):
    """A run that waits in the queue."""
    return PLAYED[name](mira).run


@pytest.fixture
def ended(name, mira):
    return once(played, name, mira)


def played(name, owner):
    return asyncio.run(play(PLAYED[name](owner).run.pk))


def problems():
    return [str(fault) for fault in verify_all().faults]


def texts_of(run):
    """Every column with a text of this run that a redaction has to empty, as (table, column, condition)."""
    for guard in guards.all_guards():
        for rule in guard.rules:
            for column in rule.erased:
                if guard.run and column not in ("asked_by", "account", "cancelled_by_name"):
                    yield guard.table, column, guard.run.replace("OLD.", f"{guard.table}.")


def found(table, column, run_of, run):
    with connection.cursor() as cursor:
        key = models.UUIDField().get_db_prep_value(run.pk, connection)
        cursor.execute(f"SELECT {column} FROM {table} WHERE {run_of} = %s AND {column} <> ''", [key])
        return [text for (text,) in cursor.fetchall()]


def test_every_procedure_has_an_example():
    assert set(faces()) == set(EXAMPLES)


def test_a_name_is_registered_once():
    assert len({face.nouns for face in faces().values()}) == len(faces())


async def test_the_rehearsal_plays_it_to_an_outcome(ended):
    assert (ended.status, ended.error) == ("finished", None)
    known = face_of(ended).outcomes
    assert ended.outcome
    assert not known or ended.outcome in known


async def test_what_is_to_wait_has_waited_at_a_gate(ended, name):
    assert await Gate.objects.filter(run=ended, state="approved").acount() == (name in THAT_WAIT)


async def test_all_that_happened_is_sealed_and_intact(ended):
    assert await sync_to_async(problems)() == []


@pytest.mark.anywhere
def test_what_was_asked_is_sealed_at_once_and_every_change_of_it_is_found(asked):
    for table, column, run_of in texts_of(asked):
        if found(table, column, run_of, asked):
            with tampering(), connection.cursor() as cursor:
                cursor.execute(f"UPDATE {table} SET {column} = 'Another text.'")
            assert any("changed" in problem for problem in problems()), (table, column)


@pytest.mark.anywhere
async def test_every_change_of_a_text_is_found_afterwards(ended):
    def change():
        for table, column, run_of in texts_of(ended):
            if texts := found(table, column, run_of, ended):
                with tampering(), connection.cursor() as cursor:
                    cursor.execute(f"UPDATE {table} SET {column} = 'Another text.' WHERE {column} = %s", [texts[0]])
                    assert problems(), (table, column)
                    cursor.execute(f"UPDATE {table} SET {column} = %s WHERE {column} = 'Another text.'", [texts[0]])

    await sync_to_async(change)()


async def test_its_record_verifies_offline(ended, tmp_path):
    def verify():
        Checkpoint.objects.make()
        bundle = tmp_path / "bundle.jsonl"
        bundle.write_text(record_line(ended.pk))
        command = [sys.executable, "-I", "-S", "tools/verify.py", str(bundle), "--key", signing.verifier_key()]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert (done.returncode, done.stdout.split(",")[0]) == (0, "Intact: 1 records"), done.stdout
        assert ("rule is not in this file" in done.stdout) == (ended.procedure not in OFFLINE)

    await sync_to_async(verify)()


@pytest.mark.anywhere
async def test_another_outcome_is_found(ended):
    def change():
        with tampering():
            Run.objects.filter(pk=ended.pk).update(outcome="another")
        assert problems()

    await sync_to_async(change)()


async def test_a_redaction_empties_every_text_and_verifies(ended, mira):
    def redact():
        reviews.add(ended, mira, f"{MARKER} seen.")
        redaction.redact(ended.pk, "mira", "Asked for it.")
        assert [(table, column) for table, column, of in texts_of(ended) if found(table, column, of, ended)] == []
        assert problems() == []
        assert MARKER not in Run.objects.get().shown_title

    await sync_to_async(redact)()


def test_one_that_goes_on_cannot_be_redacted(asked):
    with pytest.raises(ValueError, match=f"{face_of(asked).a_noun} that is not over cannot be redacted"):
        redaction.redact(asked.pk, "mira", "Asked for it.")


async def test_it_is_found_by_its_words_until_it_is_redacted(ended):
    def seek():
        sought = lambda: list(found_by(Run.objects.all(), terms_of(MARKER), few=False))  # noqa: E731
        assert sought() == [ended]
        redaction.redact(ended.pk, "mira", "Asked for it.")
        assert sought() == []

    await sync_to_async(seek)()


async def test_a_person_decides_otherwise_beside_the_outcome(ended, mira):
    def override():
        other = next(one for one in face_of(ended).outcomes_of(ended) if one != ended.outcome)
        reviews.add(ended, mira, "Not so.", other)
        run = Run.objects.get()
        assert (run.outcome, run.override) == (ended.outcome, other)
        assert problems() == []
        with tampering():
            Run.objects.update(override=None)
        assert any("overridden otherwise" in problem for problem in problems())

    await sync_to_async(override)()


@pytest.mark.anywhere
def test_every_part_of_its_page_has_its_place_and_replaces_itself(asked):
    face = face_of(asked)
    parts = list(face.fragments(face.display(snapshot_of(asked))))
    assert len({part.place for part in parts}) == len(parts)
    for part in parts:
        assert re.search(r' id="[^"]+"', part.html()), part.place
        assert "hx-swap-oob" in part.html(), part.place
        assert not part.replayed or "hx-swap-oob" not in part.html(oob=False, replay=True), part.place


@pytest.mark.anywhere
async def test_its_page_is_the_same_whether_followed_or_opened_at_the_end(asked):
    followed, opened = LivePage(), LivePage()

    def take(page):
        run = Run.objects.get()
        page.update(face_of(run).fragments(face_of(run).display(snapshot_of(run))), run.revision)

    await sync_to_async(take)(followed)
    await play(asked.pk)
    for page in (followed, opened):
        await sync_to_async(take)(page)
    html = [re.sub("<!--.*-->", "", page.newer_than(0)) for page in (followed, opened)]
    assert html[0] == html[1]


@pytest.mark.anywhere
async def test_its_replay_ends_with_its_page(ended):
    def play():
        face, seen = face_of(ended), snapshot_of(ended)
        played = replay(seen)
        last = shown(face, face.display(seen))
        assert {place: text_of(versions) for place, versions in played["fragments"].items()} == last
        assert len(played["frames"]) > 2

    await sync_to_async(play)()


@pytest.mark.anywhere
async def test_every_part_of_its_replay_has_its_place_in_the_page_from_the_beginning(ended, mira, client):
    def play():
        client.force_login(mira)
        page = client.get(face_of(ended).address("replay", ended.pk)).content.decode()
        played = replay(snapshot_of(ended))
        for versions in played["fragments"].values():
            place = re.search(r' id="([^"]+)"', text_of(versions))[1]
            assert f' id="{place}"' in page, place
        times = [frame["at"] for frame in played["frames"]]
        assert times == sorted(times)

    await sync_to_async(play)()


@pytest.mark.anywhere
async def test_looking_back_changes_nothing_of_what_is_looked_at(ended):
    def look():
        face, seen = face_of(ended), snapshot_of(ended)
        past = Past(seen)
        before, beginning = shown(face, face.display(seen)), shown(face, past.display_at(past.moments[0]))
        assert not past.display_at(past.moments[0]).over
        assert [shown(face, past.display_at(moment)) for moment in past.moments][-1] == before
        assert shown(face, past.display_at(past.moments[0])) == beginning != before
        assert shown(face, face.display(seen)) == before

    await sync_to_async(look)()


def shown(face, display):
    return {part.place: part.html(oob=False, replay=True) for part in face.fragments(display) if part.replayed}


def text_of(versions):
    text = ""
    for _, start, end, middle in versions:
        text = text[:start] + middle + text[len(text) - end :]
    return text


async def test_its_object_is_what_the_api_describes(ended):
    def read():
        face = face_of(ended)
        said = run_object(face.rows().get(pk=ended.pk), "https://magi.example")
        face.schema.model_validate(said)
        assert (said["kind"], said["outcome"], said["title"]) == (ended.procedure, ended.outcome, ended.title)

    await sync_to_async(read)()


PAGES = ("live", "record", "record-file", "fragments", "cancel")
PAGES_OF_THE_END = (*PAGES[:4], "replay", "replay-frames", "redact")


def opened(client, run, pages):
    return {page: client.get(face_of(run).address(page, run.pk)).status_code for page in pages}


@pytest.mark.anywhere
def test_every_page_of_one_that_goes_on_is_there_for_its_owner_alone(asked, mira, noor, client):
    client.force_login(mira)
    assert opened(client, asked, PAGES) == dict.fromkeys(PAGES, 200)
    assert MARKER in client.get(face_of(asked).address("live", asked.pk)).content.decode()
    client.force_login(noor)
    assert opened(client, asked, PAGES) == dict.fromkeys(PAGES, 404)


@pytest.mark.anywhere
async def test_every_page_of_one_that_is_over_is_there(ended, reviewer, client):
    def visit():
        client.force_login(reviewer)
        assert opened(client, ended, PAGES_OF_THE_END) == dict.fromkeys(PAGES_OF_THE_END, 200)
        redaction.redact(ended.pk, "mira", "Asked for it.")
        html = [client.get(face_of(ended).address(page, ended.pk)).content.decode() for page in PAGES_OF_THE_END]
        assert not any(MARKER in text for text in html)

    await sync_to_async(visit)()


# ---- its place in the admin -----------------------------------------------------------------------------------


DESKS = {
    "of its kind": lambda run, page, *key: reverse(f"admin:{table_of(run)}_{page}", args=key),
    "of all kinds": lambda run, page, *key: reverse(f"admin:engine_run_{page}", args=key),
}


def table_of(run):
    meta = face_of(run).rows().model._meta
    return f"{meta.app_label}_{meta.model_name}"


@pytest.fixture(params=[pytest.param("of its kind", marks=pytest.mark.anywhere), "of all kinds"])
def desk(request):
    """Where reviewers look for it: a list, and the page of one."""
    return DESKS[request.param]


def test_reviewers_find_it_in_the_list_by_its_word_and_how_it_stands(asked, reviewer, client, desk):
    client.force_login(reviewer)
    queued = next(word for word, statuses in face_of(asked).standings.items() if "queued" in statuses)
    for sought, there in ({}, True), ({"q": MARKER}, True), ({"q": "zeppelin"}, False), ({"status": queued}, True):
        html = client.get(desk(asked, "changelist"), sought).content.decode()
        assert (asked.title in html) == there, sought


@pytest.mark.anywhere
def test_the_list_of_all_kinds_is_asked_for_one(asked, reviewer, client):
    client.force_login(reviewer)
    for kind, face in faces().items():
        html = client.get(reverse("admin:engine_run_changelist"), {"kind": kind}).content.decode()
        assert (asked.title in html) == (kind == asked.procedure)
        assert f">{face.noun.capitalize()}</a>" in html


@pytest.mark.anywhere
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


@pytest.mark.anywhere
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


@pytest.mark.anywhere
def test_staff_who_may_not_see_all_find_neither_list_nor_page(asked, mira, client, desk):
    User.objects.filter(pk=mira.pk).update(is_staff=True)  # its owner
    client.force_login(mira)
    assert client.get(desk(asked, "changelist")).status_code == 403
    for page in ("change", "history", "review"):
        assert client.get(desk(asked, page, asked.pk)).status_code == 403


@pytest.mark.anywhere
def test_who_may_see_and_no_more_neither_reviews_nor_steers(asked, noor, client, desk):
    User.objects.filter(pk=noor.pk).update(is_staff=True)
    client.force_login(allow(noor, "engine.view_run"))
    assert client.get(desk(asked, "change", asked.pk)).status_code == 200
    assert client.post(desk(asked, "review", asked.pk), {"what": "note", "text": "Hm."}).status_code == 403
    for action in ("cancel", "export_lines"):
        client.post(desk(asked, "changelist"), {"action": action, "_selected_action": [asked.pk]})
    assert (Run.objects.get().status, Review.objects.count()) == ("queued", 0)


@pytest.mark.anywhere
def test_a_page_of_nothing_and_of_another_kind_is_not_there(asked, reviewer, client, desk):
    client.force_login(reviewer)
    assert client.get(desk(asked, "change", uuid4())).status_code == 404
    for face in faces().values():
        meta = face.rows().model._meta
        address = reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[asked.pk])
        assert client.get(address).status_code == (200 if face is face_of(asked) else 404)


# ---- how it ends ----------------------------------------------------------------------------------------------


async def test_one_that_is_cancelled_ends_without_an_outcome(asked, mira):
    def cancel():
        assert steering.cancel(snapshot_of(asked).row, mira)
        assert (Run.objects.get().status, Run.objects.get().outcome) == ("cancelled", None)
        assert problems() == []

    await sync_to_async(cancel)()


async def test_a_failed_one_goes_on_where_it_was(asked, mira):
    models = ScriptedModels()
    models.will("rehearsal/instant", *[Unauthorized("The key was refused.")] * 3)
    assert (await play(asked.pk, models)).status == "failed"
    await sync_to_async(lambda: steering.retry(snapshot_of(asked).row, mira))()
    assert (await play(asked.pk)).status == "finished"
    assert await sync_to_async(problems)() == []


OF_A_GATE = tuple(f"{when}-{what}-commit" for what in ("gate", "park") for when in ("before", "after"))
BESIDES = {"doubted check": OF_A_GATE, "plan": ("before-tool-done-commit", "after-tool-done-commit")}
# all that is reached; on PostgreSQL of what reaches most
REACHED = [
    pytest.param(name, point, marks=() if name == "doubted check" else pytest.mark.anywhere)
    for name in sorted(PLAYED)
    for point in (*faults.POINTS, *BESIDES.get(name, ()))
]


@pytest.mark.parametrize(("name", "point"), REACHED, indirect=["name"])
async def test_an_error_at_any_point_doubles_nothing(asked, point):
    run = await with_an_error_at(point, asked)
    steps = [call async for call in ModelCall.objects.filter(run=run, status="answered").values_list("step", flat=True)]
    assert run.status == "finished"
    assert len(steps) == len(set(steps))
    assert await sync_to_async(problems)() == []


async def with_an_error_at(point, run):
    """It as it ended, after an error at this point, which it has reached."""
    try:
        faults.arm(f"{point}=raise@1")
        ended = await play(run.pk)
        assert faults._passed[point], f"{point} is not reached"
    finally:
        faults.arm("")
    return ended


# ---- that asks a run of its own -------------------------------------------------------------------------------


@pytest.fixture(params=sorted(THAT_ASK))
def asking(request, mira):
    """A run at whose gate a council decides, alone or besides."""
    return THAT_ASK[request.param](mira).run


async def test_what_asks_a_council_comes_to_an_outcome_and_all_of_it_is_sealed(asking):
    ended = await play(asking.pk)
    council = await Run.objects.aget(parent=ended)
    assert (ended.status, council.status, council.root_id) == ("finished", "finished", ended.pk)
    assert await sync_to_async(problems)() == []


async def test_a_redaction_of_what_asked_leaves_the_council_and_both_verify(asking):
    def redact():
        redaction.redact(asking.pk, "mira", "Asked for it.")
        assert [(table, column) for table, column, of in texts_of(asking) if found(table, column, of, asking)] == []
        assert problems() == []

    await play(asking.pk)
    await sync_to_async(redact)()


OF_A_COUNCIL = [pytest.param(point, marks=pytest.mark.anywhere) for point in faults.POINTS] + list(OF_A_GATE)


@pytest.mark.parametrize("point", OF_A_COUNCIL)
async def test_an_error_at_any_point_asks_a_council_once(mira, point):
    run = await sync_to_async(lambda: THAT_ASK["both"](mira).run)()
    ended = await with_an_error_at(point, run)
    decisions = Gate.objects.values_list("decisions__by", flat=True)
    assert (ended.status, await Run.objects.acount()) == ("finished", 2)
    assert sorted([by async for by in decisions])[0] == "council Trio"
    assert await sync_to_async(problems)() == []
