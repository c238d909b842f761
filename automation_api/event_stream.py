"""Server-sent events of a session. Each has a number, so that a client can resume after the last one it has."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from uuid import UUID

from django.db import connection, transaction

from engine.models import Run, after_deadlock
from engine.text.invisible_chars import visible_json
from plans.models import Plan, Project, SentEvent, SentGate
from runs.api.scopes import ApiCredential
from runs.api.waiting import FoundRun, follow_run, read_queued

from .events import AutomationEvent, events_of_plan
from .messages import gates_in_messages


class SessionEventStream:
    """Stream to one client. `known`: number of the last event that it has."""

    def __init__(self, credential: ApiCredential, matter: Project, known: int) -> None:
        self._credential, self._matter, self._known = credential, matter, known
        self._seen: dict[UUID, int] = {}
        self._going_on: list[UUID] = []
        self._user_id = credential.owner.get_username()

    def pieces(self) -> AsyncGenerator[str, None]:
        return follow_run(self._credential.owner, self._poll)

    async def _poll(self) -> FoundRun:
        now = await read_queued(self._revisions)
        if now is None:
            return FoundRun(last=True)
        if now == self._seen:
            return FoundRun()
        return await asyncio.to_thread(self._found)

    def _revisions(self) -> dict[UUID, int] | None:
        """Return the revisions of the session's runs; None if the session was deleted or the token is no longer
        valid."""
        there = Project.objects.existing().filter(pk=self._matter.pk).exists()
        return self._now() if there and self._credential.holder() else None

    def _now(self) -> dict[UUID, int]:
        runs = Run.objects.filter(plan__matter=self._matter).only("pk", "revision", "status")
        self._going_on = [run.pk for run in runs if not run.is_ended]
        return {run.pk: run.revision for run in runs}

    def _found(self) -> FoundRun:
        try:
            events = self._new_events()
        finally:
            connection.close()
        self._known = max((number for number, _ in events), default=self._known)
        return FoundRun([_piece(number, one) for number, one in events], runs=self._going_on)

    @after_deadlock
    @transaction.atomic
    def _new_events(self) -> list[tuple[int, AutomationEvent]]:
        """Return new events with their numbers. The lock on the project makes sure that numbers follow the order in
        which clients see events."""
        Project.objects.select_for_update(no_key=True).get(pk=self._matter.pk)
        now = self._now()
        events = list(self._happened({pk for pk, revision in now.items() if self._seen.get(pk) != revision}))
        events.sort(key=lambda one: one.at)
        numbers = SentEvent.objects.numbers(self._matter, [(one.plan.pk, one.key) for one in events])
        numbered = sorted((numbers[one.plan.pk, one.key], index) for index, one in enumerate(events))
        new = [(number, events[index]) for number, index in numbered if number > self._known]
        SentGate.objects.note(self._credential.pk, gates_in_messages(one.message for _, one in new if one.message))
        self._seen = now
        return new

    def _happened(self, plans: Iterable[UUID]) -> Iterable[AutomationEvent]:
        found = Plan.objects.in_sessions(self._credential.owner, with_texts=True).filter(pk__in=list(plans))
        return (one for plan in found for one in events_of_plan(plan, self._user_id))


def _piece(number: int, one: AutomationEvent) -> str:
    return f"event: {one.name}\nid: {number}\ndata: {visible_json(one.data)}\n\n"
