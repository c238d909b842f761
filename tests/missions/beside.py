"""The site with a script in place of the rehearsal of missions."""

from magi_site.settings import *  # noqa: F403
from magi_site.settings import PROCEDURES

PROCEDURES = {**PROCEDURES, "mission": "tests.missions.killing.KilledProduct"}
