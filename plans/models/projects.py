"""Projects: plans of one person that belong together (`matter` in the API and in columns)."""

from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone

from engine.ledger.immutability import ChangeRule, Immutable
from engine.llm.providers import clean_storable_text
from engine.models import TITLE_LENGTH, after_deadlock
from engine.text.invisible_chars import visible_text


class ProjectQuerySet(models.QuerySet["Project"]):
    def existing(self) -> "ProjectQuerySet":
        return self.filter(erased=None)

    def named(self, owner: Any, name: str) -> "ProjectQuerySet":
        """Filter by a name from a request; it may have characters that the database refuses, and matches nothing
        then."""
        found = self.existing().filter(owner=owner)
        return found.filter(name=name) if clean_storable_text(name) == name else found.none()

    def of_name(self, owner: Any, name: str) -> "Project":
        """Return the owner's project with this name, created if needed, locked until the transaction ends."""
        # the constraint does not cover rows without an owner: of these there may be two with one name
        found = self.existing().filter(owner=owner, name=name).first()
        found = found or self.get_or_create(owner=owner, name=name, erased=None)[0]
        locked = self.select_for_update(no_key=True).get(pk=found.pk)
        return locked if locked.erased is None else self.of_name(owner, name)

    @after_deadlock
    @transaction.atomic
    def delete_for_owner(self, owner: Any) -> None:
        """Mark all projects of this owner as deleted: their names can be used again, and no plan starts in them."""
        self.existing().filter(owner=owner).update(erased=timezone.now(), name="", title="")


class Project(models.Model):
    """Plans of one person that belong together; later ones see how earlier ones ended.

    `title`: shown instead of `name` if set. `closed`: hidden from lists and choices. `erased`: when it was deleted; its
    plans are erased after that.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="matters")
    name = models.CharField(max_length=100)
    title = models.CharField(max_length=TITLE_LENGTH, blank=True)
    created = models.DateTimeField(default=timezone.now)
    closed = models.DateTimeField(null=True)
    erased = models.DateTimeField(null=True)

    objects = ProjectQuerySet.as_manager()
    immutable = Immutable(
        unlinked="owner",
        free="title closed",
        rules=(
            ChangeRule("called", when="NEW.erased IS NULL", kept="name"),
            ChangeRule("taken_away", when="OLD.erased IS NOT NULL", kept="name erased"),
        ),
    )

    class Meta:
        db_table = "plans_matter"
        ordering = ["created"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], condition=Q(erased=None), name="one_matter_of_a_name")
        ]

    def __str__(self) -> str:
        return visible_text(self.shown_title)

    @property
    def shown_title(self) -> str:
        return self.title or self.name
