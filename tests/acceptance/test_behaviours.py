import pytest

from tests.behaviour_table import CASES, DEADLINE, DOCUMENT, KEY, PATIENCE, document, play, providers
from tests.endpoint import ScriptedEndpoint


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
async def test_whatever_an_endpoint_does_ends_in_the_right_failure_after_the_right_requests(settings, caplog):
    with ScriptedEndpoint() as endpoint:
        settings.PROVIDERS, settings.SERVER_PATIENCE = providers(endpoint), PATIENCE
        outcomes = await play(endpoint)
    assert [(o.case.name, o.ends, o.requests) for o in outcomes] == [(c.name, c.ends, c.requests) for c in CASES]
    assert [o.case.name for o in outcomes if o.attempts != o.requests or o.siblings != 2] == []
    assert max(o.longest for o in outcomes) < DEADLINE + 1
    assert DOCUMENT.read_text() == document(outcomes), "python -m tests.behaviour_table writes the page anew"
    assert KEY not in caplog.text
