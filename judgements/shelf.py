"""The councils as the library lists them."""

from runs.shelves import SavedShelf

from .models import Council


class Councils(SavedShelf):
    name, noun, about, label = "councils", "council", "three agents that judge", "council"
    purpose = "Save three agents that you want to ask more than once, and every judgement can start from them."
    permission = "judgements.add_council"
    saved, begins = Council, "new"

    def told(self, one: Council) -> tuple[list[str], list[str]]:
        agents = one.agents()
        return [agent["name"] for agent in agents], [agent[part] for agent in agents for part in ("name", "criteria")]
