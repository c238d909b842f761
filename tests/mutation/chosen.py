"""A plugin of pytest: of what is collected it plays the chosen tests alone, in their order, and writes down the first
that fails."""

import json
import os
from pathlib import Path

import pytest


def pytest_collection_finish(session: pytest.Session) -> None:
    """What commits comes last, as otherwise; a file's tests stay together, for they may share servers. Where none are
    chosen, those without a database come first."""
    ids = json.loads(Path(os.environ["MAGI_MUTATION_CHOSEN"]).read_text())
    places = {test: place for place, test in enumerate(ids)}
    files = {test.partition("::")[0]: place for test, place in reversed(places.items())}

    def order(item: pytest.Item) -> tuple[bool, int]:
        place = files[item.nodeid.partition("::")[0]] if ids else bool(item.get_closest_marker("database"))
        return bool(item.get_closest_marker("commits")), place

    session.items[:] = sorted((item for item in session.items if item.nodeid in places or not ids), key=order)


def _note(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.failed:
        with open(os.environ["MAGI_MUTATION_FAILED"], "a") as file:
            file.write(f"{report.nodeid}\n")


pytest_runtest_logreport = pytest_collectreport = _note
