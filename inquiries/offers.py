"""What models of others may ask for of this kind."""

from runs.offers import Held, Offer

from . import schemas

OFFERS = (
    Offer(
        "ask_inquiry",
        "Has a question answered from documents, step by step before critics; every quote is looked for "
        "in its source. It can say that it could not be answered.",
        "inquiries",
        schemas.NewInquiry,
    ),
)
HELD = (Held("sources", "A source of an inquiry, as it was read.", "inquiry_source"),)
