from .keys import KEY_LENGTH, IdempotencyKey, KeyUsed, digest_of
from .search import Flag, SearchText, arrived, forget_erased, found_by, in_order_of_arrival

__all__ = [
    "KEY_LENGTH",
    "Flag",
    "IdempotencyKey",
    "KeyUsed",
    "SearchText",
    "arrived",
    "digest_of",
    "forget_erased",
    "found_by",
    "in_order_of_arrival",
]
