"""Debates in every state a page can be seen in, put into the database of a site that performs nothing.

`python -m tests.debates.cast`, told of the site by its environment, prints their keys by the names of their scenes.
With `live` and a model it asks for one that the site is to perform, its first visitor on a seat; with `held`, a model
and how many messages for one of nine; with `long` it makes one of nine and 200 messages.
"""

import json
import sys

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402

from debates import procedure  # noqa: E402
from tests.debates.long import long_debate  # noqa: E402
from tests.debates.scenes import SCENES, waiting  # noqa: E402
from tests.debates.table import asked  # noqa: E402


def live(owner: User, model: str) -> dict[str, str]:
    members = [*asked(4, model=model)["members"], {"name": "Elin Sato", "user": owner}]
    told = asked(members=members, switches={"first": False}, spend=None, most=40)
    return {"live": str(procedure.submit(owner=owner, **told).pk)}


def held(owner: User, model: str, most: str) -> dict[str, str]:
    return {"held": str(procedure.submit(owner=owner, **asked(9, model=model, most=int(most))).pk)}


def every(owner: User) -> dict[str, str]:
    elin, _ = User.objects.get_or_create(username="elin")
    keys = {name: make(owner).pk for name, make in SCENES.items()}
    waits = waiting(owner, elin)
    waits.alone(1, "HIRE", "The letter says more than the list of papers does.", 80)
    waits.alone(2, "DO NOT HIRE", "Nothing in the plan says who pays for half a year without teaching.")
    return {name: str(pk) for name, pk in (keys | {"waited_for": waits.pk}).items()}


if __name__ == "__main__":
    first = User.objects.order_by("pk")[0]
    kinds = {"live": live, "held": held, "long": lambda owner: {"long": str(long_debate(owner).pk)}}
    print(json.dumps(kinds[sys.argv[1]](first, *sys.argv[2:]) if sys.argv[1:] else every(first)))
