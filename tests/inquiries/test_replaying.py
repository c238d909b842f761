"""What is shown of an inquiry at a moment that is past."""

from datetime import timedelta

import pytest

from inquiries.replay import at_moment
from runs.procedure.spec import snapshot_of
from tests.inquiries.scenes import inquiry


@pytest.mark.django_db
def test_from_its_first_moment_on_it_looks_in_the_documents_that_came_with_it(mira):
    row = inquiry(mira)
    seen = snapshot_of(row.run)
    begun = at_moment(seen.row, seen.run.created - timedelta(seconds=1))
    assert [one.number for one in begun.sources.all()] == [1, 2]
