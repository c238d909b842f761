from .grants import AccessGrant, GrantView, revoke_all_access
from .idempotency import KEY_LENGTH, IdempotencyConflict, IdempotencyKey, idempotency_digest
from .presets import PresetUse, newest_uses
from .search import (
    NAME_LENGTH,
    QUERY_LENGTH,
    REHEARSED,
    RunFlag,
    SavedSearch,
    SearchText,
    TooManySearches,
    count_arrivals,
    counts_by_arrival,
    delete_erased_text,
    initial_labels,
    matching_runs,
    order_by_arrival,
)
from .share_links import BadgeLink, ShareLink, ShareLinkView
from .webhooks import Webhook, WebhookDelivery

__all__ = [
    "KEY_LENGTH",
    "NAME_LENGTH",
    "QUERY_LENGTH",
    "REHEARSED",
    "AccessGrant",
    "BadgeLink",
    "GrantView",
    "IdempotencyConflict",
    "IdempotencyKey",
    "PresetUse",
    "RunFlag",
    "SavedSearch",
    "SearchText",
    "ShareLink",
    "ShareLinkView",
    "TooManySearches",
    "Webhook",
    "WebhookDelivery",
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
