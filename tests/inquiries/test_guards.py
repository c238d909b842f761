"""What the database itself refuses to do to the rows of inquiries, whoever asks."""

import asyncio

import pytest
from django.apps import apps
from django.contrib.auth.models import User

from inquiries.models import Inquiry, Roster
from runs.record.redaction import erase_texts
from tests.conftest import ScriptedModels, only_on, perform
from tests.databases import copied
from tests.engine.guarded import (
    changed,
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
from tests.inquiries.scenes import going_well, inquiry

pytestmark = pytest.mark.django_db(transaction=True)

GUARDS = guards_of("inquiries")

MODELS = {model._meta.db_table: model for model in apps.get_app_config("inquiries").get_models()}


@pytest.fixture
def answered(mira: User) -> Inquiry:
    """With a row of every table."""
    return _answered(mira)


@copied
def _answered(mira: User) -> Inquiry:
    models = ScriptedModels()
    going_well(models)
    made = inquiry(mira, roster=Roster.objects.create_first(name="All", owner=mira, posts={"model": "m"}).current)
    asyncio.run(perform(made.pk, models))
    return Inquiry.objects.select_related("run").get(pk=made.pk)


@only_on("sqlite")  # PostgreSQL knows no REPLACE
def test_no_row_takes_the_place_of_another(answered: Inquiry) -> None:
    assert replaced(GUARDS, MODELS) == []


def test_no_row_is_deleted(answered: Inquiry) -> None:
    assert deleted(GUARDS, MODELS) == []


def test_what_never_changes_is_refused_even_when_redacted(answered: Inquiry) -> None:
    redact(answered)
    assert changed(GUARDS, MODELS) == []


def test_a_text_goes_once_the_redaction_is_recorded_and_is_never_replaced(answered: Inquiry) -> None:
    held = texts_held(GUARDS, MODELS)
    assert len(held) > 10
    assert taking("", held) == []
    redact(answered)
    assert not_only_erased(held) == []


def test_nothing_takes_the_place_of_an_answer_that_was_erased(answered: Inquiry) -> None:
    erase_texts(answered.run, None, "It was asked for.")
    assert refused(lambda: run("UPDATE inquiries_inquiry SET answer = 'Quite another one.'"))
    assert refused(lambda: run("UPDATE inquiries_inquiry SET trace = 'Quite another one.'"))
    assert refused(lambda: run("UPDATE inquiries_inquiry SET why = 'Quite another one.'"))
