"""Deleting all of one's own sessions."""

from django.http import HttpRequest

from runs.api.refusals import Refusal, wrong_fields
from runs.rights import REDACT, Reach

from .. import taking_away
from .sessions import owner_of


def all_deleted(request: HttpRequest, confirm: str) -> str:
    owner = owner_of(request)
    if confirm != owner.get_username():
        raise wrong_fields([("confirm", f"It cannot be undone. To go on, write confirm={owner.get_username()}.")])
    if REDACT.reach(owner) == Reach.NOTHING:
        raise Refusal(403, REDACT.refusal("plan"))
    deleted, left = taking_away.all_of(owner)
    plans = f"{deleted} plan{'' if deleted == 1 else 's'} deleted"
    return f"{plans}, {left} still ending" if left else plans
