"""What models of others may ask for of this kind."""

from runs.offers import Offer

from . import schemas

OFFERS = (
    Offer(
        "start_plan",
        "Plans a task in steps for the agents of a team. People are asked before what matters, and then "
        "it waits for them.",
        "plans",
        schemas.NewPlan,
    ),
    Offer(
        "list_teams",
        "The teams that can plan, and their agents. By `name`, one team with tools and policy.",
        "teams",
        one="team",
    ),
    Offer(
        "list_tools",
        "The tools that agents of teams may have.",
        "tools",
    ),
)
