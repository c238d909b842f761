"""What agents of missions can do."""

from . import commands, crew, files

TOOLS = (*commands.TOOLS, *files.TOOLS, *crew.TOOLS)
NAMES = tuple(one.name for one in TOOLS if one.name != "fresh_check")
"""What an agent may have."""
