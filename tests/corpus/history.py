"""The honest history that every case of the corpus changes."""

import asyncio
from types import SimpleNamespace
from typing import Any

from django.contrib.auth.models import User

from engine.audit import sealing
from engine.ledger.checkpoints import Checkpoint
from engine.llm.errors import Unauthorized
from judgements.models import Council, ExpectedReceipt, Judgement, Receipt
from judgements.rules import Verdict
from runs import reviews, run_actions
from runs.models import IdempotencyKey
from tests.conftest import ScriptedModels, agents, perform

History = SimpleNamespace


def make() -> dict[str, Any]:
    mira = User.objects.create_user("mira-of-the-corpus")
    council = Council.objects.filter(name="Corpus").first() or Council.objects.create_first(
        name="Corpus",
        agents=[{**agent, "fallback": ""} for agent in agents("openai/a", "openai/b", "openai/c")],
        owner=None,
    )
    sealing.adopt_unsealed_runs()  # as when a site starts
    approved = performed(mira, "A bridge is to be opened.", council=council.current)
    rejected = performed(mira, "A tunnel is to be closed.", b=["approve", "reject", "reject"], c=["reject"] * 3)
    failed = performed(mira, "A dam is to be raised.", b=[Unauthorized("The key was refused.")])
    run_actions.retry(failed, mira)
    asyncio.run(perform(failed.pk, ScriptedModels()))
    cancelled = submitted(mira, "A road is to be moved.")
    run_actions.cancel(cancelled, mira)
    receipted = performed(mira, "A ferry is to be sold.")
    Receipt.objects.consume(Receipt.objects.issue(receipted, mira), mira, ExpectedReceipt(council=None))
    unusable = ["I approve.", "A mill 🏭 \u200b" * 400]  # a complaint comes after each of these, as far as it is shown
    noted = performed(mira, "A mill is to be built.", a=[*unusable, *["approve"] * 3])
    reviews.add_review(noted.run, mira, "Casper misread the plan.")
    reviews.add_review(noted.run, mira, "Not before spring.", Verdict.REJECTED)
    going_on = IdempotencyKey.objects.submit(
        Judgement.objects.submit, owner=mira, key="k", request_hash="0" * 64, **asked("A lock is to be kept.")
    )
    anchor = Checkpoint.objects.make()
    assert anchor
    return {
        "going_on": going_on.pk,
        "approved": approved.pk,
        "rejected": rejected.pk,
        "failed": failed.pk,
        "cancelled": cancelled.pk,
        "noted": noted.pk,
        "receipted": receipted.pk,
        "council": council.pk,
        "anchor": anchor.note,
        "mira": mira,
    }


def submitted(owner: User, content: str, **more: Any) -> Judgement:
    return Judgement.objects.submit(owner=owner, **asked(content), **more)


def asked(content: str) -> dict[str, Any]:
    return {"content": content, "agents": agents("openai/a", "openai/b", "openai/c")}


def performed(owner: User, content: str, council: Any = None, **script: list[Any]) -> Judgement:
    judgement, models = submitted(owner, content, council=council), ScriptedModels()
    for letter, answers in script.items():
        models.will(f"openai/{letter}", *answers)
    asyncio.run(perform(judgement.pk, models))
    return judgement
