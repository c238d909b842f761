"""What somebody with the whole database could do to the record of a debate, and that each of it is found.

Every case changes the same honest debate and is rolled back. The attacker may lift the triggers.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from debates import moderation, procedure
from engine.audit.full_verification import verify_all
from engine.audit.verification import verify_one
from engine.ledger.checkpoints import Checkpoint
from engine.models import Run
from tests.conftest import perform, some_of
from tests.corpus.means import resign, retell
from tests.databases import tampering
from tests.debates.tampering import CASES, REWRITTEN
from tests.debates.test_procedure import OPTIONS
from tests.test_tampering import offline

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("read_once")]

VIEWS = ("methods and papers", "money and time", "the team that she leads", "what the law asks for")


@pytest.fixture(scope="module", autouse=True)
def history(django_db_setup: Callable[[], None], django_db_blocker: Any) -> Iterator[SimpleNamespace]:
    """A debate of four, rehearsed, in which the chair spoke, asked and gave more messages."""
    with django_db_blocker.unblock():
        debate = held(User.objects.create_user("mira-of-the-debates"))
        anchor = Checkpoint.objects.make()
        assert anchor
        yield SimpleNamespace(debate=debate, anchor=anchor.note)
        django_db_setup()


def held(mira: User) -> Any:
    members = [
        {"name": f"Member {n}", "who": f"Looks at {what}.", "model": "rehearsal/instant"}
        for n, what in enumerate(VIEWS, 1)
    ]
    known = {"question": "Shall we hire her to lead the laboratory?", "options": OPTIONS, "members": members}
    debate = procedure.submit(owner=mira, most=4, seed=bytes(32), word="tulips at noon", **known)
    moderation.post_message(debate.pk, mira, "Think of the costs.")
    moderation.post_message(debate.pk, mira, "And of the team.", to=2, ask=True)
    moderation.apply_steering(debate.pk, mira, "extend")
    run = asyncio.run(perform(debate.pk))
    assert run.status == Run.Status.FINISHED, run.error
    return debate.pk


def test_the_debate_itself_is_intact(history: SimpleNamespace, tmp_path: Any) -> None:
    assert verify_all(history.anchor).faults == []
    status, said = offline(history, tmp_path)
    assert status == 0, said


def after(names: Iterable[str], debate: UUID, look: Callable[[], Any]) -> dict[str, Any]:
    """What is seen after each of these cases, alone."""
    seen = {}
    with tampering():
        for name in names:
            with transaction.atomic():
                CASES[name](debate)
                seen[name] = look()
                transaction.set_rollback(True)
    return seen


def test_whatever_is_changed_is_found(history: SimpleNamespace) -> None:
    found = after(some_of(CASES, 30), history.debate, lambda: verify_one(history.debate)[2])
    assert [name for name, faults in found.items() if not faults] == []


def test_whose_record_it_is_is_said_inside_and_offline(history: SimpleNamespace, tmp_path: Any) -> None:
    found = after(
        some_of(CASES, 10), history.debate, lambda: (verify_all(history.anchor).faults, offline(history, tmp_path))
    )
    assert [name for name, (faults, _) in found.items() if [one.run for one in faults[:1]] != [history.debate]] == []
    told = f"record {history.debate}"
    assert [name for name, (_, (status, said)) in found.items() if not status or told not in said.lower()] == []


def test_with_all_hashes_right_it_is_doubted(history: SimpleNamespace) -> None:
    def told_anew() -> list[str]:
        retell(history.debate)
        resign()
        return [fault.text for fault in verify_one(history.debate)[2]]

    texts = after(REWRITTEN, history.debate, told_anew)
    assert {name: said for name, said in texts.items() if not re.search(REWRITTEN[name], "\n".join(said))} == {}
