from tests.acceptance.site import Site, manage


def test_a_taken_port_is_said_and_no_link_is_printed(tmp_path):
    with Site(tmp_path) as site:
        done = manage("serve", "--port", str(site.port), env=site.env)
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot be used" in done.stderr


def test_other_machines_are_not_served_without_https(tmp_path):
    with Site(tmp_path) as site:
        done = manage("serve", "--host", "0.0.0.0", env=site.env)
    assert done.returncode == 1
    assert "ALLOWED_HOSTS" in done.stderr
