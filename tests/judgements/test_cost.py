"""What a judgement costs the database: a statement more for each call is a tenth of what a judgement takes."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.db import connections
from django.db.backends.signals import connection_created

from engine import reader
from judgements.models import Judgement
from tests.conftest import JAPAN, agents, perform

pytestmark = pytest.mark.django_db(transaction=True)


class Statements:
    """Of threads with such names, in the order in which they came."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def begin(self, connection, **_: object) -> None:
        connection.execute_wrappers.append(self)

    def __call__(self, execute, sql, params, many, context):
        ours = threading.current_thread().name.startswith(("writer", "asked"))
        if ours and not sql.startswith(("BEGIN", "SAVEPOINT", "RELEASE")):
            self.made.append(sql)
        return execute(sql, params, many, context)

    def beginning(self, words: str) -> int:
        return sum(sql.startswith(words) for sql in self.made)


@pytest.fixture
def statements():
    counted = Statements()
    reader.close()
    connection_created.connect(counted.begin)
    yield counted
    connection_created.disconnect(counted.begin)
    for connection in connections.all():
        connection.execute_wrappers.clear()


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
