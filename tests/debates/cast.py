"""Debates in every state a page can be seen in, put into the database of a site that performs nothing.

`python -m tests.debates.cast`, told of the site by its environment, prints their keys by the names of their scenes.
With `live` and a model it asks for one that the site is to perform, its first visitor on a seat.
"""

import json
import sys

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402

from debates import procedure  # noqa: E402
from tests.debates.scenes import SCENES, waiting  # noqa: E402
from tests.debates.table import asked  # noqa: E402


def live(owner: User, model: str) -> dict[str, str]:
    members = [*asked(4, model=model)["members"], {"name": "Elin Sato", "user": owner}]
    told = asked(members=members, switches={"first": False}, spend=None, most=40)
    return {"live": str(procedure.submit(owner=owner, **told).pk)}


def every(owner: User) -> dict[str, str]:
    elin, _ = User.objects.get_or_create(username="elin")
    keys = {name: make(owner).pk for name, make in SCENES.items()}
    keys["waited_for"] = waiting(owner, elin).pk
    return {name: str(pk) for name, pk in keys.items()}


if __name__ == "__main__":
    first = User.objects.order_by("pk")[0]
    print(json.dumps(live(first, sys.argv[2]) if sys.argv[1:2] == ["live"] else every(first)))
