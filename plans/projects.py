"""Status of projects, similar earlier plans, and deletion of a person's projects."""

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

MOST = 100  # newest projects of a list, newest plans of a project's page


def projects_of(user: Any, *, closed: bool = False) -> list[Project]:
    """Return the user's projects, newest first, at most MOST; `closed` adds closed ones."""
    there = Project.objects.existing().filter(owner=user).order_by("-created")
    return list((there if closed else there.filter(closed=None))[:MOST])


def project_summaries(matters: Sequence[Project]) -> Iterator[dict[str, Any]]:
    plans = plans_of_projects(matters)
    return (project_fields(matter, plans[matter.pk]) for matter in matters)


def plans_of_projects(matters: Sequence[Project]) -> dict[UUID, list[Plan]]:
    """Return the plans of each project, newest first, with gates. Plans of others than its owner are left out."""
    gates = Prefetch("run__gates", Gate.objects.prefetch_related("decisions").order_by("pk"))
    rows = Plan.objects.filter(matter__in=matters).select_related("run", "matter").prefetch_related(gates)
    found: dict[UUID, list[Plan]] = defaultdict(list)
    for plan in rows.order_by("-run__created", "-pk"):
        if plan.matter and plan.run.owner_id == plan.matter.owner_id:
            found[plan.matter.pk].append(plan)
    return found


def project_fields(matter: Project, plans: Sequence[Plan]) -> dict[str, Any]:
    """Return the project as the API gives it; `plans`: all its plans, newest first."""
    return {
        "id": str(matter.pk),
        "name": matter.name,
        "title": matter.title or (plans[-1].run.title if plans else matter.name),
        "current_status": "active" if any(map(_is_active, plans)) else "completed",
        "message_to_user": waiting_text(plans),
        "ts": isoformat(matter.created),
        "closed": matter.closed is not None,
    }


def waiting_text(plans: Sequence[Plan]) -> str | None:
    """Return the text of the newest gate that waits for a person; None if there is none."""
    waiting = [gate for plan in filter(_is_active, plans) for gate in plan.run.gates.all() if _waits(gate)]
    newest = max(waiting, key=lambda gate: gate.pk, default=None)
    if newest is None:
        return None
    return newest.text if newest.kind in (ApprovalKind.QUESTION, ApprovalKind.SEAT) else newest.title


def _is_active(plan: Plan) -> bool:
    return plan.run.status in ACTIVE_STATUSES


def _waits(gate: Gate) -> bool:
    return gate.pending and gate.needs_people


MAX_SUGGESTIONS = 3
MIN_WORD_LENGTH, MIN_SHARED_WORDS = 4, 2
MAX_WORDS, MAX_COMPARED_PLANS = 40, 200


def similar_plans(owner: Any, task: str) -> list[Plan]:
    """Return the owner's completed plans that share most words with the task; newer ones first if equal."""
    words = set(islice((word for word in index_words(task) if len(word) >= MIN_WORD_LENGTH), MAX_WORDS))
    if len(words) < MIN_SHARED_WORDS:
        return []
    rows = matching_runs(Plan.objects.completed(owner), [sorted(words)], few=True)
    newest = list(rows.order_by("-run__created")[:MAX_COMPARED_PLANS])
    shared = _shared(newest, words)
    close = [plan for plan in newest if shared.get(plan.pk, 0) >= MIN_SHARED_WORDS]
    return sorted(close, key=lambda plan: -shared[plan.pk])[:MAX_SUGGESTIONS]


def _shared(plans: list[Plan], words: set[str]) -> dict[Any, int]:
    texts = SearchText.objects.filter(run__in=[plan.pk for plan in plans]).values_list("run", "words")
    return {run: len(words & set(text.split())) for run, text in texts}


REASON = "Its owner has deleted all of their sessions."
ERASURE_BATCH = 100  # plans


def delete_projects_of(owner: Any) -> tuple[int, int]:
    """Delete all projects of the owner; return how many plans were erased, and how many a worker will erase later."""
    Project.objects.delete_for_owner(owner)
    own = Plan.objects.in_deleted_projects().filter(matter__owner=owner)
    count = own.count()
    erase_deleted_projects()
    left = own.count()
    return count - left, left


def erase_deleted_projects() -> bool:
    """Erase a batch of plans of deleted projects, each in a transaction of its own; return whether there are more."""
    found = list(Plan.objects.in_deleted_projects()[: ERASURE_BATCH + 1])
    for plan in found[:ERASURE_BATCH]:
        _erase(plan)
    if found:
        redaction.wipe_database_files()
    return len(found) > ERASURE_BATCH


def _erase(plan: Plan) -> None:
    """Cancel and redact a plan and the runs that it started: they were shown the same texts."""
    run_actions.cancel(plan, plan.run.owner)
    for pk in (*Run.objects.descendants_of(plan.pk), plan.pk):
        with suppress(ValueError):  # the run had failed and is being retried
            redaction.redact_run(pk, plan.run.asked_by, REASON, once=True)
        async_to_sync(publish_revision)(pk)
