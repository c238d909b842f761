"""Search for users by their names."""

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef

from engine.models import Run
from engine.text.search_terms import Term, index_words

from ..formatting import user_label

MAX_SCANNED = 10_000
MAX_MATCHES = 100
MAX_SUGGESTIONS = 200
MIN_TERM_LENGTH = 2  # a single letter matches too many names


def users_named(term: Term) -> list[int]:
    """Return the ids of users whose name has this word; with a star at its end, a word that starts with it."""
    word = term.rstrip("*")
    if len(word) < MIN_TERM_LENGTH:
        return []
    people = User.objects.order_by("-pk").values_list("pk", "username", "first_name", "last_name")[:MAX_SCANNED]
    fits = str.startswith if term.endswith("*") else str.__eq__
    meant = (pk for pk, *names in people if any(fits(own, word) for own in index_words(" ".join(names))))
    return [pk for _, pk in zip(range(MAX_MATCHES), meant, strict=False)]


def requesters() -> list[tuple[str, str]]:
    """Return the users who have started runs, with their names; at most MAX_SUGGESTIONS."""
    asked = Exists(Run.objects.filter(owner=OuterRef("pk")))
    found = [
        (str(user.pk), user_label(user)) for user in User.objects.filter(asked).order_by("username")[:MAX_SUGGESTIONS]
    ]
    return sorted(found, key=lambda one: one[1].casefold())
