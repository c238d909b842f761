from .crews import Crew, CrewChange, CrewChanged, CrewVersion
from .files import FileVersion
from .forks import CarriedStep
from .memories import Activation, Memory, MemoryUse, MemoryVersion
from .memory import ShortMemory, Summary
from .missions import Agent, Check, Halt, Message, Mission, Pause, Step, title_of
from .repositories import Repository
from .terminals import Connection, Terminal, TerminalInput

__all__ = [
    "Activation",
    "Agent",
    "CarriedStep",
    "Check",
    "Connection",
    "Crew",
    "CrewChange",
    "CrewChanged",
    "CrewVersion",
    "FileVersion",
    "Halt",
    "Memory",
    "MemoryUse",
    "MemoryVersion",
    "Message",
    "Mission",
    "Pause",
    "Repository",
    "ShortMemory",
    "Step",
    "Summary",
    "Terminal",
    "TerminalInput",
    "title_of",
]
