"""The site with a script in place of the rehearsal of missions."""

from tests.settings import *  # noqa: F403
from tests.settings import PROCEDURES

PROCEDURES = {**PROCEDURES, "mission": "tests.missions.killing.Working"}
