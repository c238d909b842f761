"""Commands, their inputs and connections. Output is in the command's spool until it has ended."""

from django.db import models
from django.utils import timezone

from engine.ledger.immutability import ChangeRule, Immutable

OUTPUT_LENGTH = 400_000  # characters; the last ones are stored
HOST_LENGTH = 255


class Terminal(models.Model):
    """One command. Agents refer to it by `number`, which is never used again.

    spool: name of its folder
    size, digest: bytes and SHA-256 (hex) of its whole output
    """

    mission = models.ForeignKey("missions.Mission", on_delete=models.PROTECT, related_name="terminals")
    step = models.OneToOneField("missions.MissionStep", on_delete=models.PROTECT, related_name="terminal")
    number = models.PositiveSmallIntegerField()
    command = models.TextField(blank=True)
    spool = models.CharField(max_length=40)
    exit_code = models.IntegerField(null=True)
    reason = models.CharField(max_length=40, blank=True)
    seconds = models.PositiveIntegerField(null=True)
    size = models.PositiveBigIntegerField(null=True)
    digest = models.CharField(max_length=64, blank=True)
    output = models.TextField(blank=True)
    ended = models.DateTimeField(null=True)
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable(
        erased="command",
        rules=(
            ChangeRule(
                "ended",
                when="OLD.ended IS NOT NULL",
                kept="exit_code reason seconds size ended",
                erased="digest output",
            ),
        ),
        run="mission",
    )

    class Meta:
        ordering = ["number"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("mission", "number", name="one_terminal_of_a_number")]

    def __str__(self) -> str:
        return f"Terminal {self.number}"

    @property
    def is_running(self) -> bool:
        return self.ended is None


class TerminalInput(models.Model):
    """Input to a terminal, by an agent in its `step`, or by a person if that is None.

    The supervisor types each number once, however often it is sent.
    """

    terminal = models.ForeignKey(Terminal, on_delete=models.PROTECT, related_name="inputs")
    step = models.OneToOneField("missions.MissionStep", on_delete=models.PROTECT, null=True, related_name="input")
    by_name = models.CharField(max_length=150, blank=True)
    number = models.PositiveSmallIntegerField()
    text = models.TextField(blank=True)
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable(erased="text", run="terminal.mission")

    class Meta:
        ordering = ["number"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("terminal", "number", name="one_input_of_a_number")]

    def __str__(self) -> str:
        return f"Input {self.number} of {self.terminal}"


class TerminalConnection(models.Model):
    """A connection that a command with network requested; `allowed` if its host was approved.

    `sent` and `received` are bytes.
    """

    mission = models.ForeignKey("missions.Mission", on_delete=models.PROTECT, related_name="connections")
    terminal = models.ForeignKey(Terminal, on_delete=models.PROTECT, related_name="connections")
    number = models.PositiveIntegerField()
    host = models.CharField(max_length=HOST_LENGTH, blank=True)
    port = models.PositiveIntegerField()
    allowed = models.BooleanField()
    sent = models.PositiveBigIntegerField(default=0)
    received = models.PositiveBigIntegerField(default=0)
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable(erased="host", run="mission")

    class Meta:
        db_table = "missions_connection"
        ordering = ["pk"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("terminal", "number", name="one_connection_of_a_number")]

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"
