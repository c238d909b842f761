"""What decides who sees a judgement, what finds it and what a key means: no evidence, and verified all the same."""

from django.contrib.auth.models import User
from django.db import connection

from runs.models import IdempotencyKey, SearchText
from tests.corpus.history import History
from tests.corpus.means import CASES, INSIDE, case, sql


@case("approved", inside=True)
def judgement_given_to_another_account(h: History) -> None:
    sql("UPDATE engine_run SET owner_id = %s WHERE id = %s", User.objects.create_user("noor").pk, h.approved)


@case("approved", inside=True)
def judgement_taken_from_its_account(h: History) -> None:
    sql("UPDATE engine_run SET owner_id = NULL WHERE id = %s", h.approved)


@case("going_on", inside=True)
def request_of_a_key_exchanged(h: History) -> None:
    sql("UPDATE runs_idempotencykey SET request_hash = %s", "1" * 64)


@case("going_on", inside=True)
def key_exchanged(h: History) -> None:
    sql("UPDATE runs_idempotencykey SET key = 'other'")


@case("approved", inside=True)
def key_moved_to_another_judgement(h: History) -> None:
    sql("UPDATE runs_idempotencykey SET run_id = %s", h.approved)


@case("approved", inside=True)
def key_inserted_for_a_judgement_that_came_without(h: History) -> None:
    IdempotencyKey.objects.create(owner=h.mira, key="new", request_hash="0" * 64, run_id=h.approved)


@case("going_on", inside=True)
def key_deleted(h: History) -> None:
    sql("DELETE FROM runs_idempotencykey")


@case("going_on", inside=True)
def key_given_to_another_account(h: History) -> None:
    sql("UPDATE runs_idempotencykey SET owner_id = %s", User.objects.create_user("noor").pk)


@case("approved", inside=True)
def words_emptied(h: History) -> None:
    sql("UPDATE runs_searchtext SET words = '' WHERE run_id = %s", h.approved)


@case("approved", inside=True)
def words_deleted(h: History) -> None:
    sql("DELETE FROM runs_searchtext WHERE run_id = %s", h.approved)


@case("noted", inside=True)
def flag_taken_away(h: History) -> None:
    sql("UPDATE runs_searchtext SET words = replace(words, ' =flag=overridden', '')")


@case("rejected", inside=True)
def label_of_the_verdict_exchanged(h: History) -> None:
    sql("UPDATE runs_searchtext SET words = replace(words, '=verdict=rejected', '=verdict=approved')")


def label_added(label: str, whose: str) -> None:
    add = f"UPDATE runs_searchtext SET words = words || ' {label}' WHERE run_id = %s"
    CASES[f"label_added_{label}"] = (whose, lambda h: sql(add, getattr(h, whose)))
    INSIDE.add(f"label_added_{label}")


for label, whose in (
    ("=verdict=rejected", "approved"),
    ("=verdict=approved", "going_on"),
    ("=flag=overridden", "approved"),
    ("=flag=redacted", "cancelled"),
    ("=by=1000000", "approved"),
    ("=council=1000000", "rejected"),
    ("=rehearsal=True", "approved"),
    ("=id=00000000", "approved"),
):
    label_added(label, whose)


@case("approved", inside=True)
def label_added_beside_its_table(h: History) -> None:
    if connection.vendor == "postgresql":  # its index has nothing beside the table
        return sql("UPDATE runs_searchtext SET words = words || ' =flag=noted' WHERE run_id = %s", h.approved)
    number, words = SearchText.objects.values_list("pk", "words").get(run=h.approved)
    sql("INSERT INTO runs_words(runs_words, rowid, words) VALUES ('delete', %s, %s)", number, words)
    return sql("INSERT INTO runs_words(rowid, words) VALUES (%s, %s)", number, f"{words} =flag=noted")


@case("approved", inside=True)
def index_emptied_beside_its_table(h: History) -> None:
    if connection.vendor == "postgresql":
        return words_emptied(h)  # its index has nothing beside the table
    number, words = SearchText.objects.values_list("pk", "words").get(run=h.approved)
    delete = "INSERT INTO runs_words(runs_words, rowid, words) VALUES ('delete', %s, %s)"
    return sql(delete, number, words)
