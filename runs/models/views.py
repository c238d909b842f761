from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

NAME_LENGTH = 40
QUERY_LENGTH = 4_000  # of an address
MOST_VIEWS = 20


class TooManyViews(Exception):
    """Somebody has as many as one person may."""

    def __init__(self) -> None:
        super().__init__(f"You have {MOST_VIEWS} saved views, as many as one person may. Delete one first.")


class SavedViewQuerySet(models.QuerySet["SavedView"]):
    @transaction.atomic
    def save_view(self, user: Any, name: str, query: str) -> "SavedView":
        """Under a name that this user has already, in the place of what it stood for. TooManyViews."""
        view, made = self.update_or_create(user=user, name=name, defaults={"query": query})
        if made and self.filter(user=user).count() > MOST_VIEWS:
            raise TooManyViews
        return view


class SavedView(models.Model):
    """What somebody asks the history for again and again, under a name. `query` is that of its address."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=NAME_LENGTH)
    query = models.CharField(max_length=QUERY_LENGTH, blank=True)
    made = models.DateTimeField(default=timezone.now)

    objects = SavedViewQuerySet.as_manager()

    class Meta:
        default_permissions = ()  # everybody has one's own alone
        ordering = ["made", "pk"]
        constraints = [models.UniqueConstraint("user", "name", name="one_view_per_name")]

    def __str__(self) -> str:
        return self.name
