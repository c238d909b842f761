"""Short-term memories of agents, and summaries of their older steps."""

from typing import TYPE_CHECKING

from django.db import models
from django.utils import timezone

from engine.ledger.immutability import Immutable
from engine.models import ModelCall

if TYPE_CHECKING:
    from .missions import Mission

OUTCOME_TEXT = "The mission before came to this: {result}"


class ShortTermMemory(models.Model):
    """One version of an agent's short-term memory. `by` is the number of the agent that wrote it."""

    mission = models.ForeignKey("missions.Mission", on_delete=models.PROTECT, related_name="short_memories")
    agent = models.ForeignKey("missions.MissionAgent", on_delete=models.PROTECT, related_name="short_memories")
    version = models.PositiveSmallIntegerField()
    text = models.TextField(blank=True)
    by = models.PositiveSmallIntegerField()
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable(erased="text", run="mission")

    class Meta:
        db_table = "missions_shortmemory"
        ordering = ["pk"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("agent", "version", name="one_short_memory_of_a_version")]

    def __str__(self) -> str:
        return f"Short-term memory of {self.agent}, {self.version}"


class HistorySummary(models.Model):
    """Replaces all steps of an agent up to `covers` in its prompts.

    `dump` is the summarised history as the prompt had it, `digest` its SHA-256 (hex). Without a call, the summary came
    from an earlier mission, or it failed and has no text; a failed one replaces nothing.
    """

    mission = models.ForeignKey("missions.Mission", on_delete=models.PROTECT, related_name="summaries")
    agent = models.ForeignKey("missions.MissionAgent", on_delete=models.PROTECT, related_name="summaries")
    covers = models.PositiveSmallIntegerField()
    text = models.TextField(blank=True)
    dump = models.TextField(blank=True)
    digest = models.CharField(max_length=64, blank=True)
    call = models.OneToOneField(ModelCall, on_delete=models.PROTECT, null=True, related_name="+")
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable(erased="text dump digest", run="mission")

    class Meta:
        db_table = "missions_summary"
        ordering = ["pk"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"Summary of {self.agent} up to step {self.covers}"

    @property
    def holds(self) -> bool:
        return bool(self.call_id or self.text)


def carry_over_memory(before: "Mission", mission: "Mission") -> None:
    """Copy short-term memories and summaries of an earlier mission to agents of the same names.

    The coordinator also gets its result.
    """
    earlier = {one.folded: one for one in before.agents.all()}
    for agent in mission.agents.all():
        one = earlier.get(agent.folded)
        if one and (kept := one.short_memories.order_by("version").last()) and kept.text:
            ShortTermMemory.objects.create(mission=mission, agent=agent, version=1, text=kept.text, by=agent.number)
        made = one.summaries.exclude(text="").last() if one else None
        said = [made.text if made else "", OUTCOME_TEXT.format(result=before.result) if agent.coordinates else ""]
        if text := "\n\n".join(filter(None, said if before.result else said[:1])):
            HistorySummary.objects.create(mission=mission, agent=agent, covers=0, text=text)
