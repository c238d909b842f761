import pytest
from django.contrib.auth.models import User
from django.test import Client


@pytest.fixture
def page(client: Client, mira: User) -> Client:
    """A browser in which Mira has signed in."""
    client.force_login(mira)
    return client
