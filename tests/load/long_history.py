"""How quick the history and the reviewers' lists are when they are long: every view, at the database and as a whole
answer, in milliseconds.

On SQLite it is processor time, which others on the machine do not change; a PostgreSQL server is waited for.

python -m tests.load.long_history 100000 --database postgres
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from statistics import quantiles

from tests.load.history_load import CAUSES, EVERYWHERE, FLAGS, HALF, RARE
from tests.stage import DATABASES, stage

TIMES = 40


@dataclass
class HistoryQueryCount:
    name: str
    user: object
    asked: dict[str, str]
    path: str = "/runs/"


def views(load) -> list[HistoryQueryCount]:
    from django.utils import timezone

    from judgements.models import Judgement

    deep = Judgement.objects.filter(run__owner=load.busy).order_by("-run__created")[min(25_000, load.number // 2)].pk
    month = {"since": str((timezone.now() - timedelta(days=30)).date())}
    old = {"until": str((timezone.now() - timedelta(seconds=30 * load.number - 86_400)).date())}
    council = {"council": str(load.councils[0].pk)}
    asked = {
        "first page": {},
        "page 1,000": {"before": str(deep)},
        "common word": {"q": f"{EVERYWHERE} "},
        "common word, page 1,000": {"q": EVERYWHERE, "before": str(deep)},
        "word in half": {"q": HALF},
        "rare word": {"q": RARE},
        "no match": {"q": "qqqqqqq"},
        "two words": {"q": f"{HALF} {EVERYWHERE}"},
        "rare and common": {"q": f"{RARE} {EVERYWHERE}"},
        "one letter": {"q": "d"},
        "two letters": {"q": "de"},
        "four letters": {"q": "deci"},
        "council": council,
        "council and common word": council | {"q": EVERYWHERE},
        "since": month,
        "until, the oldest": old,
        "until and common word": old | {"q": EVERYWHERE},
        **{f"outcome {word}": {"outcome": word} for word in ("approved", "rejected", "error", "cancelled", "idle")},
        "error and common word": {"outcome": "error", "q": EVERYWHERE},
        "judging and common word": {"outcome": "judging", "q": EVERYWHERE},
        "today": {"days": "today"},
        "last week": {"days": "week"},
        "mine": {"by": "me"},
        "asked by one with few": {"by": str(load.few.pk)},
        "name of who asked": {"q": "few"},
        "name of an agent": {"q": "melchior"},
        "nothing, by five filters": old | council | {"q": "qqqqqqq", "outcome": "approved", "by": "me"},
        **{f"sorted {sort}": {"sort": sort} for sort in ("created", "by", "-took", "took")},
        "sorted -took, common word": {"sort": "-took", "q": EVERYWHERE},
        "sorted by, failed": {"sort": "by", "outcome": "error"},
        "sorted created, common word": {"sort": "created", "q": EVERYWHERE},
    }
    users = {"staff": load.staff, "busy": load.busy, "few": load.few}
    return [
        HistoryQueryCount(f"{who}: {name}", user, what) for who, user in users.items() for name, what in asked.items()
    ]


def reviews(load) -> list[HistoryQueryCount]:
    """The views of the list in the admin."""
    from django.urls import reverse
    from django.utils import timezone

    from judgements.models import Judgement

    deep = {"before": str(Judgement.objects.order_by("-run__created")[min(50_000, load.number // 2)].pk)}
    now = timezone.now()
    days = {f"run__created__{part}": str(getattr(now, part)) for part in ("year", "month", "day")}
    names = list(days)
    month, year = {name: days[name] for name in names[:2]}, {names[0]: days[names[0]]}
    statuses = {f"status {word}": {"status": word} for word in ("approved", "error", "judging")}
    flags = {f"flag {flag}": {"flag": flag} for flag in FLAGS}
    asked = {
        "first page": {},
        "page 1,000": deep,
        **statuses,
        **flags,
        "council": {"council": str(load.councils[0].pk)},
        "busy person": {"person": str(load.busy.pk)},
        "person with few": {"person": str(load.few.pk)},
        "person by name": {"who": "few"},
        "models asked": {"rehearsal": "no"},
        "rehearsed": {"rehearsal": "yes"},
        "year": year,
        "month": month,
        "day": days,
        "since": {"since": str((now - timedelta(days=30)).date())},
        "common word": {"q": EVERYWHERE},
        "rare word": {"q": RARE},
        "no match": {"q": "qqqqqqq"},
        "common word, page 1,000": {"q": EVERYWHERE} | deep,
        "flag, page 1,000": {"flag": "changed"} | deep,
        "rare flag and common word": {"flag": "fallback", "q": EVERYWHERE},
        "status, flag, month and word": {"status": "rejected", "flag": "swayed", "q": HALF} | month,
        "error and common word": {"status": "error", "q": EVERYWHERE},
    }
    path = reverse("admin:judgements_judgement_changelist")
    return [HistoryQueryCount(f"review: {name}", load.staff, what, path) for name, what in asked.items()]


def reviews_of_all(load) -> list[HistoryQueryCount]:
    """The views of the list of all kinds in the admin."""
    from django.urls import reverse
    from django.utils import timezone

    from engine.models import Run

    deep = {"before": str(Run.objects.order_by("-created")[min(50_000, load.number // 2)].pk)}
    asked = {
        "first page": {},
        "page 1,000": deep,
        "of a kind": {"kind": "judgement"},
        "of a kind, page 1,000": {"kind": "judgement"} | deep,
        "status error": {"status": "error"},
        "flag changed": {"flag": "changed"},
        "busy person": {"person": str(load.busy.pk)},
        "year": {"created__year": str(timezone.now().year)},
        "common word": {"q": EVERYWHERE},
        "error and common word": {"status": "error", "q": EVERYWHERE},
    }
    path = reverse("admin:engine_run_changelist")
    return [HistoryQueryCount(f"review of all: {name}", load.staff, what, path) for name, what in asked.items()]


def libraries(load) -> list[HistoryQueryCount]:
    """The library, which counts what was done with each council."""
    from django.urls import reverse

    users = {"staff": load.staff, "busy": load.busy, "few": load.few}
    asked = {"all": {}, "search": {"q": "mel"}}
    return [
        HistoryQueryCount(f"library, {who}: {name}", user, what, reverse("library"))
        for who, user in users.items()
        for name, what in asked.items()
    ]


def desks(load) -> list[HistoryQueryCount]:
    """The views of the reviewers' desk, its figures and its records."""
    from django.urls import reverse
    from django.utils import timezone

    from engine.models import Run

    path = reverse("review")
    newest = Run.objects.filter(status="failed").order_by("-created")
    last_month = (timezone.now().replace(day=1) - timedelta(days=1)).strftime("%Y-%m")
    cause = " ".join(CAUSES[2])
    asked = {
        "newest month": {},
        **{look: {"look": look} for look in ("error", "overridden", "swayed")},
        "last month": {"month": last_month, "look": "error"},
        "one cause": {"look": "error", "cause": cause},
        "error, page 6": {"look": "error", "before": str(newest[500].pk)},
    }
    figures = {"look": "error", "shown": cause, "newest": str(newest[0].pk)}
    finished = Run.objects.filter(status="finished").order_by("-created")[0].pk
    return [
        *(HistoryQueryCount(f"desk: {name}", load.staff, what, path) for name, what in asked.items()),
        HistoryQueryCount("desk: figures", load.staff, figures, reverse("review-figures")),
        HistoryQueryCount(
            "desk: a record, error", load.staff, {"look": "error"}, reverse("review-one", args=[newest[0].pk])
        ),
        HistoryQueryCount(
            "desk: a record, swayed", load.staff, {"look": "swayed"}, reverse("review-one", args=[finished])
        ),
    ]


