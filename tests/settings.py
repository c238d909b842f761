"""The site with one more procedure, which stands in `tests/checking/`: two lines register it."""

import os
import tempfile
from pathlib import Path

from magi_site.settings import *  # noqa: F403
from magi_site.settings import INSTALLED_APPS, PROCEDURES

INSTALLED_APPS = [*INSTALLED_APPS, "tests.checking"]
PROCEDURES = {**PROCEDURES, "check": "tests.checking.face.Checking"}

# commands run as somebody else, who may not pass the folders of others
MISSIONS_DIR = Path(tempfile.gettempdir()) / f"magi-missions-{os.getuid()}"

if "MAGI_DATA_DIR" not in os.environ:  # a site of the tests has its own folder, and says there where it is
    SERVED_AT = MISSIONS_DIR / "no folder" / "address"
USER_READS = 0  # tests count queries, and the first read of a process would write
