"""The councils as the library lists them."""

from django.db.models.functions import Lower
from django.urls import reverse

from runs.rights import User
from runs.shelves import Item, Shelf
from runs.words import shown_name

from .models import Council


class Councils(Shelf):
    name, noun, about, label = "councils", "council", "three agents that judge", "council"
    purpose = "Save three agents that you want to ask more than once, and every judgement can start from them."
    permission = "judgements.add_council"

    @property
    def address(self) -> str:
        return reverse("councils")

    @property
    def new(self) -> str:
        return reverse("council-new")

    def count(self) -> int:
        return Council.objects.offered().count()

    def items(self, user: User) -> list[Item]:
        return [_item(council, user) for council in Council.objects.whole().order_by(Lower("name"))]


def _item(council: Council, user: User) -> Item:
    agents = council.agents()
    back = council.archived and council.is_editable_by(user)
    return Item(
        key=council.pk,
        name=council.name,
        address=reverse("council", args=[council.pk]),
        use=f"{reverse('new')}?council={council.pk}",
        holds=", ".join(agent["name"] for agent in agents),
        texts=[agent[part] for agent in agents for part in ("name", "criteria")],
        version=council.number,
        owner=shown_name(council.owner),
        is_mine=council.owner_id == user.pk,
        archived=council.archived is not None,
        locked=council.locked is not None,
        bring_back=reverse("council-switch", args=[council.pk]) if back else "",
    )
