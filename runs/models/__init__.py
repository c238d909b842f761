from .grants import Given, GivenLook, revoke_all_access
from .idempotency import KEY_LENGTH, IdempotencyConflict, IdempotencyKey, idempotency_digest
from .presets import Start, newest_uses
from .search import (
    NAME_LENGTH,
    QUERY_LENGTH,
    REHEARSED,
    RunFlag,
    SavedView,
    SearchText,
    TooManySearches,
    count_arrivals,
    counts_by_arrival,
    delete_erased_text,
    initial_labels,
    matching_runs,
    order_by_arrival,
)
from .share_links import Badge, Share, ShareLook
from .webhooks import Delivery, Hook

__all__ = [
    "KEY_LENGTH",
    "NAME_LENGTH",
    "QUERY_LENGTH",
    "REHEARSED",
    "Badge",
    "Delivery",
    "Given",
    "GivenLook",
    "Hook",
    "IdempotencyConflict",
    "IdempotencyKey",
    "RunFlag",
    "SavedView",
    "SearchText",
    "Share",
    "ShareLook",
    "Start",
    "TooManySearches",
    "count_arrivals",
    "counts_by_arrival",
    "delete_erased_text",
    "idempotency_digest",
    "initial_labels",
    "matching_runs",
    "newest_uses",
    "order_by_arrival",
    "revoke_all_access",
]
