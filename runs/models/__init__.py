from .given import Given, GivenLook, end_shown
from .hooks import Delivery, Hook
from .keys import KEY_LENGTH, IdempotencyKey, KeyUsed, digest_of
from .search import (
    REHEARSED,
    Flag,
    SearchText,
    arrived,
    counts_by_arrival,
    first_labels,
    forget_erased,
    found_by,
    in_order_of_arrival,
)
from .shares import Badge, Share, ShareLook
from .starts import Start, newest_of_each
from .views import NAME_LENGTH, QUERY_LENGTH, SavedView, TooManyViews

__all__ = [
    "KEY_LENGTH",
    "NAME_LENGTH",
    "QUERY_LENGTH",
    "REHEARSED",
    "Badge",
    "Delivery",
    "Flag",
    "Given",
    "GivenLook",
    "Hook",
    "IdempotencyKey",
    "KeyUsed",
    "SavedView",
    "SearchText",
    "Share",
    "ShareLook",
    "Start",
    "TooManyViews",
    "arrived",
    "counts_by_arrival",
    "digest_of",
    "end_shown",
    "first_labels",
    "forget_erased",
    "found_by",
    "in_order_of_arrival",
    "newest_of_each",
]