class QueryClock:
    """Wraps every query, and adds up what they take."""

    def __init__(self) -> None:
        from django.db import connection

        self._now = time.thread_time if connection.vendor == "sqlite" else time.perf_counter
        self.spent, self.queries = 0.0, 0

    def __call__(self, execute, sql, params, many, context):
        began = self._now()
        try:
            return execute(sql, params, many, context)
        finally:
            self.spent += (self._now() - began) * 1000
            self.queries += 1

    def milliseconds(self, do: Callable[[], object]) -> float:
        began = self._now()
        do()
        return (self._now() - began) * 1000


def measure(asked: HistoryQueryCount) -> str:
    from django.db import connection
    from django.test import Client

    client = Client(SERVER_NAME="localhost")
    client.force_login(asked.user)
    assert client.get(asked.path, asked.asked).status_code == 200
    wholes, databases = [], []
    for _ in range(TIMES):
        clock = QueryClock()
        with connection.execute_wrapper(clock):
            wholes.append(clock.milliseconds(lambda: client.get(asked.path, asked.asked)))
        databases.append(clock.spent)
    return f"{asked.name:34} {spread(databases)} {spread(wholes)}  {clock.queries} queries"


def spread(times: list[float]) -> str:
    cuts = quantiles(times, n=100, method="inclusive")
    return f"{cuts[49]:8.1f} {cuts[94]:8.1f} {cuts[98]:8.1f}"


def main(options: argparse.Namespace) -> None:
    with stage(options.database) as place:
        from tests.load.history_load import Load

        load = Load(options.judgements, councils=options.councils)
        load.make(options.detailed)
        print(f"{options.judgements} judgements, {size(place)} MB")
        print(f"{'':34} {'database p50, p95, p99':>26} {'answer p50, p95, p99':>26}")
        for asked in [*views(load), *reviews(load), *reviews_of_all(load), *libraries(load), *desks(load)]:
            if not asked.name.startswith(options.only):
                continue
            print(measure(asked), flush=True)


def size(place) -> int:
    from django.db import connection

    if connection.vendor == "sqlite":
        return sum(file.stat().st_size for file in place.folder.glob("*.sqlite3*")) // 2**20
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return cursor.fetchone()[0] // 2**20


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure a long history.")
    parser.add_argument("judgements", type=int, nargs="?", default=100_000)
    parser.add_argument("--detailed", type=int, default=5_000, help="so many with their decisions")
    parser.add_argument("--councils", type=int, default=0, help="so many at least, which the library counts by")
    parser.add_argument("--only", default="", help="views whose name begins so, as in review:")
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    main(parser.parse_args())
