"""The page that looks at evidence reads of a zip what anybody gets who unpacks it, or nothing."""

import warnings
import zipfile
from io import BytesIO

from tests.acceptance.test_check import File, old, plate_in, visitor  # noqa: F401  # visitor: a fixture
from tests.acceptance.test_old_records import VERIFIER_KEY, VERSIONS

MORE_THAN_ONE = "There is more than one record in this file."
TWICE = "A name is in this file twice."
TWO_WAYS = "A name in this file can be read in two ways."


def packed(*names: str) -> bytes:
    """The first record is an honest one."""
    file = BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(file, "w") as archive:
        for number, name in enumerate(names):
            archive.writestr(name, b"another" if number else old(VERSIONS[0]))
    return file.getvalue()


def seen(visitor, data: bytes) -> tuple[str, str]:  # noqa: F811
    plate = plate_in(visitor, File("", data, VERIFIER_KEY, "", ""))
    return plate, visitor.locator("#no-evidence span").text_content()


REFUSED = [
    (("magi-1/record.json", "magi-1/record.json"), MORE_THAN_ONE),
    (("magi-1/record.json", "magi-1/RECORD.JSON"), MORE_THAN_ONE),
    (("magi-1/record.json", "magi-1/record.json."), MORE_THAN_ONE),
    (("magi-1/record.json", "magi-2/records.jsonl"), MORE_THAN_ONE),
    (("magi-1/record.json", "magi-1/verify.py", "magi-1/./Verify.py"), TWICE),
    (("magi-1/record.json", "magi-1\\record.json"), TWO_WAYS),
    (("magi-1/record.json", "magi-1/re\u0441ord.txt"), TWO_WAYS),
]


def test_a_zip_that_unpacks_to_another_record_is_refused(visitor):  # noqa: F811
    wrong = [names for names, said in REFUSED if seen(visitor, packed(*names)) != ("none", said)]
    assert not wrong


def test_a_zip_that_has_more_than_it_says_is_refused(visitor):  # noqa: F811
    whole = packed("magi-1/record.json", "magi-1/record.json")
    at = whole.rindex(b"PK\5\6")
    fewer = whole[: at + 8] + b"\1\0\1\0" + whole[at + 12 :]
    assert zipfile.ZipFile(BytesIO(fewer)).read("magi-1/record.json") == b"another"
    assert seen(visitor, fewer) == ("none", "This is no evidence file.")


def test_a_record_with_one_name_outside_and_another_inside_is_refused(visitor):  # noqa: F811
    other = packed("magi-1/record.json").replace(b"record.json", b"verify_.txt", 1)
    assert seen(visitor, other) == ("none", "The record in this file has two names.")


def test_a_zip_that_a_mac_made_anew_is_read(visitor):  # noqa: F811
    assert seen(visitor, packed("magi-1/record.json", "__MACOSX/magi-1/._record.json"))[0] == "intact"
