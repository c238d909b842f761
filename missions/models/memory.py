"""What agents keep for themselves in a mission: their short-term memory, and summaries of what came before."""

from django.db import models
from django.utils import timezone

from engine.models import ModelCall


class ShortMemory(models.Model):
    """`by` is the number of the agent that wrote it."""

    mission = models.ForeignKey("missions.Mission", on_delete=models.PROTECT, related_name="short_memories")
    agent = models.ForeignKey("missions.Agent", on_delete=models.PROTECT, related_name="short_memories")
    version = models.PositiveSmallIntegerField()
    text = models.TextField(blank=True)
    by = models.PositiveSmallIntegerField()
    made = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("agent", "version", name="one_short_memory_of_a_version")]

    def __str__(self) -> str:
        return f"Short-term memory of {self.agent}, {self.version}"


class Summary(models.Model):
    """Stands for all steps of an agent up to `covers`. `dump`: the history that it was made from, as its prompt had it,
    and the SHA-256 of that. Without a call it failed, and nothing was left out."""

    mission = models.ForeignKey("missions.Mission", on_delete=models.PROTECT, related_name="summaries")
    agent = models.ForeignKey("missions.Agent", on_delete=models.PROTECT, related_name="summaries")
    covers = models.PositiveSmallIntegerField()
    text = models.TextField(blank=True)
    dump = models.TextField(blank=True)
    digest = models.CharField(max_length=64, blank=True)
    call = models.OneToOneField(ModelCall, on_delete=models.PROTECT, null=True, related_name="+")
    made = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"Summary of {self.agent} up to step {self.covers}"
