"""The panels as the library lists them."""

from django.db.models.functions import Lower
from django.urls import reverse

from runs.rights import User
from runs.shelves import Item, Shelf
from runs.words import shown_name

from .models import Panel


class Panels(Shelf):
    name, noun, about, label = "panels", "panel", "members, options and rules of debates", "panel"
    purpose = (
        "Save members, options and rules that you want to debate by more than once, and every debate can start there."
    )
    permission = "debates.add_panel"

    @property
    def address(self) -> str:
        return reverse("panels")

    @property
    def new(self) -> str:
        return reverse("panel-new")

    def count(self) -> int:
        return Panel.objects.offered().count()

    def items(self, user: User) -> list[Item]:
        return [_item(panel, user) for panel in Panel.objects.whole().order_by(Lower("name"))]


def _item(panel: Panel, user: User) -> Item:
    seats = list(panel.current.seats.all()) if panel.current else []
    options = list(panel.current.options.all()) if panel.current else []
    back = panel.archived and panel.is_editable_by(user)
    return Item(
        key=panel.pk,
        name=panel.name,
        address=reverse("panel", args=[panel.pk]),
        use=f"{reverse('debate-new')}?panel={panel.pk}",
        holds=", ".join(seat.name for seat in seats),
        texts=[*(text for seat in seats for text in (seat.name, seat.who)), *(option.word for option in options)],
        version=panel.number,
        owner=shown_name(panel.owner),
        is_mine=panel.owner_id == user.pk,
        archived=panel.archived is not None,
        locked=panel.locked is not None,
        bring_back=reverse("panel-switch", args=[panel.pk]) if back else "",
    )
