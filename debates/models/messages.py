"""Rows of a debate's events: first verdicts, turns, messages with their points, and acts of people."""

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from engine.ledger.immutability import ChangeRule, Immutable
from engine.models import ModelCall

from ..rules import state as rules
from .constants import WORD_LENGTH
from .debates import Debate, DebateKeys, DebateMember, DebateOption, may_go_on

CONTENT_LENGTH = 4_000
CLAIM_LENGTH = 200


class StatedVerdict(models.Model):
    """A verdict, an abstention, or neither."""

    verdict = models.ForeignKey(DebateOption, on_delete=models.PROTECT, null=True, related_name="+")
    abstained = models.BooleanField(default=False)
    reasoning = models.TextField(blank=True)

    class Meta:
        abstract = True

    def said_in(self, debate: Debate | DebateKeys) -> str:
        """Return an option's word, ABSTAIN, or empty if nothing was stated."""
        return rules.ABSTAIN if self.abstained else debate.words.get(self.verdict_id or 0, "")


class FirstVerdict(StatedVerdict):
    """A member's verdict before the debate. `missing`: why there is none."""

    member = models.OneToOneField(DebateMember, on_delete=models.PROTECT, related_name="first")
    confidence = models.PositiveSmallIntegerField(null=True)
    missing = models.CharField(max_length=20, blank=True)
    call = models.OneToOneField(ModelCall, on_delete=models.PROTECT, null=True, related_name="+")
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable(erased="reasoning", run="member.debate")

    class Meta:
        default_permissions = ()
        constraints = [
            models.CheckConstraint(
                name="first_verdict_or_missing", condition=Q(verdict__isnull=False) | Q(abstained=True) | ~Q(missing="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.member}, alone"

    @property
    def stated(self) -> str:
        if self.abstained:
            return rules.ABSTAIN
        return self.verdict.word if self.verdict else ""


class DebateTurn(models.Model):
    """The floor, given to one member. `after`: the newest message at that time; `weights` in the order of the
    seats."""

    debate = models.ForeignKey(Debate, on_delete=models.PROTECT, related_name="turns")
    number = models.PositiveSmallIntegerField()
    member = models.ForeignKey(DebateMember, on_delete=models.PROTECT, related_name="turns")
    why = models.CharField(max_length=20)
    after = models.PositiveSmallIntegerField(default=0)
    asked_by = models.PositiveSmallIntegerField(null=True)
    steer = models.PositiveSmallIntegerField(null=True)
    weights = models.JSONField(default=list)
    ticket = models.PositiveIntegerField(null=True)
    series = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(max_length=10, default=rules.MemberStatus.OPEN.value)
    reason_skipped = models.TextField(blank=True)
    made = models.DateTimeField(default=timezone.now)
    closed = models.DateTimeField(null=True)
    immutable = Immutable(
        rules=(ChangeRule("closed", when="OLD.state <> 'open'", kept="state closed", erased="reason_skipped"),),
        run="debate",
    )

    class Meta:
        db_table = "debates_turn"
        default_permissions = ()
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["debate", "number"], name="turn_number"),
            models.UniqueConstraint(
                fields=["debate"],
                condition=Q(state=rules.MemberStatus.OPEN.value) & ~Q(why=rules.TurnReason.CLOSING.value),
                name="turn_one_open",
            ),
            models.CheckConstraint(
                name="turn_drawn", condition=~Q(why__in=[str(why) for why in rules.DRAWN]) | Q(ticket__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"Turn {self.number}"

    @property
    def step(self) -> str:
        return f"turn-{self.number}"

    @property
    def total(self) -> int:
        return sum(share for _, share in self.weights)

    def seen(self, keys: DebateKeys) -> rules.TurnState:
        return rules.TurnState(
            number=self.number,
            seat=keys.seats.get(self.member_id or 0) or 0,
            why=self.why,
            after=self.after,
            state=self.state,
            series=self.series,
            steer=self.steer,
            asked_by=self.asked_by,
            weights=tuple((seat, share) for seat, share in self.weights),
            ticket=self.ticket,
        )


class DebateMessageQuerySet(models.QuerySet["DebateMessage"]):
    def with_entry_rows(self) -> "DebateMessageQuerySet":
        """Return the messages that everyone may read by now: while a person has a last word to give, all last words
        are hidden."""
        closing = {"why": rules.TurnReason.CLOSING, "state": rules.MemberStatus.OPEN}
        awaited = DebateTurn.objects.filter(may_go_on("debate__run__"), debate=OuterRef("debate"), **closing)
        return self.exclude(Exists(awaited.filter(member__user_name__gt="")), kind=rules.StatementKind.CLOSING)


class DebateMessage(StatedVerdict):
    """A message. `number` counts all messages, `clock` only those of members; `heard`: the newest message that its
    speaker had read; `claim`: the claim of the run that wrote a note; `request`: a digest of the form's key,
    empty without one; `names_option`: the chair named an option."""

    debate = models.ForeignKey(Debate, on_delete=models.PROTECT, related_name="messages")
    number = models.PositiveSmallIntegerField()
    clock = models.PositiveSmallIntegerField(null=True)
    kind = models.CharField(max_length=10)
    turn = models.OneToOneField(DebateTurn, on_delete=models.PROTECT, null=True, related_name="message")
    member = models.ForeignKey(DebateMember, on_delete=models.PROTECT, null=True, related_name="messages")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    by_name = models.CharField(max_length=150, blank=True)
    note = models.CharField(max_length=10, blank=True)
    after = models.PositiveSmallIntegerField(null=True)
    facts = models.JSONField(null=True)
    claim = models.PositiveIntegerField(default=0)
    speaking_to = models.JSONField(default=list)
    expects_answer = models.BooleanField(default=False)
    content = models.TextField(blank=True)
    artifact = models.TextField(blank=True)  # as JSON; a text, so that it can be erased
    moved_by = models.JSONField(default=list)
    withdrawn = models.BooleanField(default=False)
    continues = models.PositiveSmallIntegerField(null=True)
    heard = models.PositiveSmallIntegerField(default=0)
    cut = models.BooleanField(default=False)
    calls = models.JSONField(default=list)
    names_option = models.BooleanField(default=False)
    request = models.CharField(max_length=64, blank=True)
    made = models.DateTimeField(default=timezone.now)

    objects = DebateMessageQuerySet.as_manager()
    immutable = Immutable(unlinked="by", erased="reasoning content artifact request", run="debate")

    class Meta:
        db_table = "debates_message"
        default_permissions = ()
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["debate", "number"], name="message_number"),
            models.UniqueConstraint(fields=["debate", "clock"], name="message_clock"),
            models.UniqueConstraint(fields=["debate", "continues"], name="message_continues"),
            models.UniqueConstraint(fields=["debate", "request"], condition=~Q(request=""), name="message_request"),
            models.UniqueConstraint(
                fields=["debate", "after"], condition=Q(kind=rules.StatementKind.NOTE.value), name="message_one_note"
            ),
            models.CheckConstraint(
                name="message_of_somebody",
                condition=(
                    Q(kind__in=["said", "closing"], turn__isnull=False, member__isnull=False)
                    | (Q(kind="chair") & ~Q(by_name=""))
                    | (Q(kind="leaving", turn__isnull=True, member__isnull=False, withdrawn=True) & ~Q(by_name=""))
                    | (Q(kind="note", after__isnull=False) & ~Q(note=""))
                ),
            ),
            models.CheckConstraint(
                name="message_part_two",
                condition=Q(continues__isnull=True) | Q(continues=F("number") - 1, clock__isnull=True),
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"Message {self.number}"

    def seen(self, keys: DebateKeys) -> rules.MessageState:
        return rules.MessageState(
            number=self.number,
            sort=self.kind,
            seat=keys.seats.get(self.member_id or 0),
            clock=self.clock,
            to=tuple(self.speaking_to),
            wants_answer=self.expects_answer,
            verdict=self.said_in(keys),
            moved_by=tuple(self.moved_by),
            withdrawn=self.withdrawn,
            continues=self.continues,
            turn=keys.turns.get(self.turn_id or 0),
            note=self.note,
            after=self.after,
            claim=self.claim,
        )


class MessagePoint(models.Model):
    """One claim of a message, with its source. `document` is its number; `answers` as in "12.1"."""

    message = models.ForeignKey(DebateMessage, on_delete=models.PROTECT, related_name="points")
    number = models.PositiveSmallIntegerField()
    claim = models.CharField(max_length=CLAIM_LENGTH, blank=True)
    option = models.CharField(max_length=WORD_LENGTH, blank=True)
    side = models.CharField(max_length=10)
    document = models.CharField(max_length=4, blank=True)
    line = models.PositiveIntegerField(null=True)
    answers = models.CharField(max_length=10, blank=True)
    immutable = Immutable(erased="claim", run="message.debate")

    class Meta:
        db_table = "debates_point"
        default_permissions = ()
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["message", "number"], name="point_number")]

    def __str__(self) -> str:
        return f"{self.message.number}.{self.number}"


class SteeringAction(StatedVerdict):
    """An act of a person: see `rules.SteeringKind`. `done`: when it was carried out, if that takes something more."""

    debate = models.ForeignKey(Debate, on_delete=models.PROTECT, related_name="steers")
    number = models.PositiveSmallIntegerField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    by_name = models.CharField(max_length=150)
    act = models.CharField(max_length=20)
    member = models.ForeignKey(DebateMember, on_delete=models.PROTECT, null=True, related_name="+")
    amount = models.PositiveSmallIntegerField(default=0)
    after = models.PositiveSmallIntegerField(default=0)
    text = models.TextField(blank=True)
    request = models.CharField(max_length=64, blank=True)
    made = models.DateTimeField(default=timezone.now)
    done = models.DateTimeField(null=True)
    immutable = Immutable(once="done", unlinked="by", erased="reasoning text request", run="debate")

    class Meta:
        db_table = "debates_steer"
        default_permissions = ()
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["debate", "number"], name="steer_number"),
            models.UniqueConstraint(fields=["debate", "request"], condition=~Q(request=""), name="steer_request"),
            models.CheckConstraint(name="steer_known", condition=Q(act__in=[str(act) for act in rules.SteeringKind])),
        ]

    def __str__(self) -> str:
        return f"{self.act} by {self.by_name}"

    def seen(self, keys: DebateKeys) -> rules.SteeringState:
        return rules.SteeringState(
            number=self.number,
            act=self.act,
            seat=keys.seats.get(self.member_id or 0),
            amount=self.amount,
            verdict=self.said_in(keys),
            done=self.done is not None,
            after=self.after,
        )
