from .crews import Crew, CrewChange, CrewChanged, CrewVersion
from .files import FileVersion
from .memories import Activation, Memory, MemoryUse, MemoryVersion
from .memory import ShortMemory, Summary
from .missions import Agent, Check, Halt, Message, Mission, Pause, Step, title_of
from .terminals import Connection, Terminal, TerminalInput

__all__ = [
    "Activation",
    "Agent",
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
    "ShortMemory",
    "Step",
    "Summary",
    "Terminal",
    "TerminalInput",
    "title_of",
]
