"""Who is meant by a name: people as lists name them and are searched by."""

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef

from engine.models import Run
from engine.search import Term, words_of

from .words import shown_name

MOST_LOOKED_AT = 10_000
MOST_MEANT = 100
MOST_OFFERED = 200
SHORTEST = 2  # a single letter begins too many names to mean anybody


def named(term: Term) -> list[int]:
    """Those with a name that this is a word of, or begins one where it ends with a star."""
    word = term.rstrip("*")
    if len(word) < SHORTEST:
        return []
    people = User.objects.order_by("-pk").values_list("pk", "username", "first_name", "last_name")[:MOST_LOOKED_AT]
    fits = str.startswith if term.endswith("*") else str.__eq__
    meant = (pk for pk, *names in people if any(fits(own, word) for own in words_of(" ".join(names))))
    return [pk for _, pk in zip(range(MOST_MEANT), meant, strict=False)]


def who_asked() -> list[tuple[str, str]]:
    """Those who have asked for anything, by their names, as many as a list can offer."""
    asked = Exists(Run.objects.filter(owner=OuterRef("pk")))
    found = [
        (str(user.pk), shown_name(user)) for user in User.objects.filter(asked).order_by("username")[:MOST_OFFERED]
    ]
    return sorted(found, key=lambda one: one[1].casefold())
