"""The site with a script in place of the rehearsal of missions: one that publishes."""

from tests.settings import *  # noqa: F403
from tests.settings import PROCEDURES

PROCEDURES = {**PROCEDURES, "mission": "tests.missions.published.PublishingProduct"}
