"""Judgements of the past, and the list of them."""

from datetime import UTC, datetime, timedelta

from engine.models import Run
from judgements.models import Judgement
from runs.history import query
from runs.procedure.spec import specs
from tests.conftest import agents, submitted_at
from tests.judgements.test_search import decide

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def History(user, sought):
    return query.RunHistory(user, sought, face=specs()["judgement"])


def submit(owner, title, *, minute=0, start=NOON, status="queued", council=None):
    moment = start + timedelta(minutes=minute)
    values = {"content": f"About {title}.", "agents": council.agents() if council else agents(), "council": council}
    with submitted_at(moment):
        judgement = Judgement.objects.submit(owner=owner, title=title, **values)
    changed = {"status": status}
    if status in ("finished", "failed", "cancelled"):
        changed |= {"started": moment, "ended": moment + timedelta(seconds=48)}
    Run.objects.filter(pk=judgement.pk).update(**changed)
    judgement.run.refresh_from_db()
    return judgement


def judged(owner, title, votes="AAR", **more):
    judgement = submit(owner, title, status="finished", **more)
    for seat, vote in zip("ABC", votes, strict=True):
        for number in (1, 2, 3):
            decide(judgement, seat, number, f"Reason of {seat}.", "approve" if vote == "A" else "reject")
    judgement.conclude()
    return judgement


def titles(user, **sought):
    return [row.title for row in History(user, sought).page().rows]


def many(owner, number):
    """The oldest first, two in each minute."""
    return [submit(owner, f"number {n}", minute=n // 2) for n in range(number)]
