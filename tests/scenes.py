"""Runs that were performed once by a process of tests, for all tests that only look at them.

A test asks for a scene as for any fixture. Its rows are put into the test's own transaction and go with it; the people
of `conftest.py` are the same in both. Two scenes of runs do not fit into one test: both begin the log of all runs.
To add one: a function that makes it in an empty database, and the two fixtures below it. Each is performed when the
first test asks for it.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from engine.llm.failures import Unauthorized
from judgements.models import Judgement
from tests.conftest import ScriptedModels, judged, perform, person, submitted

Performed = Callable[[Callable[[], Any]], Callable[[], Any]]


def _approved() -> Judgement:
    return judged(person("mira"))


@pytest.fixture(scope="session")
def _approved_judgement(performed: Performed) -> Callable[[], Judgement]:
    return performed(_approved)


@pytest.fixture
def approved_judgement(_approved_judgement: Callable[[], Judgement], db: None) -> Judgement:
    """One of Mira's that all three have approved in each round."""
    return _approved_judgement()


def _failed() -> Judgement:
    models = ScriptedModels()
    models.will("openai/c", Unauthorized("The key was refused.", raw="HTTP 401 body"))
    judgement = submitted(person("mira"))
    asyncio.run(perform(judgement.pk, models))
    judgement.run.refresh_from_db()
    return judgement


@pytest.fixture(scope="session")
def _failed_judgement(performed: Performed) -> Callable[[], Judgement]:
    return performed(_failed)


@pytest.fixture
def failed_judgement(_failed_judgement: Callable[[], Judgement], db: None) -> Judgement:
    """One of Mira's whose third agent was refused by its endpoint."""
    return _failed_judgement()
