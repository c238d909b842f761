from engine.plurals import counted, ordinal


def test_one_is_one_and_all_others_are_many():
    assert [counted(number, "model") for number in (0, 1, 2, 1_200)] == [
        "0 models",
        "1 model",
        "2 models",
        "1,200 models",
    ]
    assert counted(2, "entry", "entries") == "2 entries"


def test_ordinals_end_as_they_are_spoken():
    numbers = (1, 2, 3, 4, 11, 12, 13, 21, 22, 101, 111, 1_003)
    assert " ".join(map(ordinal, numbers)) == "1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 101st 111th 1,003rd"
