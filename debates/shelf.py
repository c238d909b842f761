"""The panels as the library lists them."""

from runs.shelves import SavedShelf

from .models import Panel


class Panels(SavedShelf):
    name, noun, about, label = "panels", "panel", "members, options and rules of debates", "panel"
    purpose = (
        "Save members, options and rules that you want to debate by more than once, and every debate can start there."
    )
    permission = "debates.add_panel"
    saved, begins = Panel, "debate-new"

    def told(self, one: Panel) -> tuple[list[str], list[str]]:
        seats = list(one.current.seats.all()) if one.current else []
        options = list(one.current.options.all()) if one.current else []
        texts = [*(text for seat in seats for text in (seat.name, seat.who)), *(option.word for option in options)]
        return [seat.name for seat in seats], texts
