from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from runs.rights import SEE, Right

from ..models import Judgement


def judgement_for(request: HttpRequest, pk: UUID, right: Right = SEE, *, whole: bool = False) -> Judgement:
    """The judgement, to do this with it. 404 where one may not even see it, 403 where one may, but no more."""
    seen = Judgement.objects.visible_to(request.user)
    judgement = get_object_or_404(seen.whole() if whole else seen.select_related("run"), pk=pk)
    if not right.covers(request.user, judgement.run):
        raise PermissionDenied(right.refusal("judgement"))
    return judgement
