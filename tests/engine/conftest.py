import pytest

from judgements.models import Judgement
from tests.databases import kept_for_a_module
from tests.engine.guarded import make_judged

made = kept_for_a_module(make_judged)


@pytest.fixture
def judged(made):
    """It is there no more after a test that commits."""
    return Judgement.objects.filter(pk=made).first() or Judgement.objects.get(pk=make_judged())
