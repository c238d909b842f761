"""Which names people cannot tell from one another."""

import pytest

from engine.names import look_alike

ZERO_WIDTH = "Per\u200bson"
FULL_WIDTH = "Ｐｅｒｓｏｎ"
CYRILLIC = "Реrѕоn"
COMBINING = "Pe\u0301rson"
DISGUISES = {
    *(ZERO_WIDTH, FULL_WIDTH, CYRILLIC, COMBINING, "PERSON", " Person\u00a0", "Per\u00adson", "Pers\u043en", "Pérson"),
    *(
        "Perso\u043f",
        "Pe\u0433son",
        "Perso\u039d",
        "𝐏𝐞𝐫𝐬𝐨𝐧",
        "Ⓟerson",
        "Person\ufe0f",
        "\u202ePerson",
        "ᴘᴇʀsᴏɴ",
        "ᏢersOn",
        "Pers\u0585\u0578",
    ),
}
APART = [
    *[("Ada", "Ben"), ("Ian", "Lan"), ("राम", "रमा"), ("कुल", "कल"), ("か", "が"), ("Нина", "Инна"), ("Вера", "Лера")],
    *[("ΝΙΚΟΣ", "ΝΙΚΗ"), ("김", "긴"), ("山田", "田山"), ("A-1", "A_1"), ("Reviewer 1", "Reviewer 2"), ("กา", "กี")],
]


def test_a_name_in_disguise_is_taken_for_what_it_looks_like():
    assert [name for name in DISGUISES if look_alike(name, ["Ada", "Person"]) != "Person"] == []


def test_names_that_people_tell_apart_are_two():
    assert [pair for pair in APART if look_alike(pair[0], [pair[1]])] == []


@pytest.mark.parametrize("pair", [("ΝΙΚΟΣ", "νικος"), ("МАША", "маша"), ("Straße", "STRASSE"), ("a–b", "a-b")])
def test_names_in_other_letters_of_one_script_are_one(pair):
    assert look_alike(pair[0], [pair[1]]) == pair[1]


def test_no_name_looks_like_no_name():
    assert look_alike("", ["", " "]) is None
