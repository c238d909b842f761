"""Where a forge opens a pull request, by where branches go."""

import pytest

from missions.pull_requests import forge_of

OPENS = {
    "https://user:key@github.com/ada/house.git": "https://github.com/ada/house/compare/main...fix/it?expand=1",
    "git@github.com:ada/house.git": "https://github.com/ada/house/compare/main...fix/it?expand=1",
    "ssh://git@gitlab.example.org:2222/team/group/house.git": (
        "https://gitlab.example.org/team/group/house/-/merge_requests/new"
        "?merge_request%5Bsource_branch%5D=fix%2Fit&merge_request%5Btarget_branch%5D=main"
    ),
    "https://codeberg.org/ada/house": "https://codeberg.org/ada/house/compare/main...fix/it",
    "https://gitea.example.org:8443/ada/house.git": "https://gitea.example.org:8443/ada/house/compare/main...fix/it",
    "https://bitbucket.org/ada/house.git": (
        "https://bitbucket.org/ada/house/pull-requests/new?source=fix%2Fit&dest=main"
    ),
}


@pytest.mark.parametrize("remote", OPENS)
def test_a_forge_opens_a_pull_request_for_the_branch_at_its_own_address(remote):
    assert forge_of(remote).request("fix/it", "main") == OPENS[remote]


@pytest.mark.parametrize(
    "remote",
    ["/srv/house.git", "file:///srv/github.com/a/b", "https://git.example.org/a/b.git", "https://github.com/a", ""],
)
def test_where_no_forge_is_known_by_its_host_there_is_no_such_address(remote):
    assert forge_of(remote) is None
