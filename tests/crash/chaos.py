"""A rough time for MAGI: workers are killed and paused, servers crash, answers go wrong, and no row may show it.

    python -m tests.crash.chaos --kills 200 --pauses 20 --database postgres

Everything is real: workers as `manage.py runengine`, a model endpoint in another process, a database, and on
PostgreSQL a Redis, both private and restarted now and then. New judgements keep coming as long as anything is done
to the workers; then what is left must end by itself, and `chaos_check` reads every row. Exit status 0 if nothing
was lost, doubled, wrong or interrupted without a cause, and everything has ended.
"""

import argparse
import sys
from pathlib import Path

from tests.crash.chaos_worker import Workers
from tests.endpoint import ScriptedEndpoint
from tests.stage import DATABASES, stage

CONCURRENCY = 6  # few, so that a kill hits few and the others go on
SERVER_RESTARTS = 40  # one restart of each server for so many kills


def main(options: argparse.Namespace) -> bool:
    with (
        ScriptedEndpoint() as endpoint,
        stage(
            options.database,
            OPENAI_BASE_URL=endpoint.base_url,
            MAGI_ENGINE_LEASE=f"{options.lease:g}",
            MAGI_CALL_TIMEOUT="10",
        ) as place,
        Workers(place.env, place.folder / "workers", CONCURRENCY) as workers,
    ):
        from tests.crash.chaos_play import ChaosPlay  # its models need the settings of the stage

        return ChaosPlay(options, place, endpoint, workers).run()


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Kill, pause and restart under load, then check every row.")
    parser.add_argument("--kills", type=int, default=200, help="SIGKILLs to workers")
    parser.add_argument("--pauses", type=int, default=20, help="workers stopped for longer than their lease")
    parser.add_argument("--restarts", type=int, help="restarts of PostgreSQL and of Redis (default: kills / 40)")
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument("--seed", type=int, default=0, help="of every chance but the machine's own")
    parser.add_argument("--pace", type=float, default=0.8, help="seconds between two blows, on average")
    parser.add_argument("--lease", type=float, default=3, help="seconds; a loaded machine needs more")
    parser.add_argument("--finished", type=int, help="so many judgements must be finished (default: as many as kills)")
    parser.add_argument("--limit", type=float, default=60, help="seconds in which the rest must end by itself")
    parser.add_argument("--log", type=Path, help="keep the log of the workers in this file")
    options = parser.parse_args()
    if options.restarts is None:
        options.restarts = max(1, options.kills // SERVER_RESTARTS)
    if options.finished is None:
        options.finished = options.kills
    return options


if __name__ == "__main__":
    sys.exit(0 if main(read_options()) else 1)
