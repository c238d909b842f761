"""What a judgement costs the database: a statement more for each call is a tenth of what a judgement takes."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.db import connections

from judgements.models import Judgement
from tests.conftest import JAPAN, agents, perform
from tests.statements import counted

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def statements():
    with counted("writer", "asked") as found:
        yield found


async def test_a_judgement_makes_no_more_statements_than_it_needs(judgement, models, statements):
    await perform(judgement.pk, models)
    commits = statements.beginning('UPDATE "engine_writermarker"')
    proofs = statements.beginning("UPDATE engine_run SET revision")
    assert 7 <= commits <= 14  # the claim, three times three calls, their answers as they come, the outcome
    assert proofs <= commits
    assert len(statements.made) - commits - proofs <= 84


def test_its_submission_makes_few(mira, statements):
    with ThreadPoolExecutor(1, thread_name_prefix="asked") as thread:
        submit = partial(Judgement.objects.submit, owner=mira, content=JAPAN, agents=agents())
        thread.submit(submit).result()
        thread.submit(connections.close_all).result()
    assert 10 < len(statements.made) <= 14  # on PostgreSQL the lock of the log is one
