"""The site with agents that ask their person something."""

from tests.settings import *  # noqa: F403
from tests.settings import PROCEDURES

PROCEDURES = {**PROCEDURES, "mission": "tests.missions.asking.AskingProduct"}
