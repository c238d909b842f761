"""Runs that were performed once by a process of tests, for all tests that only look at them.

A test asks for a scene as for any fixture: its rows are put into the test's own transaction and go with it (`copied` of
`tests/databases.py`). To add one: a function that performs it, and a fixture that gives its owner.
"""

import pytest
from django.contrib.auth.models import User

from engine.llm.errors import Unauthorized
from judgements.models import Judgement
from tests.conftest import ScriptedModels, judged
from tests.databases import copied


@copied
def approved_by(owner: User) -> Judgement:
    return judged(owner)


@copied
def failed_by(owner: User) -> Judgement:
    models = ScriptedModels()
    models.will("openai/c", Unauthorized("The key was refused.", raw="HTTP 401 body"))
    return judged(owner, models)


@pytest.fixture
def approved_judgement(mira: User) -> Judgement:
    """One of Mira's that all three have approved in each round."""
    return approved_by(mira)


@pytest.fixture
def failed_judgement(mira: User) -> Judgement:
    """One of Mira's whose third agent was refused by its endpoint."""
    return failed_by(mira)
