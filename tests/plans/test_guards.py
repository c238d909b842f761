"""What the database itself refuses to do to the rows of plans, whoever asks."""

import asyncio

import pytest
from django.apps import apps
from django.contrib.auth.models import User

from plans.models import Plan
from plans.rules.approval_policy import OPEN_READS
from runs.record.redaction import erase_texts
from tests.conftest import ScriptedModels, only_on, perform
from tests.databases import copied
from tests.engine.guarded import (
    changed,
    columns_of,
    deleted,
    guards_of,
    not_only_erased,
    redact,
    refused,
    replaced,
    run,
    taking,
    texts_held,
)
from tests.plans.scenes import SUM, SUMMARY, calls, plan, replies, steps, team

pytestmark = pytest.mark.django_db(transaction=True)

GUARDS = guards_of("plans")

MODELS = {model._meta.db_table: model for model in apps.get_app_config("plans").get_models()}


@pytest.fixture
def carried_out(mira: User) -> Plan:
    """With a row of every table."""
    return _carried_out(mira)


@copied
def _carried_out(mira: User) -> Plan:
    models = ScriptedModels()
    models.will("test/planner", steps(SUM), SUMMARY)
    models.will("test/sums", calls("figures.calculate", expression="2 + 3"), replies("It is 5."))
    made = plan(mira, team(OPEN_READS), matter="Sums")
    asyncio.run(perform(made.pk, models))
    return Plan.objects.select_related("run").get(pk=made.pk)


@only_on("sqlite")  # PostgreSQL knows no REPLACE
def test_no_row_takes_the_place_of_another(carried_out: Plan) -> None:
    assert replaced(GUARDS, MODELS) == []


def test_no_row_is_deleted(carried_out: Plan) -> None:
    assert deleted(GUARDS, MODELS) == []


def test_what_never_changes_is_refused_even_when_redacted(carried_out: Plan) -> None:
    redact(carried_out)
    assert changed(GUARDS, MODELS) == []


def test_a_text_goes_once_the_redaction_is_recorded_and_is_never_replaced(carried_out: Plan) -> None:
    held = texts_held(GUARDS, MODELS)
    assert held
    assert taking("", held) == []
    redact(carried_out)
    assert not_only_erased(columns_of(GUARDS, MODELS, "erased")) == []


def test_nothing_takes_the_place_of_a_summary_that_was_erased(carried_out: Plan) -> None:
    erase_texts(carried_out.run, None, "It was asked for.")
    assert refused(lambda: run("UPDATE plans_plan SET summary = 'It went well.'"))


def test_a_matter_loses_its_name_with_itself_alone_and_for_ever(carried_out: Plan) -> None:
    assert refused(lambda: run("UPDATE plans_matter SET name = 'Other'"))
    assert not refused(lambda: run("UPDATE plans_matter SET title = 'Other', closed = '2026-01-01 00:00:00'"))
    assert not refused(lambda: run("UPDATE plans_matter SET name = '', erased = '2026-01-01 00:00:00'"))
    assert refused(lambda: run("UPDATE plans_matter SET name = 'Sums', erased = NULL"))
