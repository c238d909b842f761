"""Whom a single record was given: people with an account, by name or in a group; and the end of all ways to show it."""

from typing import Any, Self

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.utils import timezone

from .share_links import Badge, LinkView, Share

TO_LENGTH = 150


class AccessGrantQuerySet(models.QuerySet["Given"]):
    def active(self) -> Self:
        """What nobody has taken back, of texts that are still there, by somebody who still is. Whether they may still
        give it is not asked here."""
        return self.filter(ended=None, run__redacted=None, by__is_active=True).select_related("run", "by")

    def of(self, user: Any) -> Self:
        """What this person was given, by name or in one of its groups."""
        return self.filter(Q(user=user.pk) | Q(group__in=Group.objects.filter(user=user.pk).values("pk")))


class Given(models.Model):
    """One record that one person, or all of a group, may see. `to`: who that was, as they were called then."""

    run = models.ForeignKey("engine.Run", on_delete=models.CASCADE, related_name="given")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="given")
    group = models.ForeignKey("auth.Group", on_delete=models.CASCADE, null=True, related_name="+")
    to = models.CharField(max_length=TO_LENGTH)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    made = models.DateTimeField(default=timezone.now)
    ended = models.DateTimeField(null=True)

    objects = AccessGrantQuerySet.as_manager()

    class Meta:
        ordering = ["-made", "-pk"]
        default_permissions = ()
        constraints = [
            models.CheckConstraint(
                condition=Q(user=None, group__isnull=False) | Q(user__isnull=False, group=None), name="given_to_one"
            ),
            models.UniqueConstraint("run", "user", condition=Q(ended=None), name="given_once_to_a_person"),
            models.UniqueConstraint("run", "group", condition=Q(ended=None), name="given_once_to_a_group"),
        ]

    def __str__(self) -> str:
        return self.to

    @property
    def last_views(self) -> list["GivenLook"]:
        """The last one of each who has looked, newest first."""
        return list({look.user_id: look for look in sorted(self.looks.all(), key=lambda look: look.last)}.values())[
            ::-1
        ]

    def all_for_run(self) -> set[Any]:
        """Those whom it lets see the record, by their keys."""
        if self.group_id is None:
            return {self.user_id}
        return set(Group.objects.filter(pk=self.group_id).values_list("user", flat=True)) - {None}


class GivenLook(LinkView):
    """At a record, by somebody to whom it was given."""

    given = models.ForeignKey(Given, on_delete=models.CASCADE, related_name="looks")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")

    class Meta(LinkView.Meta):
        pass


def revoke_all_access(run: Any, *, names: bool) -> None:
    """Nobody is shown this run any more, and what somebody wrote of that is gone: for whom, and on badges. `names`: so
    is who showed it, and to which accounts."""
    for rows in (Share.objects, Badge.objects, Given.objects):
        rows.filter(run=run, ended=None).update(ended=timezone.now())
    Share.objects.filter(run=run).update(for_whom="")
    Badge.objects.filter(run=run).update(words="")
    if names:
        Share.objects.filter(run=run).update(by=None)
        Badge.objects.filter(run=run).update(by=None)
        Given.objects.filter(run=run).delete()
