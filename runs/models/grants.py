"""Access to a single record for users with an account, by name or by group; and revoking all access."""

from typing import Any, Self

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.utils import timezone

from .share_links import BadgeLink, LinkView, ShareLink

TO_LENGTH = 150


class AccessGrantQuerySet(models.QuerySet["AccessGrant"]):
    def active(self) -> Self:
        """Return grants that are not revoked, whose run is not redacted and whose giver is active.

        Whether the giver may still grant access is not checked here; see `runs.rights.still_granted`.
        """
        return self.filter(ended=None, run__redacted=None, by__is_active=True).select_related("run", "by")

    def of(self, user: Any) -> Self:
        """Return the grants to this user, by name or by one of their groups."""
        return self.filter(Q(user=user.pk) | Q(group__in=Group.objects.filter(user=user.pk).values("pk")))


class AccessGrant(models.Model):
    """Access to one record for one user or a whole group. `to` is their name at that time."""

    run = models.ForeignKey("engine.Run", on_delete=models.CASCADE, related_name="given")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="given")
    group = models.ForeignKey("auth.Group", on_delete=models.CASCADE, null=True, related_name="+")
    to = models.CharField(max_length=TO_LENGTH)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    made = models.DateTimeField(default=timezone.now)
    ended = models.DateTimeField(null=True)

    objects = AccessGrantQuerySet.as_manager()

    class Meta:
        db_table = "runs_given"
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
    def last_views(self) -> list["GrantView"]:
        """Return the last view of each user, newest first."""
        return list({look.user_id: look for look in sorted(self.looks.all(), key=lambda look: look.last)}.values())[
            ::-1
        ]

    def user_keys(self) -> set[Any]:
        """Return the keys of the users whom this grant lets see the record."""
        if self.group_id is None:
            return {self.user_id}
        return set(Group.objects.filter(pk=self.group_id).values_list("user", flat=True)) - {None}


class GrantView(LinkView):
    """Views of a record by a user with a grant, counted per hour."""

    given = models.ForeignKey(AccessGrant, on_delete=models.CASCADE, related_name="looks")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")

    class Meta(LinkView.Meta):
        db_table = "runs_givenlook"
        pass


def revoke_all_access(run: Any, *, names: bool) -> None:
    """Revoke every link, badge and grant of the run, and erase the texts that were written for them.

    With `names`, also erase the creators of links and badges, and delete the grants.
    """
    for rows in (ShareLink.objects, BadgeLink.objects, AccessGrant.objects):
        rows.filter(run=run, ended=None).update(ended=timezone.now())
    ShareLink.objects.filter(run=run).update(for_whom="")
    BadgeLink.objects.filter(run=run).update(words="")
    if names:
        ShareLink.objects.filter(run=run).update(by=None)
        BadgeLink.objects.filter(run=run).update(by=None)
        AccessGrant.objects.filter(run=run).delete()
