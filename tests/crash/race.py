"""Many want the same at once, again and again, and each time one of them gets it.

    python -m tests.crash.race run --database postgres --rounds 500

run: eight processes claim one run, which waits in the queue or was left behind by a dead worker, and a crowd of them:
no run goes to two, and none is blamed for a death that all of them met. gate: fifty people decide at one gate, and each
but one is told who was first; with `--plans` also at all gates of a plan, of which somebody changes a step meanwhile.
wait: a run is about to wait while somebody tells it what it waits for, and no wake-up is lost; with `--naive` both do
what one would write first, and most are. plan: plans are carried out while people decide, change steps, speak and
cancel by dice. budget: fifty submissions with money for one. Exit status 0 if nothing was wrong.
"""

import argparse
import importlib
import sys
import time

from tests.stage import DATABASES, stage

KINDS = {"run": "claims", "gate": "deciding", "wait": "waking", "plan": "dice", "budget": "spending"}
ROUNDS = {"run": 500, "gate": 20, "wait": 400, "plan": 2, "budget": 100}


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Let many want the same at once, again and again.")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument("--seed", type=int, default=0, help="of what is done when")
    parser.add_argument("--naive", action="store_true", help="wait: as one would write it first")
    parser.add_argument("--plans", type=int, default=0, help="gate: of which somebody changes a step meanwhile")
    options = parser.parse_args()
    options.rounds = options.rounds or ROUNDS[options.kind]
    return options


if __name__ == "__main__":
    told, begun = read_options(), time.monotonic()
    with stage(told.database, OPENAI_API_KEY="sk-nobody-is-asked") as place:
        well = importlib.import_module(f"tests.crash.{KINDS[told.kind]}").play(place, told)
    print(f"{told.rounds} rounds on {told.database} in {time.monotonic() - begun:.1f} s")
    sys.exit(not well)
