from .files import FileVersion
from .forks import CarriedStep
from .memories import Memory, MemoryActivation, MemoryUse, MemoryVersion
from .missions import (
    AgentStop,
    Mission,
    MissionAgent,
    MissionCheck,
    MissionMessage,
    MissionPause,
    MissionStep,
    title_of,
)
from .presets import Crew, CrewChange, CrewVersion, MissionTeamChanged
from .repositories import Repository
from .short_term_memory import HistorySummary, ShortTermMemory
from .terminals import Terminal, TerminalConnection, TerminalInput

__all__ = [
    "AgentStop",
    "CarriedStep",
    "Crew",
    "CrewChange",
    "CrewVersion",
    "FileVersion",
    "HistorySummary",
    "Memory",
    "MemoryActivation",
    "MemoryUse",
    "MemoryVersion",
    "Mission",
    "MissionAgent",
    "MissionCheck",
    "MissionMessage",
    "MissionPause",
    "MissionStep",
    "MissionTeamChanged",
    "Repository",
    "ShortTermMemory",
    "Terminal",
    "TerminalConnection",
    "TerminalInput",
    "title_of",
]
