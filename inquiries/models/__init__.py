from .assignments import AssignmentKind, Move, Order
from .collections import Collection, CollectionDocument
from .inquiries import ATTACHED, DOCUMENTS, ROLES, TITLE_LENGTH, Inquiry, Post, RoleKind, title_of
from .presets import Roster, RosterChange, RosterVersion
from .sources import Claim, Passage, Quote, Source, SourceKind

__all__ = [
    "ATTACHED",
    "DOCUMENTS",
    "ROLES",
    "TITLE_LENGTH",
    "AssignmentKind",
    "Claim",
    "Collection",
    "CollectionDocument",
    "Inquiry",
    "Move",
    "Order",
    "Passage",
    "Post",
    "Quote",
    "RoleKind",
    "Roster",
    "RosterChange",
    "RosterVersion",
    "Source",
    "SourceKind",
    "title_of",
]
