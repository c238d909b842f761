from .files import FileVersion
from .forks import CarriedStep
from .memories import Activation, Memory, MemoryUse, MemoryVersion
from .missions import Agent, Check, Halt, Message, Mission, Pause, Step, title_of
from .presets import Crew, CrewChange, CrewVersion, MissionTeamChanged
from .repositories import Repository
from .short_term_memory import ShortMemory, Summary
from .terminals import Connection, Terminal, TerminalInput

__all__ = [
    "Activation",
    "Agent",
    "CarriedStep",
    "Check",
    "Connection",
    "Crew",
    "CrewChange",
    "CrewVersion",
    "FileVersion",
    "Halt",
    "Memory",
    "MemoryUse",
    "MemoryVersion",
    "Message",
    "Mission",
    "MissionTeamChanged",
    "Pause",
    "Repository",
    "ShortMemory",
    "Step",
    "Summary",
    "Terminal",
    "TerminalInput",
    "title_of",
]
