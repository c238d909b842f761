import pytest
from django.contrib.auth.models import User

from magi_site.models import Token


@pytest.fixture
def token(mira: User) -> Token:
    return Token.objects.make(mira, "ci")
