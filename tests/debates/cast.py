"""Debates in every state a page can be seen in, put into the database of a site that performs nothing.

`python -m tests.debates.cast`, told of the site by its environment, prints their keys by the names of their scenes.
"""

import json

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402

from tests.debates.scenes import SCENES, waiting  # noqa: E402


def main() -> None:
    owner = User.objects.order_by("pk")[0]
    elin, _ = User.objects.get_or_create(username="elin")
    keys = {name: make(owner).pk for name, make in SCENES.items()}
    keys["waited_for"] = waiting(owner, elin).pk
    print(json.dumps({name: str(pk) for name, pk in keys.items()}))


if __name__ == "__main__":
    main()
