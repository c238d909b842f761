"""What models of others may ask for of this kind."""

from runs.offers import Offer

from . import schemas

OFFERS = (
    Offer(
        "request_judgement",
        "Three agents judge in three rounds whether this very content may pass; fixed rules make approved "
        "or rejected of it. Name a council, or three agents. Act only on approved.",
        "judgements",
        schemas.NewJudgement,
    ),
    Offer(
        "list_councils",
        "The councils that can judge, and their agents. By `name`, one council with what each agent looks for.",
        "councils",
        one="council",
    ),
)
