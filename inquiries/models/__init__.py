from .assignments import Assignment, AssignmentKind, InquiryMove
from .collections import Collection, CollectionDocument
from .inquiries import ATTACHED, DOCUMENTS, ROLES, TITLE_LENGTH, Inquiry, InquiryRole, RoleKind, title_of
from .presets import Roster, RosterChange, RosterVersion
from .sources import ClaimQuote, InquiryClaim, InquirySource, SourceKind, SourcePassage

__all__ = [
    "ATTACHED",
    "DOCUMENTS",
    "ROLES",
    "TITLE_LENGTH",
    "Assignment",
    "AssignmentKind",
    "ClaimQuote",
    "Collection",
    "CollectionDocument",
    "Inquiry",
    "InquiryClaim",
    "InquiryMove",
    "InquiryRole",
    "InquirySource",
    "RoleKind",
    "Roster",
    "RosterChange",
    "RosterVersion",
    "SourceKind",
    "SourcePassage",
    "title_of",
]
