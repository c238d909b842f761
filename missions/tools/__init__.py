"""What agents of missions can do."""

from . import commands, crew, files, memory, memory_folder

TOOLS = (*commands.TOOLS, *files.TOOLS, *crew.TOOLS, *memory.TOOLS, *memory_folder.TOOLS)
NAMES = tuple(one.name for one in TOOLS if one.name not in ("fresh_check", *memory_folder.INSTEAD.values()))
"""What an agent may have."""
