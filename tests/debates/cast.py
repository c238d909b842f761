"""Debates in every state a page can be seen in, put into the database of a site that performs nothing.

`python -m tests.debates.cast SCENE`, told of the site by its environment, prints the key of the one that it made. With
`live` and a model it asks for one that the site is to perform, its first visitor on a seat; with `held`, a model and
how many messages for one of nine; with `long` it makes one of nine and 200 messages.
"""

import sys
from typing import Any

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402

from debates import procedure  # noqa: E402
from tests.debates.long import long_debate  # noqa: E402
from tests.debates.scenes import SCENES, waiting  # noqa: E402
from tests.debates.table import asked  # noqa: E402


def live(owner: User, model: str) -> Any:
    members = [*asked(4, model=model)["members"], {"name": "Elin Sato", "user": owner}]
    told = asked(members=members, switches={"first": False}, spend=None, most=40)
    return procedure.submit(owner=owner, **told)


def held(owner: User, model: str, most: str) -> Any:
    return procedure.submit(owner=owner, **asked(9, model=model, most=int(most)))


def waited_for(owner: User) -> Any:
    elin, _ = User.objects.get_or_create(username="elin")
    waits = waiting(owner, elin)
    waits.alone(1, "HIRE", "The letter says more than the list of papers does.", 80)
    waits.alone(2, "DO NOT HIRE", "Nothing in the plan says who pays for half a year without teaching.")
    return waits


if __name__ == "__main__":
    scenes = {**SCENES, "live": live, "held": held, "long": long_debate, "waited_for": waited_for}
    name, *more = sys.argv[1:]
    print(scenes[name](User.objects.order_by("pk")[0], *more).pk)
