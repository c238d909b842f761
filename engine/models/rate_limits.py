"""How often something may be done: counted in the database, so that all processes of an installation agree.

A limit lets a number through at once, and from then on one more after so many seconds. One row for each thing that is
done says by when all that was done would be due at that steady pace; it is moved by one conditional UPDATE, so that of
many at once no more get through than may. A row that lies in the past says the same as none.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass

from django.db import models, transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils.crypto import salted_hmac

DELETE_BATCH = 1000  # rows that are forgotten in one transaction


@dataclass(frozen=True)
class RateLimit:
    at_once: int
    seconds: float

    @property
    def step(self) -> int:
        """Milliseconds."""
        return round(self.seconds * 1000)

    @property
    def ahead(self) -> int:
        """How far a row may lie in the future for one more to be let through."""
        return (self.at_once - 1) * self.step


def per_minute(number: int) -> RateLimit:
    return RateLimit(number, 60 / number)


Limits = Mapping[str, RateLimit]
"""By what it is that is done; such a name may hold what somebody typed."""


@dataclass(frozen=True)
class RateRemaining:
    """How many a limit lets through now, and after how many seconds it lets all of them through again."""

    number: int
    seconds: int


class RateLimitReached(Exception):
    """The text is a sentence for people; after `seconds` it may be tried again."""

    def __init__(self, sentence: str, seconds: float) -> None:
        super().__init__(sentence)
        self.seconds = max(1, math.ceil(seconds))


class RateBucketQuerySet(models.QuerySet["RateBucket"]):
    def peek(self, limits: Limits, sentence: str) -> None:
        """LimitReached where one of these would not be let through now. It costs no write."""
        keys = {_key(name): limit for name, limit in limits.items()}
        ahead = {pk: due - keys[pk].ahead - _now() for pk, due in self.filter(pk__in=keys).values_list("pk", "due")}
        if (waits := max(ahead.values(), default=0)) > 0:
            raise RateLimitReached(f"{sentence} Try again in {format_wait(waits / 1000)}.", waits / 1000)

    def left(self, name: str, limit: RateLimit) -> RateRemaining:
        due = self.filter(pk=_key(name)).values_list("due", flat=True).first() or 0
        ahead = max(0, due - _now())
        return RateRemaining(max(0, (limit.ahead + limit.step - ahead) // limit.step), math.ceil(ahead / 1000))

    @transaction.atomic
    def consume(self, limits: Limits, sentence: str) -> None:
        """Count one of each, or none: LimitReached. In a transaction of others, their order is theirs to keep."""
        for name in sorted(limits, key=_key):  # in one order: two that wait for each other would be a deadlock
            if not self._moved(_key(name), limits[name]):
                self.peek({name: limits[name]}, sentence)
                raise RateLimitReached(f"{sentence} Try again in a second.", 1)

    def _moved(self, key: str, limit: RateLimit) -> bool:
        if self._move(key, limit):
            return True
        self.get_or_create(pk=key, defaults={"due": 0})  # somebody else may have made it meanwhile
        return self._move(key, limit)

    def _move(self, key: str, limit: RateLimit) -> bool:
        now = _now()
        free = self.filter(pk=key, due__lte=now + limit.ahead)
        return bool(free.update(due=Greatest(F("due"), now) + limit.step))

    def refund(self, limits: Limits) -> None:
        """What was taken does not count after all."""
        with transaction.atomic():
            for name in sorted(limits, key=_key):
                self.filter(pk=_key(name)).update(due=F("due") - limits[name].step)


class RateBucket(models.Model):
    """`key`: a keyed digest of what is done; `due`: milliseconds since 1970."""

    key = models.CharField(max_length=64, primary_key=True)
    due = models.BigIntegerField(db_index=True)

    objects = RateBucketQuerySet.as_manager()
    immutable = None

    class Meta:
        db_table = "engine_pace"

    def __str__(self) -> str:
        return self.key[:8]


def delete_expired() -> bool:
    """Delete some of the rows that say nothing any more; whether there are others."""
    over = list(RateBucket.objects.filter(due__lt=_now()).values_list("pk", flat=True)[:DELETE_BATCH])
    RateBucket.objects.filter(pk__in=over, due__lt=_now()).delete()
    return len(over) == DELETE_BATCH


def format_wait(seconds: float) -> str:
    if seconds <= 90:
        number = max(1, math.ceil(seconds))
        return "a second" if number == 1 else f"{number} seconds"
    return f"{math.ceil(seconds / 60)} minutes"


def _now() -> int:
    return round(time.time() * 1000)


def _key(name: str) -> str:
    return salted_hmac("engine.pace", name, algorithm="sha256").hexdigest()
