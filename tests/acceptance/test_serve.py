import pytest

from tests.acceptance.site import ServedSite, manage


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ServedSite(tmp_path_factory.mktemp("served")) as site:
        yield site


def test_a_taken_port_is_said_and_no_link_is_printed(site):
    done = manage("serve", "--port", str(site.port), env=site.env)
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot be used" in done.stderr


def test_other_machines_are_not_served_without_https(site):
    done = manage("serve", "--host", "0.0.0.0", env=site.env)
    assert done.returncode == 1
    assert "ALLOWED_HOSTS" in done.stderr


def test_the_first_words_say_where_it_is_how_to_come_in_who_answers_and_where_the_data_lie(site):
    said = site.log.read_text()
    assert said.startswith(f"MAGI is at {site.url}/\n\n  Sign in  {site.url}/accounts/enter/")
    assert "  Models   none is set up: agents rehearse, by a stated rule and at no cost\n" in said
    assert f"  Data     {site.log.parent}/magi.sqlite3\n" in said


def test_that_the_database_is_prepared_is_said_before_and_never_again(tmp_path):
    for first in ("Preparing the database ...\nMAGI is at ", "MAGI is at "):
        with ServedSite(tmp_path, empty=True) as site:
            assert site.log.read_text().startswith(first)
        site.log.unlink()


def test_the_providers_are_named_without_their_keys(tmp_path):
    with ServedSite(tmp_path, OPENAI_API_KEY="sk-canary-1234567890", MAGI_DEFAULT_MODEL="openai/gpt-a") as site:
        said = site.log.read_text()
    assert "  Models   of openai; where none is named, openai/gpt-a\n" in said
    assert "canary" not in said
