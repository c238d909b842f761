"""Places of those who wait or follow: everybody has a share, and nobody can keep all others out."""

from contextlib import suppress
from types import SimpleNamespace

import pytest

from runs.api import waiting
from runs.api.errors import ApiError
from runs.api.waiting import ListenerSlots


@pytest.fixture
def places(monkeypatch):
    monkeypatch.setattr(waiting, "MAX_LISTENERS", 12)
    monkeypatch.setattr(waiting, "MAX_LISTENERS_PER_USER", 6)
    return ListenerSlots()


def take(places, user, number=1):
    return [places.take(SimpleNamespace(pk=user)) for _ in range(number)]


def shares(places):
    return sorted(len(of) for of in places._of.values())


def test_whoever_comes_last_gets_the_oldest_place_of_whoever_has_most(places):
    greedy = [take(places, user, 6) for user in ("a", "b")]
    (place,) = take(places, "c")
    assert not place.lost
    assert [[p.lost for p in of].index(True) for of in greedy if any(p.lost for p in of)] == [0]
    assert places.total() == 12


@pytest.mark.parametrize(("users", "share"), [(3, 4), (4, 3), (6, 2), (12, 1)])
def test_each_of_many_users_has_an_equal_share_in_the_end(places, users, share):
    for user in range(users):
        for _ in range(6):
            with suppress(ApiError):
                take(places, user)
    assert shares(places)[0] >= share


def test_two_users_do_not_take_one_place_from_each_other_again_and_again(places):
    for user in range(4):
        take(places, user, 3)
    with pytest.raises(ApiError, match="Too many"):
        take(places, 0)


def test_one_user_has_a_limit_although_nobody_else_waits(places):
    take(places, "a", 6)
    with pytest.raises(ApiError, match="6 calls"):
        take(places, "a")


def test_places_come_back_whether_they_were_lost_or_not(places):
    user = SimpleNamespace(pk="a")
    first, second = take(places, "a", 2)
    first.lose()
    places._of["a"].remove(first)
    places.give_back(user, first)
    places.give_back(user, second)
    assert (places.total(), places._of) == (0, {})
