"""Inquiries in every state a page can be seen in, on a site without an engine: they are performed here, by models that
say what is written.

`python -m tests.inquiries.cast SCENE`, told of the site by its environment, prints the key of the one that it made.
"""

import asyncio
import sys
from datetime import timedelta
from typing import Any

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.utils import timezone  # noqa: E402

from engine.llm.errors import Unauthorized  # noqa: E402
from engine.models import Run  # noqa: E402
from engine.queue.worker import Worker  # noqa: E402
from inquiries.models import InquiryMove, Roster  # noqa: E402
from inquiries.rules.limits import InquiryLimits  # noqa: E402
from tests.conftest import ScriptedModels, perform  # noqa: E402
from tests.inquiries.scenes import (  # noqa: E402
    LIMIT,
    QUESTION,
    answers,
    calls,
    final,
    found,
    going_well,
    inquiry,
    passes,
    planned,
    sends_back,
)

PLAN = planned(
    "Find from when on and up to which warming potential heat pumps may be sold.",
    "Find which refrigerant the Norrvik N12 uses, and its warming potential.",
    "Find what the Norrvik N12 costs.",
    expert=("Hold the refrigerant of the N12 against the limit.", "Say whether it may be sold, and its price."),
)
SHEET = ("The N12 uses R290, with a potential of 0.02.", 2, "uses R290, whose warming potential is 0.02")
PRICE = ("The N12 costs 6,350.", 2, "It costs 6,350")
WRONG = ("The N12 uses R32.", 2, "The Norrvik N12 uses R32, whose warming potential")
SAID = "Yes: the Norrvik N12 may be sold in 2027, for its refrigerant has a warming potential of 0.02, below 150."
ENDLESS = timedelta(days=300)


class StallingInquiryModels(ScriptedModels):
    """Where nothing more is written it thinks for ever."""

    async def ask(self, model: str, *args: Any) -> Any:
        if not self.script[model]:
            await asyncio.sleep(3600)
        return await super().ask(model, *args)


def begun(owner: User, models: ScriptedModels, **asked: Any) -> Any:
    going_well(
        models,
        planner=[planned("Find the limit of the law somewhere."), PLAN],
        critic_planner=[sends_back("No step finds out which refrigerant the N12 uses."), passes()],
        researcher=[calls("sources.search", words="heat pump limit"), found(LIMIT), calls("sources.read", source=2)],
    )
    return inquiry(owner, **asked)


def answered(owner: User) -> Any:
    models = ScriptedModels()
    posts = {"researcher_model": "test/researcher", "answer_critic": "council:Answer review", "two_sites": "on"}
    roster = Roster.objects.create_first(name="House standard", owner=owner, about="For what is bought.", posts=posts)
    row = begun(owner, models, roster=roster.current)
    models.script["test/researcher"] += [
        found(WRONG),
        found(SHEET),
        calls("sources.search", words="cost"),
        found(PRICE),
    ]
    models.script["test/expert"] = [answers(SAID, numbers=[1, 2, 3])]
    models.script["test/critic_researcher"] = [passes(), passes(), passes()]
    models.script["test/finalizer"] = [
        final("In short: [answer] [claim:4]", "The law and the data sheet were read and compared.")
    ]
    asyncio.run(perform(row.pk, models))
    return row.pk


def live(owner: User) -> Any:
    """Its second step, sent back once, is at work; nobody goes on with it."""
    models = StallingInquiryModels()
    row = begun(owner, models)
    models.script["test/researcher"] += [found(SHEET), calls("sources.search", words="R290")]
    models.script["test/critic_researcher"] = [passes(), sends_back("Say where the potential of R290 stands.")]
    asyncio.run(_until(models, row.pk))
    Run.objects.filter(pk=row.pk).update(
        status=Run.Status.RUNNING, worker="nobody", lease_expires_at=timezone.now() + ENDLESS
    )
    return row.pk


def long(owner: User) -> Any:
    """So many steps that those behind shrink."""
    models, steps = (
        StallingInquiryModels(),
        [f"Find out what the law says about part {number}." for number in range(1, 8)],
    )
    going_well(models, planner=[planned(*steps)], researcher=[], critic_researcher=[passes()] * 5)
    for _ in steps[:5]:
        models.script["test/researcher"] += [found(LIMIT)]
    models.script["test/researcher"] += [calls("sources.search", words="limit")]
    row = inquiry(owner, question="What does the law say about each of its parts?")
    asyncio.run(_until(models, row.pk, 6))
    Run.objects.filter(pk=row.pk).update(
        status=Run.Status.RUNNING, worker="nobody", lease_expires_at=timezone.now() + ENDLESS
    )
    return row.pk


async def _until(models: ScriptedModels, pk: Any, moves: int = 5) -> None:
    engine = Worker(models=models, only=pk)  # what another scene left at work is nobody's, and would be taken, too
    performing = asyncio.create_task(engine.run())
    async with asyncio.timeout(60):
        while await InquiryMove.objects.filter(inquiry=pk, settled__isnull=False).acount() < moves:
            await asyncio.sleep(0.02)
    await engine.stop(grace=0)
    await performing


def unanswered(owner: User) -> Any:
    models = ScriptedModels()
    row = begun(owner, models, retry_limit=2)
    models.script["test/critic_researcher"] = [passes(), sends_back("The data sheet says nothing about 2027.")]
    models.script["test/researcher"] += [found(SHEET)]
    asyncio.run(perform(row.pk, models))
    return row.pk


def failed(owner: User) -> Any:
    models = ScriptedModels()
    row = inquiry(owner, question=f"{QUESTION} And what does it cost?", limits=InquiryLimits(patience=0))
    going_well(models, researcher=[Unauthorized("test/researcher refused its key.")])
    asyncio.run(perform(row.pk, models))
    return row.pk


SCENES = {"answered": answered, "unanswered": unanswered, "failed": failed, "live": live, "long": long}

if __name__ == "__main__":
    print(SCENES[sys.argv[1]](User.objects.order_by("pk")[0]))
