"""A plugin of pytest: of what is collected it plays the chosen tests alone, in their order, and writes down the first
that fails."""

import json
import os
from pathlib import Path

import pytest


def pytest_collection_finish(session: pytest.Session) -> None:
    """What commits comes last, as otherwise; a file's tests stay together, for they may share servers."""
    ids = json.loads(Path(os.environ["MAGI_MUTATION_CHOSEN"]).read_text())
    if not ids:
        return
    places = {test: place for place, test in enumerate(ids)}
    files = {test.partition("::")[0]: place for test, place in reversed(places.items())}
    items = [item for item in session.items if item.nodeid in places]
    items.sort(key=lambda item: (bool(item.get_closest_marker("commits")), files[item.nodeid.partition("::")[0]]))
    session.items[:] = items


def _note(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.failed:
        with open(os.environ["MAGI_MUTATION_FAILED"], "a") as file:
            file.write(f"{report.nodeid}\n")


pytest_runtest_logreport = pytest_collectreport = _note
