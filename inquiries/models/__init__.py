from .inquiries import DOCUMENTS, POSTS, TITLE_LENGTH, Inquiry, Post, PostKind, title_of
from .sources import Claim, Passage, Quote, Source, SourceKind
from .work import Move, Order, OrderKind

__all__ = [
    "DOCUMENTS",
    "POSTS",
    "TITLE_LENGTH",
    "Claim",
    "Inquiry",
    "Move",
    "Order",
    "OrderKind",
    "Passage",
    "Post",
    "PostKind",
    "Quote",
    "Source",
    "SourceKind",
    "title_of",
]
