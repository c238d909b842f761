"""The site with a procedure that acts, and nothing else."""

from tests.settings import *  # noqa: F403
from tests.settings import PROCEDURES

PROCEDURES = {**PROCEDURES, "acting": "tests.acting.procedure.Acting"}
ROOT_URLCONF = "tests.acting.urls"
