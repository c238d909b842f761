"""Judgements with one word in every text that they have, so that it is seen where one of them is left."""

import asyncio
from collections.abc import Callable

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import Client

from engine.audit.full_verification import verify_all
from engine.llm.errors import Unauthorized
from judgements.models import Judgement
from judgements.rules import Verdict
from runs import reviews
from runs.history.query import RunHistory
from runs.procedure.spec import specs
from tests.conftest import ScriptedModels, agents, perform, person, says
from tests.databases import copied

MARKER = "quetzalcoatl"
REASON = "Mira asked for it."


def history(user: User, sought: dict[str, str]) -> RunHistory:
    return RunHistory(user, sought, face=specs()["judgement"])


def judged(owner: User, earlier: Judgement | None = None, *answers: str | Unauthorized) -> Judgement:
    """A judgement that is over, with the marker in every text that it has."""
    three = agents("openai/a", "openai/b", "openai/c")
    content = f"Send {MARKER} to Japan."
    made = Judgement.objects.submit(
        owner=owner, title=f"Title {MARKER}", content=content, agents=three, earlier=earlier
    )
    models = ScriptedModels()
    models.will("openai/a", f"prose {MARKER}", *[says("approve", f"{MARKER} is fine, I think.")] * 3)
    models.will("openai/b", *[says("reject", f"No {MARKER} here, please.")] * 2, *answers)
    models.will("openai/c", *[says("approve", f"Yes to {MARKER}.")] * 3)
    asyncio.run(perform(made.pk, models))
    return Judgement.objects.get(pk=made.pk)


@pytest.fixture(scope="session")
def _marked() -> Callable[[], Judgement]:
    return copied(make_approved)


@pytest.fixture
def approved(_marked: Callable[[], Judgement], mira: User, reviewer: User, provider: None) -> Judgement:
    return _marked()


def make_approved() -> Judgement:
    made, reviewer = judged(person("mira")), person("reviewer")
    reviews.add_review(made.run, reviewer, f"A note on {MARKER}.")
    reviews.add_review(made.run, reviewer, f"Not {MARKER}.", Verdict.REJECTED)
    return made


@pytest.fixture(scope="session")
def _marked_and_failed() -> Callable[[], Judgement]:
    return copied(make_failed)


@pytest.fixture
def failed(_marked_and_failed: Callable[[], Judgement], mira: User, provider: None) -> Judgement:
    return _marked_and_failed()


def make_failed() -> Judgement:
    return judged(person("mira"), None, Unauthorized(f"The key {MARKER} was refused.", raw=MARKER))


@pytest.fixture(params=["approved", "failed"])
def either(
    request: pytest.FixtureRequest,
    _marked: Callable[[], Judgement],
    _marked_and_failed: Callable[[], Judgement],
    mira: User,
    reviewer: User,
    provider: None,
) -> Judgement:
    return {"approved": _marked, "failed": _marked_and_failed}[request.param]()


def problems() -> list[str]:
    return [str(problem) for problem in verify_all().faults]


def shown(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    if not answer.streaming:
        return answer.content.decode()

    async def read() -> bytes:
        return b"".join([piece async for piece in answer])

    return async_to_sync(read)().decode()
