"""Rosters, as the library lists them."""

from runs.shelves import SavedShelf

from .models import Roster
from .posts import described


class Rosters(SavedShelf):
    name, noun, about, label = "rosters", "roster", "who answers a question, and who reviews the work", "roster"
    purpose = "Save who holds the posts, and every question can be asked of them."
    permission = "inquiries.add_roster"
    saved, begins = Roster, "inquiry-new"

    def told(self, one: Roster) -> tuple[list[str], list[str]]:
        said = described(one.current.posts) if one.current else []
        about = one.current.about if one.current else ""
        return [f"{title}: {value}" for title, value in said], [about, *(value for _, value in said)]
