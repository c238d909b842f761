"""What models of others may ask for of this kind."""

from runs.offers import Offer

from . import schemas

OFFERS = (
    Offer(
        "hold_debate",
        "Two to nine members argue about a question; a rule makes one of its options of what they stand "
        "by. Name a panel, or options and members.",
        "debates",
        schemas.NewDebate,
    ),
    Offer(
        "list_panels",
        "The panels that can debate, their options and members. By `name`, all that one panel holds.",
        "panels",
        one="panel",
    ),
)
