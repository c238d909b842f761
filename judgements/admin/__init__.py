from .councils import CouncilAdmin
from .judgements import JudgementAdmin

__all__ = ["CouncilAdmin", "JudgementAdmin"]
