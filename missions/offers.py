"""What models of others may ask for of this kind."""

from runs.offers import Held, Offer

from . import schemas

OFFERS = (
    Offer(
        "start_mission",
        "A crew of agents pursues a goal in a sandbox without network, on the files that are sent along; "
        "a check can say whether it is done.",
        "missions",
        schemas.NewMission,
    ),
)
HELD = (Held("terminals", "A command of a mission, with all that it said.", "mission_terminal"),)
