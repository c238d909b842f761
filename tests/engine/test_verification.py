"""An intact record is found intact; the corpus of what is not stands in test_tampering."""

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from engine.audit import sealing, verification
from engine.audit.full_verification import verify_all
from engine.ledger import hashing
from engine.ledger.checkpoints import Checkpoint, signed_notes
from engine.ledger.entries import AuditEntry
from engine.ledger.merkle_log import DigestSalt, LogLeaf
from engine.ledger.report import VerificationReport
from engine.llm.errors import Unauthorized
from engine.models import Run
from judgements.models import Judgement
from judgements.rules import Verdict
from runs import reviews, run_actions
from tests.conftest import ScriptedModels, perform
from tests.databases import tampering

pytestmark = pytest.mark.django_db


async def found(anchor: str | None = None) -> VerificationReport:
    return await sync_to_async(verify_all)(anchor)


def without_evidence() -> None:
    with tampering():
        for model in (DigestSalt, LogLeaf, AuditEntry):
            model.objects.all().delete()


async def kinds_of(judgement: Judgement) -> list[str]:
    return [entry.kind async for entry in AuditEntry.objects.filter(run=judgement.pk)]


async def test_what_is_asked_is_sealed_when_it_is_submitted(judgement: Judgement) -> None:
    assert await kinds_of(judgement) == ["submitted"]
    assert (await found()).faults == []
    assert await LogLeaf.objects.filter(run=judgement.pk).acount() == 1


async def test_a_judgement_that_ends_is_sealed_with_all_it_did(judgement: Judgement) -> None:
    await perform(judgement.pk, ScriptedModels())
    assert await kinds_of(judgement) == ["submitted", *["attempt"] * 9, "ended"]
    assert [leaf.seq async for leaf in LogLeaf.objects.filter(run=judgement.pk)] == [1, 11]


async def test_an_honest_record_raises_no_alarm(judgement: Judgement) -> None:
    await perform(judgement.pk, ScriptedModels())
    report = await found()
    assert (report.faults, report.runs, report.entries) == ([], 1, 11)


def test_what_seems_wrong_is_read_once_more(judgement: Judgement, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter(["Its rows changed while they were read.", ""])
    monkeypatch.setattr(verification, "_examine", lambda pk, said, kept: [(1, one, "") for one in [next(looks)] if one])
    assert verification.verify_one(judgement.pk)[2] == []
    assert next(looks, None) is None


async def test_a_failed_run_and_its_retry_are_one_chain(
    judgement: Judgement, mira: User, models: ScriptedModels
) -> None:
    models.will("openai/b", Unauthorized("The key was refused."))
    await perform(judgement.pk, models)
    await sync_to_async(run_actions.retry)(judgement, mira)
    assert (await found()).faults == []
    await perform(judgement.pk, models)
    assert await kinds_of(judgement) == ["submitted", *["attempt"] * 3, "ended", "retried", *["attempt"] * 7, "ended"]
    assert (await found()).faults == []


async def test_who_cancelled_is_in_the_record_and_stays_when_the_account_goes(judgement: Judgement, mira: User) -> None:
    await sync_to_async(run_actions.cancel)(judgement, mira)
    await mira.adelete()
    run = await Run.objects.aget(pk=judgement.pk)
    assert (run.owner_id, run.asked_by, run.cancelled_by_name) == (None, "mira", "mira")
    assert (await found()).faults == []


async def test_notes_and_overrides_follow_in_the_chain(judgement: Judgement, reviewer: User) -> None:
    await perform(judgement.pk, ScriptedModels())
    add = sync_to_async(reviews.add_review)
    await add(judgement.run, reviewer, "Balthasar misread the criteria.")
    await add(judgement.run, reviewer, "Not this week.", Verdict.REJECTED)
    assert (await kinds_of(judgement))[-2:] == ["note", "override"]
    assert (await found()).faults == []
    assert (await Run.objects.aget()).outcome == "approved"


async def test_a_judgement_under_way_is_no_problem_and_cannot_be_reviewed(judgement: Judgement, reviewer: User) -> None:
    with pytest.raises(ValueError, match="not over"):
        await sync_to_async(reviews.add_review)(judgement.run, reviewer, "Too early.")
    assert (await found()).faults == []


async def test_checkpoints_go_on_from_one_another(judgement: Judgement, mira: User) -> None:
    await perform(judgement.pk, ScriptedModels())
    first = await sync_to_async(Checkpoint.objects.make)()
    again = await sync_to_async(Checkpoint.objects.make)()
    await sync_to_async(reviews.add_review)(judgement.run, mira, "Seen.")
    second = await sync_to_async(Checkpoint.objects.make)()
    assert first == again
    assert (first.size, second.size) == (2, 3)
    leaves = [bytes.fromhex(leaf.hash) async for leaf in LogLeaf.objects.all()]
    peaks, _ = hashing.extend_peaks([], 0, leaves)
    assert signed_notes(second.note)[0].root == hashing.root(peaks)
    assert (await found(first.note + "\n" + second.note)).faults == []


async def test_what_ended_before_there_was_a_log_is_sealed_once(judgement: Judgement) -> None:
    await perform(judgement.pk, ScriptedModels())
    await sync_to_async(without_evidence)()
    adopt = sync_to_async(sealing.adopt_unsealed_runs)
    assert (await adopt(), await adopt()) == (1, 0)
    assert (await found()).faults == []
