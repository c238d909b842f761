"""Full-text search of runs; the only module that depends on the database in use."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, models, transaction
from django.utils import timezone

from engine.db import cached_sql
from engine.models import Run
from engine.text.search_terms import Term, label_term, labels_in

ADD = "UPDATE runs_searchtext SET words = words || %s WHERE run_id = %s"

REHEARSED = label_term("rehearsal", True)
ABOUT = "about"  # the label of a run that is about the result of another one

FIND = "SELECT rowid FROM runs_words WHERE runs_words MATCH %s AND rowid BETWEEN %s AND %s"


class RunFlag(models.TextChoices):
    """Flags that any run may have; each is a search label. Procedures add their own."""

    FALLBACK = "fallback", "Used a fallback"
    NOTED = "noted", "Noted"
    OVERRIDDEN = "overridden", "Overridden"
    REDACTED = "redacted", "Redacted"


def initial_labels(run: Run) -> list[Term]:
    """Return the labels of every new run, whatever its texts are."""
    return [label_term("id", str(run.pk)[:8]), label_term("by", run.owner_id), label_term("kind", run.procedure)]


class SearchTextQuerySet(models.QuerySet["SearchText"]):
    def add(self, run: UUID, words: Iterable[str]) -> None:
        """Add search words to a run. Plain SQL, because it is part of every answer's transaction."""
        cached_sql.execute(ADD, ["".join(f" {word}" for word in words), cached_sql.to_db(run)])

    def flag(self, run: UUID, *flags: models.TextChoices) -> None:
        self.add(run, [label_term("flag", flag) for flag in flags])

    def flags_of(
        self, runs: Sequence[UUID], known: Sequence[models.TextChoices]
    ) -> dict[UUID, list[models.TextChoices]]:
        """Return which of the `known` flags each run has, in their order; one query."""
        found = self.labels_of(runs)
        return {pk: [flag for flag in known if label_term("flag", flag) in labels] for pk, labels in found.items()}

    def labels_of(self, runs: Sequence[UUID]) -> dict[UUID, set[Term]]:
        """Return all labels of each run, in one query."""
        found = self.filter(run__in=runs).values_list("run", "words")
        return {pk: set(labels_in(words)) for pk, words in found}

    def rehearsed(self, runs: Sequence[UUID]) -> dict[UUID, bool]:
        """Return whether each run is a rehearsal, in one query."""
        labels = self.labels_of(runs)
        return {pk: REHEARSED in labels.get(pk, ()) for pk in runs}

    def inconsistent(
        self, labels: Mapping[int, Collection[str]], known: Collection[str]
    ) -> tuple[list[int], list[int]]:
        """Return ids that SQLite's index does not find by all their labels, and ids it finds by labels they do not
        have.

        Checks the labels given and the `known` ones. PostgreSQL generates its index column from the words, so it needs
        no check.
        """
        if connection.vendor != "sqlite" or not labels:
            return [], []
        words = set().union(known, *labels.values())
        found = {word: _found_by_label(word, min(labels), max(labels)) for word in words}
        lost = [number for number, own in labels.items() if any(number not in found[word] for word in own)]
        strayed = {number for word in words for number in found[word] if word not in labels.get(number, words)}
        return lost, sorted(strayed)

    def forget(self, run: UUID, more: Sequence[Term], *, names: bool) -> None:
        """Remove all words except the labels, and add `more`; with `names`, the owner's label is removed too."""
        for found in self.filter(run=run):
            kept = [word for word in labels_in(found.words) if not (names and word.startswith(label_term("by", "")))]
            self.filter(pk=found.pk).update(words=" ".join(dict.fromkeys([*kept, *more])))


def _found_by_label(word: Term, first: int, last: int) -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute(FIND, [f'"{word}"', first, last])
        return {number for (number,) in cursor.fetchall()}


class SearchText(models.Model):
    """The words by which a run can be found. `id` grows from one run to the next.

    Words are only appended, so that the index adds what is new and leaves the rest alone. Only a redaction removes
    words. The indexes are created by the migration of this table.
    """

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="search")
    words = models.TextField()

    objects = SearchTextQuerySet.as_manager()

    def __str__(self) -> str:
        return f"words of {self.run_id}"


MERGE = "INSERT INTO runs_words(runs_words, rank) VALUES ('merge', %s)"
PAGES = 200


def delete_erased_text() -> None:
    """Merge SQLite's index into one segment, because removed words remain in older segments until then.

    In small steps, so that others do not wait long for the write lock.
    """
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        pages = -PAGES  # the first step selects all segments, later ones continue with them
        while _changes(cursor, pages) > 1:
            pages = PAGES


def _changes(cursor: Any, pages: int) -> int:
    before = connection.connection.total_changes
    cursor.execute(MERGE, [pages])
    return connection.connection.total_changes - before


def matching_runs(runs: models.QuerySet[Any], terms: Sequence[Sequence[Term]], few: bool) -> models.QuerySet[Any]:
    """Filter runs that have at least one term of every group; none without groups.

    If `few`, the runs are few and each is looked up among the matches. Otherwise the matches are read in arrival order.
    """
    if not terms:
        return runs.none()
    if connection.vendor == "sqlite":
        return _among_found_on_sqlite(runs, terms) if few else _found_on_sqlite(runs, terms)
    return _found(runs, terms)


