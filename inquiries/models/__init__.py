from .collections import Collection, CollectionDocument
from .inquiries import ATTACHED, DOCUMENTS, POSTS, TITLE_LENGTH, Inquiry, Post, PostKind, title_of
from .rosters import Roster, RosterChange, RosterVersion
from .sources import Claim, Passage, Quote, Source, SourceKind
from .work import Move, Order, OrderKind

__all__ = [
    "ATTACHED",
    "DOCUMENTS",
    "POSTS",
    "TITLE_LENGTH",
    "Claim",
    "Collection",
    "CollectionDocument",
    "Inquiry",
    "Move",
    "Order",
    "OrderKind",
    "Passage",
    "Post",
    "PostKind",
    "Quote",
    "Roster",
    "RosterChange",
    "RosterVersion",
    "Source",
    "SourceKind",
    "title_of",
]
