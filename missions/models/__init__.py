from .files import FileVersion
from .memory import ShortMemory, Summary
from .missions import Agent, Check, Halt, Message, Mission, Pause, Step, title_of
from .terminals import Terminal, TerminalInput

__all__ = [
    "Agent",
    "Check",
    "FileVersion",
    "Halt",
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
