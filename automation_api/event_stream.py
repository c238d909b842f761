"""The events of a session, as they happen; each has a number, by which a program goes on after the last that it has."""

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
from .messages import message_source


class SessionEventStream:
    """Of one program. `known`: the number of the last event that it has."""

    def __init__(self, credential: ApiCredential, matter: Project, known: int) -> None:
        self._credential, self._matter, self._known = credential, matter, known
        self._seen: dict[UUID, int] = {}
        self._going_on: list[UUID] = []
        self._user_id = credential.owner.get_username()

    def pieces(self) -> AsyncGenerator[str, None]:
        return follow_run(self._credential.owner, self._look)

    async def _look(self) -> FoundRun:
        now = await read_queued(self._revisions)
        if now is None:
            return FoundRun(last=True)
        if now == self._seen:
            return FoundRun()
        return await asyncio.to_thread(self._found)

    def _revisions(self) -> dict[UUID, int] | None:
        """Of the session's plans; None where it, or the right to see it, is there no more."""
        there = Project.objects.existing().filter(pk=self._matter.pk).exists()
        return self._now() if there and self._credential.holder() else None

    def _now(self) -> dict[UUID, int]:
        runs = Run.objects.filter(plan__matter=self._matter).only("pk", "revision", "status")
        self._going_on = [run.pk for run in runs if not run.is_ended]
        return {run.pk: run.revision for run in runs}

    def _found(self) -> FoundRun:
        try:
            events = self._told()
        finally:
            connection.close()
        self._known = max((number for number, _ in events), default=self._known)
        return FoundRun([_piece(number, one) for number, one in events], runs=self._going_on)

    @after_deadlock
    @transaction.atomic
    def _told(self) -> list[tuple[int, AutomationEvent]]:
        """What is new, by number. Who holds the matter has seen all that was numbered before."""
        Project.objects.select_for_update(no_key=True).get(pk=self._matter.pk)
        now = self._now()
        events = list(self._happened({pk for pk, revision in now.items() if self._seen.get(pk) != revision}))
        events.sort(key=lambda one: one.at)
        numbers = SentEvent.objects.numbers(self._matter, [(one.plan.pk, one.key) for one in events])
        numbered = sorted((numbers[one.plan.pk, one.key], index) for index, one in enumerate(events))
        new = [(number, events[index]) for number, index in numbered if number > self._known]
        SentGate.objects.note(self._credential.pk, message_source(one.said for _, one in new if one.said))
        self._seen = now
        return new

    def _happened(self, plans: Iterable[UUID]) -> Iterable[AutomationEvent]:
        found = Plan.objects.in_sessions(self._credential.owner, with_texts=True).filter(pk__in=list(plans))
        return (one for plan in found for one in events_of_plan(plan, self._user_id))


def _piece(number: int, one: AutomationEvent) -> str:
    return f"event: {one.name}\nid: {number}\ndata: {visible_json(one.data)}\n\n"
