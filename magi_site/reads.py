"""The limit of API reads of one user, over all of their tokens."""

import threading

from django.conf import settings
from django.contrib.auth.models import User
from django.db import Error as DBError

from engine import database_errors
from engine.models import RateBucket
from engine.models.rate_limits import RateLimit

MAX_PREPAID = 100  # reads


class Reads:
    """Counts reads. A process takes up to 100 from the shared limit at once, so that one in 100 reads writes a row.

    If the database refuses the write, the read is allowed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._prepaid: dict[int, int] = {}

    def take(self, user: User) -> None:
        """Count one read. Raises RateLimitReached if this user reads too often."""
        if not (most := settings.USER_READS):
            return
        with self._lock:
            if left := self._prepaid.get(user.pk, 0):
                self._prepaid[user.pk] = left - 1
                return
        share = min(MAX_PREPAID, max(1, most // 10))
        _take_share(user, most, share)
        with self._lock:
            self._prepaid[user.pk] = self._prepaid.get(user.pk, 0) + share - 1


def _take_share(user: User, most: int, share: int) -> None:
    limit = RateLimit(max(1, most // share), 60 * share / most)
    sentence = f"You have read {most:,} times in a minute, as often as one person may."
    try:
        RateBucket.objects.consume({f"reads of {user.pk}": limit}, sentence)
    except DBError as error:
        if database_errors.problem_of(error) is None:
            raise


reads = Reads()
