"""What the database itself refuses to do to the rows of inquiries, whoever asks."""

import asyncio

import pytest
from django.apps import apps
from django.contrib.auth.models import User

from inquiries.guards import GUARDS
from inquiries.models import Inquiry
from tests.conftest import ScriptedModels, perform
from tests.engine.guarded import another, columns_of, redact, refused, run
from tests.inquiries.scenes import going_well, inquiry

pytestmark = pytest.mark.django_db(transaction=True)

MODELS = {model._meta.db_table: model for model in apps.get_app_config("inquiries").get_models()}


@pytest.fixture
def answered(mira: User, models: ScriptedModels) -> Inquiry:
    """With a row of every table."""
    going_well(models)
    made = inquiry(mira)
    asyncio.run(perform(made.pk, models))
    return Inquiry.objects.select_related("run").get(pk=made.pk)


def test_no_row_is_deleted(answered: Inquiry) -> None:
    for table in GUARDS:
        assert MODELS[table].objects.exists(), table
        assert refused(lambda table=table: run(f"DELETE FROM {table}")), table


def test_what_never_changes_is_refused_even_when_redacted(answered: Inquiry) -> None:
    redact(answered)
    for table, column in columns_of(GUARDS, MODELS, "kept"):
        change = f'UPDATE {table} SET "{column}" = {another(MODELS[table], column)}'
        assert refused(lambda change=change: run(change)), (table, column)


def test_a_text_goes_once_the_redaction_is_recorded_and_is_never_replaced(answered: Inquiry) -> None:
    texts = columns_of(GUARDS, MODELS, "erased")
    held = [one for one in texts if MODELS[one[0]].objects.exclude(**{one[1]: ""}).exists()]
    assert len(held) > 10
    for table, column in held:
        assert refused(lambda t=table, c=column: run(f'UPDATE {t} SET "{c}" = %s', "")), (table, column)
    redact(answered)
    for table, column in held:
        assert refused(lambda t=table, c=column: run(f'UPDATE {t} SET "{c}" = %s', "Other.")), (table, column)
        assert not refused(lambda t=table, c=column: run(f'UPDATE {t} SET "{c}" = %s', "")), (table, column)
