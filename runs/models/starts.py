"""From which things that are kept runs were started: what the library counts."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import models

from engine.models import Run


class Start(models.Model):
    """That a run was started from the thing `key` on a `shelf`, which is named as the shelf's label. `id` grows from
    one run to the next, and `owner` is that of the run: the newest of each thing are found without a look at others.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="starts")
    shelf = models.CharField(max_length=40)
    key = models.BigIntegerField()
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )
    rehearsal = models.BooleanField()

    class Meta:
        default_permissions = ()
        indexes = [
            models.Index(fields=["shelf", "key", "-id"], name="start_newest_first"),
            models.Index(fields=["owner", "shelf", "key", "-id"], name="start_by_owner"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} from {self.shelf} {self.key}"


def newest_of_each(shelf: str, keys: Sequence[int], most: int, owner: int | None = None) -> tuple[str, list[Any]]:
    """A table in SQL, with its parameters: of each thing the runs that were started from it last, or those of one
    `owner`, at most so many, each with `key`, `run_id` and `rehearsal`. For counts that have an end."""
    each = _NEWEST.format(whose="" if owner is None else "AND owner_id = %s")
    whose = [] if owner is None else [owner]
    return " UNION ALL ".join([each] * len(keys)), [param for key in keys for param in (shelf, key, *whose, most)]


_NEWEST = (
    "SELECT * FROM (SELECT key, run_id, rehearsal FROM runs_start WHERE shelf = %s AND key = %s {whose} "
    "ORDER BY id DESC LIMIT %s) AS newest_of_one"
)
