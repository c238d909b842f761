"""How the matters of a person stand: whether work goes on in one, and what waits there for its owner."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync
from django.db.models import Prefetch

from engine.models import ACTIVE_STATUSES, Gate, Run
from engine.pubsub import publish_revision
from engine.text.search_terms import index_words
from runs import run_actions
from runs.models import SearchText, matching_runs
from runs.record import redaction
from runs.run_object import isoformat

from .models import Plan, Project
from .rules.approval_policy import ApprovalKind

MOST = 100  # that are told at once, the newest


def projects_of(user: Any, *, closed: bool = False) -> list[Project]:
    """Newest first; those that are closed only where they are asked for."""
    there = Project.objects.existing().filter(owner=user).order_by("-created")
    return list((there if closed else there.filter(closed=None))[:MOST])


def project_summaries(matters: Sequence[Project]) -> Iterator[dict[str, Any]]:
    plans = plans_of_projects(matters)
    return (project_fields(matter, plans[matter.pk]) for matter in matters)


def plans_of_projects(matters: Sequence[Project]) -> dict[UUID, list[Plan]]:
    """Of their owner, newest first, each with its gates."""
    gates = Prefetch("run__gates", Gate.objects.prefetch_related("decisions").order_by("pk"))
    rows = Plan.objects.filter(matter__in=matters).select_related("run", "matter").prefetch_related(gates)
    found: dict[UUID, list[Plan]] = defaultdict(list)
    for plan in rows.order_by("-run__created", "-pk"):
        if plan.matter and plan.run.owner_id == plan.matter.owner_id:
            found[plan.matter.pk].append(plan)
    return found


def project_fields(matter: Project, plans: Sequence[Plan]) -> dict[str, Any]:
    """`plans`: all of it, newest first."""
    return {
        "id": str(matter.pk),
        "name": matter.name,
        "title": matter.title or (plans[-1].run.title if plans else matter.name),
        "current_status": "active" if any(map(_goes_on, plans)) else "completed",
        "message_to_user": waiting_text(plans),
        "ts": isoformat(matter.created),
        "closed": matter.closed is not None,
    }


def waiting_text(plans: Sequence[Plan]) -> str | None:
    """The newest sentence that waits for them."""
    waiting = [gate for plan in filter(_goes_on, plans) for gate in plan.run.gates.all() if _waits(gate)]
    newest = max(waiting, key=lambda gate: gate.pk, default=None)
    if newest is None:
        return None
    return newest.text if newest.kind in (ApprovalKind.QUESTION, ApprovalKind.SEAT) else newest.title


def _goes_on(plan: Plan) -> bool:
    return plan.run.status in ACTIVE_STATUSES


def _waits(gate: Gate) -> bool:
    return gate.pending and gate.needs_people


MAX_SUGGESTIONS = 3
LEAST_LETTERS, LEAST_SHARED = 4, 2
MOST_WORDS, MOST_LOOKED_AT = 40, 200


def similar_plans(owner: Any, task: str) -> list[Plan]:
    """Of this person, those with most words in common first, the newest of equal ones."""
    words = set(islice((word for word in index_words(task) if len(word) >= LEAST_LETTERS), MOST_WORDS))
    if len(words) < LEAST_SHARED:
        return []
    rows = matching_runs(Plan.objects.completed(owner), [sorted(words)], few=True)
    newest = list(rows.order_by("-run__created")[:MOST_LOOKED_AT])
    shared = _shared(newest, words)
    close = [plan for plan in newest if shared.get(plan.pk, 0) >= LEAST_SHARED]
    return sorted(close, key=lambda plan: -shared[plan.pk])[:MAX_SUGGESTIONS]


def _shared(plans: list[Plan], words: set[str]) -> dict[Any, int]:
    texts = SearchText.objects.filter(run__in=[plan.pk for plan in plans]).values_list("run", "words")
    return {run: len(words & set(text.split())) for run, text in texts}


REASON = "Its owner has deleted all of their sessions."
AT_ONCE = 100


def delete_projects_of(owner: Any) -> tuple[int, int]:
    """How many plans were erased, and how many are still to be."""
    Project.objects.delete_for_owner(owner)
    own = Plan.objects.in_deleted_projects().filter(matter__owner=owner)
    count = own.count()
    erase_deleted_projects()
    left = own.count()
    return count - left, left


def erase_deleted_projects() -> bool:
    """Some of what was taken away, each in a transaction of its own; whether there is more."""
    found = list(Plan.objects.in_deleted_projects()[: AT_ONCE + 1])
    for plan in found[:AT_ONCE]:
        _erase(plan)
    if found:
        redaction.wipe_database_files()
    return len(found) > AT_ONCE


def _erase(plan: Plan) -> None:
    """With all that it has caused: they were shown the same texts."""
    run_actions.cancel(plan, plan.run.owner)
    for pk in (*Run.objects.descendants_of(plan.pk), plan.pk):
        with suppress(ValueError):  # it had failed, and is tried again just now
            redaction.redact_run(pk, plan.run.asked_by, REASON, once=True)
        async_to_sync(publish_revision)(pk)
