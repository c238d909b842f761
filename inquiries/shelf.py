"""Rosters, as the library lists them."""

from django.db.models.functions import Lower
from django.urls import reverse

from runs.rights import User
from runs.shelves import Item, Shelf
from runs.words import shown_name

from .models import Roster
from .posts import described


class Rosters(Shelf):
    name, noun, about, label = "rosters", "roster", "who answers a question, and who lets it pass", "roster"
    purpose = "Save who holds the posts, and every question can be asked of them."
    permission = "inquiries.add_roster"

    @property
    def address(self) -> str:
        return reverse("rosters")

    @property
    def new(self) -> str:
        return reverse("roster-new")

    def count(self) -> int:
        return Roster.objects.offered().count()

    def items(self, user: User) -> list[Item]:
        return [_roster(one, user) for one in Roster.objects.whole().order_by(Lower("name"))]


def _roster(roster: Roster, user: User) -> Item:
    said = described(roster.current.posts) if roster.current else []
    back = roster.archived and roster.is_editable_by(user)
    return Item(
        key=roster.pk,
        name=roster.name,
        address=reverse("roster", args=[roster.pk]),
        use=f"{reverse('inquiry-new')}?roster={roster.pk}",
        holds=", ".join(f"{title}: {value}" for title, value in said),
        texts=[roster.current.about if roster.current else "", *(value for _, value in said)],
        version=roster.number,
        owner=shown_name(roster.owner),
        is_mine=roster.owner_id == user.pk,
        archived=roster.archived is not None,
        locked=roster.locked is not None,
        bring_back=reverse("roster-switch", args=[roster.pk]) if back else "",
    )
