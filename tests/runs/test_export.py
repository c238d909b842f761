"""A list as a file: a table, or lines of JSON."""

import csv
import io
import json

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient
from django.urls import reverse

from engine.models import Run
from judgements.models import Judgement
from runs import reviews
from runs.record.export import EXTRA_COLUMNS
from runs.run_object import run_object
from tests.conftest import agents
from tests.judgements.past import judged, many, submit

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # read by other threads


async def file_of(user, format, **asked):
    client = AsyncClient()
    await client.aforce_login(user)
    answer = await client.get(reverse("export", args=[format]), asked)
    assert answer.status_code == 200
    return answer, b"".join([part async for part in answer.streaming_content]).decode()


@committed
async def test_a_table_of_what_is_filtered(mira, noor):
    def stand():
        judged(mira, "=cmd|' /C calc'!A0", "ARA")
        submit(mira, 'Näxt, "quoted"', minute=1)
        submit(noor, "Secret", minute=2)

    await sync_to_async(stand)()
    answer, text = await file_of(mira, "csv")
    assert answer["Content-Disposition"].endswith('.csv"')
    assert text.startswith("\ufeff")
    head, *rows = csv.reader(io.StringIO(text.removeprefix("\ufeff")))
    assert head[:2] == ["id", "url"]
    assert [len(row) for row in rows] == [len(head)] * 2
    first, second = (dict(zip(head, row, strict=True)) for row in rows)
    assert (first["title"], first["outcome"], first["started"]) == ('Näxt, "quoted"', "idle", "")
    assert (second["title"], second["outcome"]) == ("'=cmd|' /C calc'!A0", "approved")
    assert (second["agent 2 name"], second["agent 2 score"], second["agent 2 verdict"]) == (
        "Balthasar",
        "0.0",
        "rejected",
    )
    assert second["asked by"] == "mira"


@committed
@pytest.mark.parametrize("content", ["=1+1", "-1", "\n=1+1", "＝1+1"])
async def test_no_content_is_a_formula_in_a_table(mira, content):
    await sync_to_async(Judgement.objects.submit)(owner=mira, content=content, agents=agents())
    _, text = await file_of(mira, "csv")
    assert next(csv.DictReader(io.StringIO(text, newline="")))["content"] == f"'{content}"


@committed
async def test_lines_of_json_are_the_objects_of_the_api_with_what_the_table_says_beside(mira):
    judgement = await sync_to_async(judged)(mira, "Travel")
    await sync_to_async(submit)(mira, "Other", minute=1)
    await sync_to_async(reviews.add_review)(judgement.run, mira, "Seen.")
    _, text = await file_of(mira, "jsonl", q="travel", outcome="approved")
    whole = await sync_to_async(Judgement.objects.with_agents().get)(pk=judgement.pk)
    assert [json.loads(line) for line in text.splitlines()] == [
        await sync_to_async(run_object)(whole, "http://testserver") | {"rehearsal": True, "flags": ["noted"]}
    ]


@committed
async def test_no_sign_in_a_content_ends_its_line(mira):
    content = "one\u2028two\u2029three\nfour"
    await sync_to_async(Judgement.objects.submit)(owner=mira, content=content, agents=agents())
    _, text = await file_of(mira, "jsonl")
    assert [json.loads(line)["content"] for line in text.splitlines()] == [content]


@committed
async def test_a_file_longer_than_one_reading_has_every_line_once(mira, monkeypatch):
    monkeypatch.setattr("runs.record.export.BATCH", 2)
    await sync_to_async(many)(mira, 7)
    for asked in ({}, {"q": "number"}):
        _, text = await file_of(mira, "jsonl", **asked)
        assert sorted(json.loads(line)["title"] for line in text.splitlines()) == [f"number {n}" for n in range(7)]


@committed
async def test_a_file_of_nothing_is_a_file(mira):
    assert (await file_of(mira, "jsonl"))[1] == ""
    assert (await file_of(mira, "csv"))[1].count("\n") == 1


def test_a_file_with_a_wrong_filter_says_what_is_wrong(page):
    answer = page.get(reverse("export", args=["csv"]), {"since": "x"})
    assert (answer.status_code, answer.content) == (400, b"Write the day as year, month and day: 2026-11-21.")


@committed
async def test_a_table_says_behind_its_older_columns_what_became_of_the_outcome(mira, reviewer):
    @sync_to_async
    def stand():
        made = judged(mira, "Travel", "RRA")
        reviews.add_review(made.run, reviewer, "=No.", "approved")
        Run.objects.filter(pk=submit(mira, "Broken", status="failed").pk).update(error={"code": "quota"})
        return made.pk

    pk = await stand()
    found = {row["title"]: row for row in csv.DictReader(io.StringIO((await file_of(mira, "csv"))[1], newline=""))}
    assert list(found["Travel"])[-9:] == ["redacted", "kind", *EXTRA_COLUMNS]
    whole = await sync_to_async(Judgement.objects.with_agents().get)(pk=pk)
    added = [found["Travel"][name] for name in ("kind", *EXTRA_COLUMNS)]
    by = reviewer.username
    assert added == ["judgement", "approved", by, "'=No.", "yes", "Overridden", "", whole.record_hash]
    assert found["Broken"]["cause"] == "the account is used up"
