"""The reviewers' list of all kinds: what it says of each, and what it can be asked for."""

import csv
import io
import re

import pytest
from django.db import connection
from django.test import AsyncClient
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.admin.runs import RunAdmin
from runs.procedure.spec import specs
from tests.contract import EXAMPLES

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # by threads of their own
LIST = reverse("admin:engine_run_changelist")


@pytest.fixture
def mixed(mira):
    """One of each kind, the last that was asked for first."""
    return [EXAMPLES[kind](mira).run for kind in EXAMPLES][::-1]


def listed(client, **asked):
    """Which runs, by their keys, and the whole page."""
    html = client.get(LIST, asked).content.decode()
    return re.findall(r'<a href="/admin/engine/run/([0-9a-f-]{36})/change/[^>]*>', html), html


def keys(runs):
    return [str(run.pk) for run in runs]


def test_each_row_says_of_which_kind_it_is(admin, mixed):
    found, html = listed(admin)
    assert found == keys(mixed)
    nouns = [specs()[run.procedure].noun.capitalize() for run in mixed]
    assert re.findall(r'<td class="field-kind_word">(\w+)</td>', html) == nouns


def test_where_there_is_one_kind_nobody_is_asked_for_it(admin, mixed, settings):
    settings.PROCEDURES = {mixed[0].procedure: settings.PROCEDURES[mixed[0].procedure]}
    found, html = listed(admin)
    assert found == keys(mixed[:1])
    assert "kind" not in html


ASKED = [
    ({"kind": "nothing"}, True),
    ({"status": "queued"}, True),
    ({"status": "approved"}, True),  # no word of all kinds: it filters nothing
    ({"status": "error"}, False),
    ({"flag": "noted"}, False),
    ({"who": "mira"}, True),
    ({"person": "nobody"}, False),
    ({"created__year": "2020"}, False),
    ({"since": "2020-01-01"}, True),
    ({"q": "xylo"}, True),
]


def test_all_kinds_are_asked_for_what_all_have(admin, mixed):
    shown = [(asked, listed(admin, **asked)[0] == (keys(mixed) if there else [])) for asked, there in ASKED]
    assert [asked for asked, as_expected in shown if not as_expected] == []


def test_a_kind_has_words_of_its_own_for_how_its_runs_stand(admin, mixed):
    for kind, face in specs().items():
        html = listed(admin, kind=kind)[1]
        for word in (*face.outcomes, *face.standings):
            assert f">{word.capitalize()}</a>" in html


def test_pages_begin_at_a_run_of_any_kind(admin, mixed, monkeypatch):
    monkeypatch.setattr(RunAdmin, "list_per_page", 1)
    found, html = listed(admin)
    while older := re.search(r'<a href="\?before=([^"]+)">Older</a>', html):
        more, html = listed(admin, before=older[1])
        found += more
    assert found == keys(mixed)


def test_a_longer_list_of_all_kinds_needs_no_more_queries(admin, mixed, mira):
    def asked():
        with CaptureQueriesContext(connection) as queries:
            listed(admin)
        return len(queries)

    before = asked()
    for kind in EXAMPLES:
        EXAMPLES[kind](mira)
    assert asked() == before <= 8 + 3 * len(EXAMPLES)


@committed
async def test_a_table_of_all_kinds_names_the_kind_of_each(reviewer, mixed):
    client = AsyncClient()
    await client.aforce_login(reviewer)
    answer = await client.post(LIST, {"action": "export_table", "_selected_action": keys(mixed)})
    text = b"".join([part async for part in answer.streaming_content]).decode().removeprefix("\ufeff")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["id"], row["kind"]) for row in rows] == [(str(run.pk), run.procedure) for run in mixed]
    assert 'filename="runs-' in answer["Content-Disposition"]
