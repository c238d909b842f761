"""The site with a tool that acts in the world, which a team of plans may have."""

from tests.settings import *  # noqa: F403
from tests.settings import TOOLBOX

TOOLBOX = [*TOOLBOX, "tests.acting.tools"]
