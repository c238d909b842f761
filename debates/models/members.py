"""Who sits in a debate, and what its verdicts can be."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from ..rules import course as rules
from .values import MEANING_LENGTH, MOST_MEMBERS, NAME_LENGTH, WHO_LENGTH, WORD_LENGTH, Direction


class Option(models.Model):
    debate = models.ForeignKey("debates.Debate", on_delete=models.PROTECT, related_name="options")
    number = models.PositiveSmallIntegerField()
    word = models.CharField(max_length=WORD_LENGTH)
    meaning = models.CharField(max_length=MEANING_LENGTH, blank=True)
    direction = models.CharField(max_length=10, choices=Direction, default=Direction.BETWEEN)

    class Meta:
        default_permissions = ()
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["debate", "number"], name="option_number"),
            models.UniqueConstraint(fields=["debate", "word"], name="option_word"),
            models.CheckConstraint(name="option_direction", condition=Q(direction__in=Direction.values)),
        ]

    def __str__(self) -> str:
        return self.word


class Member(models.Model):
    """Somebody at the table; the timekeeper sits on seat 0."""

    debate = models.ForeignKey("debates.Debate", on_delete=models.PROTECT, related_name="members")
    seat = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=20, default=rules.Kind.MEMBER.value)
    name = models.CharField(max_length=NAME_LENGTH)
    who = models.TextField(max_length=WHO_LENGTH, blank=True)
    model = models.CharField(max_length=200, blank=True)
    fallback = models.CharField(max_length=200, blank=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="seats")
    user_name = models.CharField(max_length=150, blank=True)

    class Meta:
        default_permissions = ()
        ordering = ["seat"]
        constraints = [
            models.UniqueConstraint(fields=["debate", "seat"], name="member_seat"),
            models.UniqueConstraint(fields=["debate", "name"], name="member_name"),
            models.UniqueConstraint(fields=["debate", "user"], name="member_user"),
            models.CheckConstraint(name="member_seat_known", condition=Q(seat__lte=MOST_MEMBERS)),
            models.CheckConstraint(name="member_kind_known", condition=Q(kind__in=[str(kind) for kind in rules.TURNS])),
            models.CheckConstraint(
                name="member_is_somebody", condition=~Q(model="", user_name="") | Q(kind=rules.Kind.TIMEKEEPER.value)
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_person(self) -> bool:
        """Also once the account is gone."""
        return bool(self.user_name)
