"""SQL that is made once does what Django's own would do."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from engine.db import cached_sql
from engine.models import ModelCall, Run

pytestmark = pytest.mark.django_db
MOMENT = datetime(2026, 5, 4, 3, 2, 1, 5000, tzinfo=UTC)


def test_a_row_that_is_inserted_is_read_as_it_was_given(mira):
    values = {"owner": mira, "error": {"code": "x", "list": [1, "ü"]}, "started": MOMENT, "reserved_in": [3]}
    run = cached_sql.insert(Run(procedure="coin", title="100 % ?", **values))
    found = Run.objects.get(pk=run.pk)
    assert {name: getattr(found, name) for name in values} == values
    assert found.title == "100 % ?"


def test_a_key_that_the_database_gives_is_set():
    run = Run.objects.create(procedure="coin")
    call = cached_sql.insert(ModelCall(run=run, step="A1", attempt=1, model="m", prompt="[]", deadline=MOMENT))
    assert ModelCall.objects.get().pk == call.pk


def test_what_is_fetched_is_what_django_reads(mira):
    runs = [Run.objects.create(procedure="coin", owner=mira, error={"a": 1}, started=MOMENT) for _ in range(3)]
    keys = [run.pk for run in runs]
    fetched = cached_sql.fetch(Run, "pk", keys, "-created")
    django = list(Run.objects.filter(pk__in=keys).order_by("-created"))
    assert [vars(one) | {"_state": 0} for one in fetched] == [vars(one) | {"_state": 0} for one in django]


def test_what_is_left_out_of_a_fetch_is_read_when_it_is_asked_for():
    run = Run.objects.create(procedure="coin", title="Heads or tails")
    [found] = cached_sql.fetch(Run, "pk", [run.pk], without=("title",))
    assert found.get_deferred_fields() == {"title"}
    assert (found.procedure, found.title) == ("coin", "Heads or tails")


def test_an_update_says_whether_the_row_is_there():
    run = Run.objects.create(procedure="coin")
    assert cached_sql.update(Run, run.pk, worker="new", started=MOMENT)
    assert not cached_sql.update(Run, uuid4(), worker="new", started=MOMENT)
    run.refresh_from_db()
    assert (run.worker, run.started) == ("new", MOMENT)


def test_a_look_finds_what_is_alike():
    run = Run.objects.create(procedure="coin", status="queued")
    assert cached_sql.exists(Run, "pk", [run.pk, uuid4()], status="queued")
    assert not cached_sql.exists(Run, "pk", [run.pk], status="failed")


def test_its_errors_are_those_of_django():
    run = Run.objects.create(procedure="coin")
    with pytest.raises(IntegrityError), transaction.atomic():
        cached_sql.insert(Run(pk=run.pk, procedure="coin"))
    with pytest.raises(IntegrityError), transaction.atomic():
        cached_sql.bulk_insert([Run(procedure="coin"), Run(pk=run.pk, procedure="coin")])
    assert Run.objects.count() == 1


def test_who_looks_at_statements_sees_these():
    run = Run.objects.create(procedure="coin")
    with CaptureQueriesContext(connection) as queries:
        assert run.still_held(gets_on=True) is False
        cached_sql.fetch(Run, "pk", [run.pk])
    assert len(queries) == 2


def test_a_query_that_is_made_once_is_asked_with_other_values():
    for owner in ("ada", "ben"):
        Run.objects.create(procedure="coin", worker=owner)
    of = cached_sql.CompiledQuery(Run.objects.filter(worker="somebody", fence=0).values_list("worker"))
    assert [of.rows({"somebody": owner}) for owner in ("ada", "ben", "eva")] == [[("ada",)], [("ben",)], []]
