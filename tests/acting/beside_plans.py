"""The site with a tool that acts in the world, which a team of plans may have."""

from magi_site.settings import *  # noqa: F403
from magi_site.settings import SHARED_TOOLS

SHARED_TOOLS = [*SHARED_TOOLS, "tests.acting.tools"]
