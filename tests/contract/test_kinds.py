"""What every procedure gets from the house and owes it, played with each that the settings name."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from engine.audit.verification import verify_one
from engine.ledger import signing
from engine.ledger.checkpoints import Checkpoint
from engine.models import Gate, Run
from engine.text.search_terms import query_terms
from runs import reviews
from runs.live.feed import snapshot_of
from runs.models import matching_runs
from runs.procedure.fragments import LivePageState
from runs.procedure.spec import spec_of_run, specs
from runs.record import redaction
from runs.record.document import record_line
from runs.record.replay import RunReplay, build_replay
from runs.run_object import run_object
from tests.acceptance.site import ROOT
from tests.contract import EXAMPLES, MARKER, OFFLINE, THAT_WAIT, found, play, problems, texts_of
from tests.databases import tampering

pytestmark = pytest.mark.django_db


def test_every_procedure_has_an_example():
    assert set(specs()) == set(EXAMPLES)


def test_a_name_is_registered_once():
    assert len({face.nouns for face in specs().values()}) == len(specs())


def test_the_rehearsal_plays_it_to_an_outcome(ended):
    assert (ended.status, ended.error) == ("finished", None)
    known = spec_of_run(ended).outcomes
    assert ended.outcome
    assert not known or ended.outcome in known


def test_what_is_to_wait_has_waited_at_a_gate(ended, name):
    assert Gate.objects.filter(run=ended, state="approved").count() == (name in THAT_WAIT)


def test_all_that_happened_is_sealed_and_intact(ended):
    assert problems() == []


@pytest.mark.usefixtures("read_once")
def test_what_was_asked_is_sealed_at_once_and_every_change_of_it_is_found(asked):
    assert list(unnoticed(asked)) == []


@pytest.mark.usefixtures("read_once")
def test_every_change_of_a_text_is_found_afterwards(ended):
    assert list(unnoticed(ended)) == []


def unnoticed(run):
    """Which of its texts can be another."""
    with tampering(), connection.cursor() as cursor:
        for table, column, run_of in texts_of(run):
            for text in found(table, column, run_of, run)[:1]:
                cursor.execute(f"UPDATE {table} SET {column} = 'Another text.' WHERE {column} = %s", [text])
                if not any("changed" in fault.text for fault in verify_one(run.pk)[2]):
                    yield table, column
                cursor.execute(f"UPDATE {table} SET {column} = %s WHERE {column} = 'Another text.'", [text])


def test_its_record_verifies_offline(ended, tmp_path):
    Checkpoint.objects.make()
    bundle = tmp_path / "bundle.jsonl"
    bundle.write_text(record_line(ended.pk))
    command = [sys.executable, "-I", "-S", "tools/verify.py", str(bundle), "--key", signing.verifier_key()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split(",")[0]) == (0, "Intact: 1 records"), done.stdout
    assert ("rule is not in this file" in done.stdout) == (ended.procedure not in OFFLINE)


def test_another_outcome_is_found(ended):
    with tampering():
        Run.objects.filter(pk=ended.pk).update(outcome="another")
    assert problems()


def test_a_redaction_empties_every_text_and_verifies(ended, mira):
    reviews.add_review(ended, mira, f"{MARKER} seen.")
    redaction.redact_run(ended.pk, "mira", "Asked for it.")
    assert [(table, column) for table, column, of in texts_of(ended) if found(table, column, of, ended)] == []
    assert problems() == []
    assert MARKER not in Run.objects.get().shown_title


def test_one_that_goes_on_cannot_be_redacted(asked):
    with pytest.raises(ValueError, match=f"{spec_of_run(asked).noun_with_article} that is not over cannot be redacted"):
        redaction.redact_run(asked.pk, "mira", "Asked for it.")


def test_it_is_found_by_its_words_until_it_is_redacted(ended):
    sought = lambda: list(matching_runs(Run.objects.all(), query_terms(MARKER), few=False))  # noqa: E731
    assert sought() == [ended]
    redaction.redact_run(ended.pk, "mira", "Asked for it.")
    assert sought() == []


def test_a_person_decides_otherwise_beside_the_outcome(ended, mira):
    other = next(one for one in spec_of_run(ended).outcomes_of(ended) if one != ended.outcome)
    reviews.add_review(ended, mira, "Not so.", other)
    run = Run.objects.get()
    assert (run.outcome, run.override) == (ended.outcome, other)
    assert problems() == []
    with tampering():
        Run.objects.update(override=None)
    assert any("overridden otherwise" in problem for problem in problems())


def test_every_part_of_its_page_has_its_place_and_replaces_itself(asked):
    face = spec_of_run(asked)
    parts = list(face.fragments(face.display(snapshot_of(asked))))
    assert len({part.place for part in parts}) == len(parts)
    for part in parts:
        assert re.search(r' id="[^"]+"', part.html()), part.place
        assert "hx-swap-oob" in part.html(), part.place
        assert not part.replayed or "hx-swap-oob" not in part.html(oob=False, replay=True), part.place


def test_what_is_pushed_shows_all_that_is_painted(ended):
    assert list(pushed_otherwise(ended)) == []


def test_so_it_does_of_one_that_failed(failed):
    assert list(pushed_otherwise(failed)) == []


def pushed_otherwise(run):
    """A part that is told too little of the page would lose what the first paint had shown."""
    display = spec_of_run(run).display(snapshot_of(run))
    for part in spec_of_run(run).fragments(display):
        if part.html() != replace(part, context=part.context | {"display": display}).html():
            yield part.place


async def test_its_page_is_the_same_whether_followed_or_opened_at_the_end(asked):
    followed, opened = LivePageState(), LivePageState()

    def take(page):
        run = Run.objects.get()
        page.update(spec_of_run(run).fragments(spec_of_run(run).display(snapshot_of(run))), run.revision)

    await sync_to_async(take)(followed)
    await play(asked.pk)
    for page in (followed, opened):
        await sync_to_async(take)(page)
    html = [re.sub("<!--.*-->", "", page.newer_than(0)) for page in (followed, opened)]
    assert html[0] == html[1]


def test_its_replay_ends_with_its_page(ended):
    face, seen = spec_of_run(ended), snapshot_of(ended)
    played = build_replay(seen)
    last = shown(face, face.display(seen))
    assert {place: text_of(versions) for place, versions in played["fragments"].items()} == last
    assert len(played["frames"]) > 2


def test_every_part_of_its_replay_has_its_place_in_the_page_from_the_beginning(ended, mira, client):
    client.force_login(mira)
    page = client.get(spec_of_run(ended).address("replay", ended.pk)).content.decode()
    played = build_replay(snapshot_of(ended))
    for versions in played["fragments"].values():
        place = re.search(r' id="([^"]+)"', text_of(versions))[1]
        assert f' id="{place}"' in page, place
    times = [frame["at"] for frame in played["frames"]]
    assert times == sorted(times)


def test_looking_back_changes_nothing_of_what_is_looked_at(ended):
    face, seen = spec_of_run(ended), snapshot_of(ended)
    past = RunReplay(seen)
    before, beginning = shown(face, face.display(seen)), shown(face, past.display_at(past.moments[0]))
    assert not past.display_at(past.moments[0]).is_ended
    assert [shown(face, past.display_at(moment)) for moment in past.moments][-1] == before
    assert shown(face, past.display_at(past.moments[0])) == beginning != before
    assert shown(face, face.display(seen)) == before


def shown(face, display):
    return {part.place: part.html(oob=False, replay=True) for part in face.fragments(display) if part.replayed}


def text_of(versions):
    text = ""
    for _, start, end, middle in versions:
        text = text[:start] + middle + text[len(text) - end :]
    return text


def test_its_object_is_what_the_api_describes(ended):
    face = spec_of_run(ended)
    said = run_object(face.rows().get(pk=ended.pk), "https://magi.example")
    face.schema.model_validate(said)
    own = ("revision", "outcome", "title")  # a stream goes on after the first of them
    assert said["kind"] == ended.procedure
    assert [said[name] for name in own] == [getattr(ended, name) for name in own]


PAGES = ("live", "record", "record-file", "fragments", "cancel")
PAGES_OF_THE_END = (*PAGES[:4], "replay", "replay-frames", "redact")


def opened(client, run, pages):
    return {page: client.get(spec_of_run(run).address(page, run.pk)).status_code for page in pages}


def test_every_page_of_one_that_goes_on_is_there_for_its_owner_alone(asked, mira, noor, client):
    client.force_login(mira)
    assert opened(client, asked, PAGES) == dict.fromkeys(PAGES, 200)
    assert MARKER in client.get(spec_of_run(asked).address("live", asked.pk)).content.decode()
    client.force_login(noor)
    assert opened(client, asked, PAGES) == dict.fromkeys(PAGES, 404)


def test_every_page_of_one_that_is_over_is_there(ended, reviewer, client):
    client.force_login(reviewer)
    assert opened(client, ended, PAGES_OF_THE_END) == dict.fromkeys(PAGES_OF_THE_END, 200)
    redaction.redact_run(ended.pk, "mira", "Asked for it.")
    html = [client.get(spec_of_run(ended).address(page, ended.pk)).content.decode() for page in PAGES_OF_THE_END]
    assert not any(MARKER in text for text in html)
