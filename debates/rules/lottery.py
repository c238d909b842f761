"""The draw: a weighted choice from a seed and the number of a turn, reproducible to the last bit.

A ticket is the first eight bytes of HMAC-SHA256(seed, "number.k"), big-endian, for k = 0, 1, ... until it lies below
the largest multiple of the total that eight bytes can hold, and then its remainder.
"""

import hmac
from collections.abc import Sequence

from .state import DebateState

FEWEST, USUAL = 1, 10
_RANGE = 2**64


def ticket(seed: bytes, number: int, total: int) -> int:
    """Return a uniform number from 0 to `total` - 1."""
    fair = _RANGE - _RANGE % total
    k = 0
    while (drawn := _bytes(seed, number, k)) >= fair:
        k += 1
    return drawn % total


def _bytes(seed: bytes, number: int, k: int) -> int:
    return int.from_bytes(hmac.digest(seed, f"{number}.{k}".encode(), "sha256")[:8], "big")


def draw_weight(messages: int) -> int:
    """Return the weight of a member with this number of messages: who spoke less is likelier (from the source
    text)."""
    return max(FEWEST, USUAL - messages)


def draw(ticket: int, weights: Sequence[tuple[int, int]]) -> int:
    """Return the seat that a ticket falls to; `weights` by seat, in the order of the seats."""
    for seat, share in weights:
        if ticket < share:
            return seat
        ticket -= share
    raise ValueError("a ticket beyond the sum of the weights")


def draw_weights(course: DebateState, seats: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple((seat, draw_weight(course.counts[seat])) for seat in seats)
