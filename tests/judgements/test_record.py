import json
import re

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from engine import run_control
from engine.audit import bundles, sealing
from engine.ledger import signing
from engine.ledger.checkpoints import Checkpoint
from engine.ledger.entries import AuditEntry
from engine.ledger.hashing import canonical
from engine.ledger.merkle_log import DigestSalt, LogLeaf
from engine.llm.errors import ServerError, Unauthorized
from engine.models import ModelCall
from engine.version import VERSION
from judgements.models import Council, Judgement
from tests.conftest import JAPAN, NAMES, agents, claim, perform
from tests.databases import tampering

pytestmark = pytest.mark.django_db


def judged(judgement, models):
    async_to_sync(perform)(judgement.pk, models)


def record(page, judgement):
    return page.get(reverse("record", args=[judgement.pk])).content.decode()


def words(html):
    """The text of a page as one reads it."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_the_record_holds_content_verdict_rule_and_every_reason(page, judgement, models):
    models.will("openai/a", *["reject"] * 3)
    judged(judgement, models)
    html = record(page, judgement)
    assert JAPAN in html
    assert "2 of 3 agents approve; 2 are needed. Judged on" in html
    assert "0 × 0.1 + 0 × 0.4 + 0 × 0.5 = 0.0, 0.5 approves" in html
    assert html.count("Because the criteria say so.</p>") == 9
    assert all(f"Criteria</b> Criteria of {name}." in html for name in NAMES)


def test_every_attempt_is_there_with_prompt_and_raw_answer(page, judgement, models):
    models.will("openai/c", ServerError("It answered 500."), "no JSON at all", "approve")
    judged(judgement, models)
    html = record(page, judgement)
    assert "Attempt 1: failed" in html
    assert "It answered 500." in html
    assert "Attempt 2: failed" in html
    assert "no JSON at all" in html
    assert html.count("Prompt, system") == html.count("Raw answer</p>") == 11


def test_a_failed_judgement_has_a_record_without_a_verdict(page, judgement, models):
    models.will("openai/b", Unauthorized("The key was refused."))
    judged(judgement, models)
    html = words(record(page, judgement))
    assert "Failed in round 1, without a verdict." in html
    assert "The key was refused." in html
    assert "(unauthorized)" in html
    assert "How it was decided" not in html


def test_a_record_of_a_cancelled_judgement_says_who_cancelled(page, judgement, reviewer):
    run_control.cancel(judgement.pk, reviewer)
    html = words(record(page, judgement))
    assert "Cancelled before round 1 by reviewer. There is no verdict" in html
    assert "Cancelled by reviewer" in html


def test_a_record_of_a_judgement_under_way_says_that_it_is_not_complete(page, judgement):
    claim("one", 1)
    values = {"model": "openai/a", "prompt": "[]", "deadline": judgement.run.created}
    ModelCall.objects.create(run=judgement.run, step="A1", attempt=1, status="interrupted", **values)
    ModelCall.objects.create(run=judgement.run, step="A1", attempt=1, **values)
    html = words(record(page, judgement))
    assert "Still under way: this record is not complete and there is no verdict." in html
    assert "Attempt 1: interrupted" in html
    assert "Attempt 1: under way" in html


def test_the_record_says_where_it_comes_from(page, mira):
    trio = [{"fallback": "", **agent} for agent in agents("rehearsal/magi", "openai/b", "openai/c")]
    made = Council.objects.create_first(name="Mixed", agents=trio, owner=mira)
    judgement = Judgement.objects.submit(owner=mira, content="x", agents=trio, council=made.current)
    html = words(record(page, judgement))
    assert str(judgement.pk) in html
    assert "Asked by mira" in html
    assert "Council Mixed, version 1" in html
    assert "sha256 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" in html
    assert f"magi {VERSION}" in html
    assert "Rehearsal: no model was asked for Melchior." in html


def test_line_breaks_and_markup_of_a_content_stay_what_they_are(page, mira):
    judgement = Judgement.objects.submit(owner=mira, content="\n one\n  <b>two</b>\n", agents=agents())
    assert "<blockquote>\n one\n  &lt;b&gt;two&lt;/b&gt;\n</blockquote>" in record(page, judgement)


@pytest.mark.parametrize("name", ["record", "record-file"])
def test_nobody_else_may_read_a_record(client, noor, judgement, name):
    client.force_login(noor)
    assert client.get(reverse(name, args=[judgement.pk])).status_code == 404


def test_the_file_has_each_fact_once_in_its_entries(page, judgement, models):
    models.will("openai/c", ServerError("It answered 500."))
    judged(judgement, models)
    answer = page.get(reverse("record-file", args=[judgement.pk]))
    kept = json.loads(answer.content)
    assert answer["Content-Disposition"] == f'attachment; filename="magi-{judgement.pk}.json"'
    assert answer.content.decode() == canonical(kept) + "\n"
    assert set(kept) == {"form", "id", "log", "key", "record_hash", "entries", "leaves", "checkpoint"}
    assert kept["entries"][0]["texts"]["content"] == JAPAN
    assert (kept["entries"][0]["facts"]["prompt_version"], kept["entries"][-1]["facts"]["verdict"]) == ("3", "approved")
    assert kept["record_hash"] == kept["entries"][-1]["hash"] == kept["leaves"][-1]["head"]
    failed = [entry for entry in kept["entries"] if entry["facts"].get("status") == "failed"]
    assert len(kept["entries"]) == 12
    assert [(entry["facts"]["step"], entry["texts"]["error"]) for entry in failed] == [("C1", "It answered 500.")]
    assert "Criteria of Casper." in failed[0]["texts"]["prompt"]


def test_the_record_says_where_it_is_in_the_log(page, judgement, models):
    judged(judgement, models)
    html = words(record(page, judgement))
    hash_ = Judgement.objects.with_agents().get().record_hash
    assert f"Record sha256 {hash_}" in html
    assert f"leaf 1 of {signing.name()}, not yet in a checkpoint" in html
    Checkpoint.objects.make()
    assert f"leaf 1 of {signing.name()}, covered by checkpoint 2" in words(record(page, judgement))


def test_the_record_says_that_it_was_sealed_later(page, judgement, models):
    judged(judgement, models)
    with tampering():
        DigestSalt.objects.filter(leaf__run=judgement.pk).delete()
        LogLeaf.objects.filter(run=judgement.pk).delete()
        AuditEntry.objects.filter(run=judgement.pk).delete()
    sealing.adopt_unsealed_runs()
    assert "sealed when the log began, later than it happened" in words(record(page, judgement))


@pytest.mark.parametrize(("name", "most"), [("record", 15), ("record-file", 22)])
def test_a_record_takes_few_queries_however_many_attempts(page, judgement, models, name, most):
    models.will("openai/c", *[ServerError("It answered 500.")] * 3)
    models.will("openai/a", "nonsense", "nonsense")
    judged(judgement, models)
    Checkpoint.objects.make()
    with CaptureQueriesContext(connection) as queries:
        page.get(reverse(name, args=[judgement.pk]))
    assert len(queries) <= most


def test_the_leaves_of_the_log_are_read_once_for_many_files(page, judgement, models):
    judged(judgement, models)
    Checkpoint.objects.make()
    address = reverse("record-file", args=[judgement.pk])
    first = page.get(address).content
    with CaptureQueriesContext(connection) as queries:
        assert page.get(address).content == first
    assert not [query for query in queries if '"index" < ' in query["sql"]]


def test_a_file_shows_the_log_as_it_is_and_not_as_it_was_long_ago(page, judgement, models, monkeypatch):
    judged(judgement, models)
    Checkpoint.objects.make()
    address = reverse("record-file", args=[judgement.pk])
    first = json.loads(page.get(address).content)
    with tampering():
        LogLeaf.objects.update(hash="0" * 64)
    monkeypatch.setattr(bundles, "CACHE_SECONDS", 0)
    assert set(bundles.tree().levels[0]) == {bytes(32)}
    assert json.loads(page.get(address).content) != first


def test_the_live_page_leads_everybody_to_the_record(page, judgement, models):
    judged(judgement, models)
    html = page.get(reverse("live", args=[judgement.pk])).content.decode()
    address = reverse("record", args=[judgement.pk])
    assert f'href="{address}">Open record</a>' in html
    assert f'href="{address}#agent-2">Prompts and raw answers</a>' in html
