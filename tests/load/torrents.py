"""Seven agents whose endpoints never stop sending, on a served site: is it still there for everybody else?

    python -m tests.load.torrents --seconds 60

Site and engine are one process. /healthz is asked all the time from another one, and a second user's judgements come
one after the other. Exit status 0 if /healthz took less than a second at p99, those judgements all ended in a verdict,
every attempt ended within its deadline and a second, and the memory stayed flat.
"""

import argparse
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

from tests.acceptance.site import ServedSite
from tests.endpoint import ScriptedEndpoint
from tests.stage import stage

DEADLINE = 10
TORRENT = "Meets a torrent."
AGENTS = 7
LARGEST_GROWTH = 48.0  # MB


def submit(criteria: list[str]) -> str:
    from judgements.models import Judgement
    from tests.conftest import NAMES

    # a model for each kind of agent, as users who do not know each other have
    agents = [
        {"name": name, "model": "openai/torrent" if one == TORRENT else "openai/good", "criteria": one}
        for name, one in zip(NAMES, criteria, strict=True)
    ]
    return str(Judgement.objects.submit(owner=None, content="Shall the bridge be closed?", agents=agents).pk)


def submit_torrents() -> list[str]:
    whole, rest = divmod(AGENTS, 3)
    return [submit([TORRENT] * 3) for _ in range(whole)] + [submit([TORRENT] * rest + ["Be quick."] * (3 - rest))]


class HealthPoller(threading.Thread):
    """Asks /healthz without a pause worth speaking of, and looks at the memory of the site."""

    def __init__(self, site: ServedSite) -> None:
        super().__init__(daemon=True)
        self.site, self.took, self.megabytes = site, list[float](), list[float]()
        self._enough = threading.Event()

    def run(self) -> None:
        while not self._enough.wait(0.05):
            began = time.monotonic()
            urlopen(f"{self.site.url}/healthz", timeout=60).close()
            self.took.append(time.monotonic() - began)
            pages = int(Path(f"/proc/{self.site.process.pid}/statm").read_text().split()[1])
            self.megabytes.append(pages * 4096 / 1e6)

    def stop(self) -> None:
        self._enough.set()
        self.join()


def judge_beside(seconds: float) -> Iterator[float]:
    """How long each judgement of somebody else took, one after the other; infinite where it has no verdict."""
    from engine.models import Run

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began, pk = time.monotonic(), submit(["Be careful."] * 3)
        while not (run := Run.objects.get(pk=pk)).is_ended:
            time.sleep(0.05)
        yield time.monotonic() - began if run.status == Run.Status.FINISHED else float("inf")


def attempts() -> list[float]:
    from engine.models import ModelCall

    calls = ModelCall.objects.filter(model="openai/torrent").exclude(ended=None)
    return [call.seconds or 0.0 for call in calls]


def main(seconds: float, limit: float) -> int:
    with (
        ScriptedEndpoint() as endpoint,
        stage("sqlite", OPENAI_BASE_URL=endpoint.base_url, MAGI_CALL_TIMEOUT=f"{DEADLINE}") as place,
    ):
        endpoint.script(by_text=[[TORRENT, {"behaviour": "torrent"}]], default={"delay": 0.05})
        with ServedSite(place.folder, **place.env) as site:
            quiet = list(judge_beside(3))
            asker = HealthPoller(site)
            submit_torrents()
            asker.start()
            beside = list(judge_beside(seconds))
            asker.stop()
            longest = max(attempts(), default=0.0)
    return report(quiet, beside, asker, longest, limit)


def report(quiet: list[float], beside: list[float], asker: HealthPoller, longest: float, limit: float) -> int:
    took, began = sorted(asker.took), asker.megabytes[len(asker.megabytes) // 5]
    p99, growth = took[int(len(took) * 0.99)], asker.megabytes[-1] - began
    print(
        f"/healthz: {len(took)} times, {took[len(took) // 2]:.3f} s at the median, {p99:.3f} s at p99, {took[-1]:.3f} s"
    )
    print(f"judgements before: {len(quiet)}, {sorted(quiet)[len(quiet) // 2]:.2f} s at the median")
    print(
        f"judgements beside: {len(beside)}, {sorted(beside)[len(beside) // 2]:.2f} s at the median, {max(beside):.2f} s"
    )
    print(f"longest attempt of {DEADLINE} s at a torrent: {longest:.1f} s")
    print(f"memory: {began:.0f} MB, {max(asker.megabytes):.0f} MB at most, {growth:+.0f} MB at the end")
    good = p99 < limit and max(beside) < float("inf") and longest < DEADLINE + limit and growth < LARGEST_GROWTH
    return 0 if good else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Serve a site whose models never stop sending.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--limit", type=float, default=1, help="seconds of delay; a loaded machine needs more")
    options = parser.parse_args()
    sys.exit(main(options.seconds, options.limit))
