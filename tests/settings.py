"""The site with one more procedure, which stands in `tests/checking/`: two lines register it."""

from magi_site.settings import *  # noqa: F403
from magi_site.settings import INSTALLED_APPS, PROCEDURES

INSTALLED_APPS = [*INSTALLED_APPS, "tests.checking"]
PROCEDURES = {**PROCEDURES, "check": "tests.checking.face.Checking"}