def _with_words(rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
    """Select runs, or rows of a procedure, that have search words."""
    return rows.filter(**{f"{'' if rows.model is Run else 'run__'}search__isnull": False})


def count_arrivals(found: models.QuerySet[Any], sign: str, number: int) -> models.QuerySet[Any]:
    return found.extra(where=[f"{_position()} {sign} %s"], params=[number])  # noqa: S610 - fixed names


def order_by_arrival(found: models.QuerySet[Any], *, newest_first: bool, few: bool) -> models.QuerySet[Any]:
    """Order matches by arrival. If `few`, they are sorted.

    PostgreSQL assumes that a word without statistics is common, and would otherwise scan everything in order.
    """
    if few and connection.vendor != "sqlite":
        found = found.extra(select={"arrival": f"{_position()} + 0"})  # noqa: S610 - fixed names
        return found.order_by("-arrival" if newest_first else "arrival")
    return found.extra(order_by=[f"{'-' if newest_first else ''}{_position()}"])


def counts_by_arrival(terms: Sequence[Sequence[Term]], numbers: Sequence[int | None]) -> list[int]:
    """Count the matches between each of these numbers and the next; None is the end. Only the index is read."""
    least = next((number for number in numbers if number is not None), None)
    if least is None:
        return [0] * (len(numbers) - 1)
    beyond = SearchText.objects.order_by("-pk").values_list("pk", flat=True)[0] + 1
    bounds = [beyond if number is None else number for number in numbers]
    if connection.vendor == "sqlite":
        table, where, query = "runs_words", "runs_words MATCH %s", _query_of_sqlite(terms)
    else:
        table, where, query = "runs_searchtext", "found_by @@ %s::tsquery", _query_of_postgresql(terms)
    name = _position()
    counted = ", ".join(f"count(*) FILTER (WHERE {name} >= %s AND {name} < %s)" for _ in bounds[1:])
    between = [bound for span in pairwise(bounds) for bound in span]
    with connection.cursor() as cursor:
        cursor.execute(  # fixed names; the search terms are parameters
            f"SELECT {counted} FROM {table} WHERE {where} AND {name} >= %s",  # noqa: S608
            [*between, query, least],
        )
        return list(cursor.fetchone())


def _position() -> str:
    """Return the column by which the index is ordered."""
    return "runs_words.rowid" if connection.vendor == "sqlite" else "runs_searchtext.id"


def _found_on_sqlite(runs: models.QuerySet[Any], terms: Sequence[Sequence[Term]]) -> models.QuerySet[Any]:
    # the plus keeps the planner from querying the index once for every run
    joined = "runs_searchtext.id = +runs_words.rowid"
    return _with_words(runs).extra(  # noqa: S610 - fixed names; the query is a parameter
        tables=["runs_words"], where=[joined, "runs_words MATCH %s"], params=[_query_of_sqlite(terms)]
    )


def _among_found_on_sqlite(runs: models.QuerySet[Any], terms: Sequence[Sequence[Term]]) -> models.QuerySet[Any]:
    found = "+runs_searchtext.id IN (SELECT rowid FROM runs_words WHERE runs_words MATCH %s)"
    return _with_words(runs).extra(where=[found], params=[_query_of_sqlite(terms)])  # noqa: S610


def _query_of_sqlite(terms: Sequence[Sequence[Term]]) -> str:
    return _query(terms, " OR ", " AND ", lambda word, star: f'"{word}"{star}')


def _found(runs: models.QuerySet[Any], terms: Sequence[Sequence[Term]]) -> models.QuerySet[Any]:
    query = _query_of_postgresql(terms)
    return _with_words(runs).extra(where=["runs_searchtext.found_by @@ %s::tsquery"], params=[query])


def _query_of_postgresql(terms: Sequence[Sequence[Term]]) -> str:
    return _query(terms, " | ", " & ", lambda word, star: f"'{word}'{':*' if star else ''}")


def _query(terms: Sequence[Sequence[Term]], either: str, both: str, quoted: Callable[[str, str], str]) -> str:
    """Build a query. Terms contain only letters, digits, `_` and `=`, so that quoting is safe."""
    groups = [either.join(quoted(term.rstrip("*"), "*" * term.endswith("*")) for term in group) for group in terms]
    return both.join(f"({group})" for group in groups)


NAME_LENGTH = 40
QUERY_LENGTH = 4_000  # of the query string
MAX_SEARCHES = 20


class TooManySearches(Exception):
    """The user has reached the limit of saved views."""

    def __init__(self) -> None:
        super().__init__(f"You have {MAX_SEARCHES} saved views, as many as one person may. Delete one first.")


class SavedSearchQuerySet(models.QuerySet["SavedSearch"]):
    @transaction.atomic
    def save_view(self, user: Any, name: str, query: str) -> "SavedSearch":
        """Save a view, replacing one of the same name. Raises TooManySearches."""
        view, made = self.update_or_create(user=user, name=name, defaults={"query": query})
        if made and self.filter(user=user).count() > MAX_SEARCHES:
            raise TooManySearches
        return view


class SavedSearch(models.Model):
    """A named history filter of a user. `query` is its query string."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=NAME_LENGTH)
    query = models.CharField(max_length=QUERY_LENGTH, blank=True)
    made = models.DateTimeField(default=timezone.now)

    objects = SavedSearchQuerySet.as_manager()

    class Meta:
        db_table = "runs_savedview"
        default_permissions = ()  # users only access their own
        ordering = ["made", "pk"]
        constraints = [models.UniqueConstraint("user", "name", name="one_view_per_name")]

    def __str__(self) -> str:
        return self.name
