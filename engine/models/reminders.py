"""Who is told again that something waits, and how often.

Why so: engine/DESIGN.md, Gates.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_backends, get_user_model
from django.db import IntegrityError, models, transaction
from django.db.models import Exists, OuterRef

from .emails import Letter
from .gates import DECIDE_PERMISSION, Gate, ordered_gates

DAYS = (1, 3, 7)  # for which a gate has waited when who is asked is told again
SHORT_DEADLINE = timedelta(
    days=2
)  # who has less time is told again when half of it is over: the first day may be all there is
HALF_OVER = 0  # of the time of such a gate, where others have days
REMIND_BATCH = 500  # so many rows in one write


class ReminderQuerySet(models.QuerySet["Reminder"]):
    def remind(self, now: datetime) -> int:
        """Note of each gate that persons are asked at that it is time; of many who note it at once one does. What
        became due while nobody looked is one reminder."""
        later = (*DAYS[1:], None)
        due = [(days, gate) for days, end in zip(DAYS, later, strict=True) for gate in self._due(days, end, now)]
        due += [(HALF_OVER, gate) for gate in self._half_over(now)]
        made = [Reminder(gate_id=gate, days=days, made=now) for days, gate in due]
        Reminder.objects.bulk_create(made, ignore_conflicts=True)
        return len(made)

    def _due(self, days: int, end: int | None, now: datetime) -> Sequence[int]:
        said = self.filter(gate=OuterRef("pk"), days__gte=days)
        gates = Gate.objects.pending().asking_persons().filter(made__lte=now - timedelta(days=days))
        if end:
            gates = gates.filter(made__gt=now - timedelta(days=end))
        return list(gates.exclude(Exists(said)).order_by("pk").values_list("pk", flat=True)[:REMIND_BATCH])

    def _half_over(self, now: datetime) -> Iterable[int]:
        said = self.filter(gate=OuterRef("pk"))
        gates = (
            Gate.objects.pending()
            .asking_persons()
            .filter(made__gt=now - SHORT_DEADLINE, expires__lte=now + SHORT_DEADLINE / 2)
        )
        short = gates.exclude(Exists(said)).values_list("pk", "made", "expires")
        ends = ((pk, made, expires) for pk, made, expires in short if expires)
        return [pk for pk, made, expires in ends if expires - made < SHORT_DEADLINE and now - made >= expires - now]

    def asked(self) -> set[int]:
        """Who may have to say something where there was a reminder, by their keys."""
        pending = self.filter(gate__in=Gate.objects.pending()).order_by()
        paths = ("gate__asked_user", "gate__asked_group__user", "gate__run__owner")
        found = {who for path in paths for who in pending.values_list(path, flat=True).distinct()} - {None}
        for_all = pending.filter(gate__asked="", gate__policy__four_eyes=True).exists()
        return found | (_who_decide_for_all() if for_all else set())


def _who_decide_for_all() -> set[int]:
    backends = [one for one in get_backends() if hasattr(one, "with_perm")]
    return {pk for one in backends for pk in one.with_perm(DECIDE_PERMISSION).values_list("pk", flat=True)}


class Reminder(models.Model):
    """A gate has waited for so many days, or half of its time (`HALF`), and who is asked there was told so."""

    gate = models.ForeignKey(Gate, on_delete=models.CASCADE, related_name="reminders")
    days = models.PositiveSmallIntegerField()
    made = models.DateTimeField()

    objects = ReminderQuerySet.as_manager()
    immutable = None

    class Meta:
        ordering = ["pk"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["gate", "days"], name="one_reminder_of_a_gate")]

    def __str__(self) -> str:
        return f"gate {self.gate_id} after {self.days} days"


class ReminderEmailQuerySet(models.QuerySet["Notice"]):
    def due(self, now: datetime) -> Iterable[tuple[Any, list[Gate]]]:
        """To whom a letter is to be written today, with what waits for them, the most urgent first."""
        for user in _by_mail(Reminder.objects.asked()).exclude(notices__day=now.date()):
            waits = Gate.objects.for_user(user)
            told = self.filter(user=user).values("reminders")
            if Reminder.objects.filter(gate__in=waits.values("pk")).exclude(pk__in=told).exists():
                yield user, list(ordered_gates(waits.prefetch_related("reminders")))

    def write(self, user: Any, now: datetime, gates: Sequence[Gate], subject: str, text: str) -> "Notice | None":
        """Put it into the outbox, unless somebody else has done so today."""
        try:
            with transaction.atomic():
                letter = Letter.objects.write(Letter.State.TO_SEND, None, [user.email], subject, text)
                notice = self.create(user=user, day=now.date(), letter=letter)
                notice.gates.set(gates)
                notice.reminders.set([one for gate in gates for one in gate.reminders.all()])
        except IntegrityError:
            return None
        return notice


def _by_mail(users: Iterable[int]) -> models.QuerySet[Any]:
    told = get_user_model().objects.filter(pk__in=list(users), is_active=True).exclude(email="")
    return told.exclude(pk__in=EmailOptOut.objects.values("user")).order_by("pk")


class Notice(models.Model):
    """The letter of one day to one person about what waits for them: it names these gates, and was written for these
    reminders. It goes when the texts of one of these runs are erased, for it has their titles."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notices")
    day = models.DateField()
    letter = models.OneToOneField(Letter, on_delete=models.PROTECT, related_name="notice")
    gates = models.ManyToManyField(Gate, related_name="+")
    reminders = models.ManyToManyField(Reminder, related_name="+")

    objects = ReminderEmailQuerySet.as_manager()
    immutable = None

    class Meta:
        ordering = ["pk"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["user", "day"], name="one_notice_a_day")]

    def __str__(self) -> str:
        return f"notice of {self.day}"


class EmailOptOut(models.Model):
    """Whoever is here wants no letters about what waits."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="no_mail"
    )
    immutable = None

    class Meta:
        db_table = "engine_nomail"
        default_permissions = ()

    def __str__(self) -> str:
        return f"no mail to {self.user_id}"
