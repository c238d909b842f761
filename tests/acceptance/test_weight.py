"""What a first visit costs: the live page with all that it loads, and from where."""

from collections import Counter

import pytest
from django.urls import reverse
from playwright.sync_api import sync_playwright

from tests.acceptance.chromium import launch
from tests.acceptance.scene import Scene

MOST = 250_000


@pytest.fixture(scope="module")
def scene(chromium, tmp_path_factory):
    folder = tmp_path_factory.mktemp("weight")
    with sync_playwright() as playwright, Scene(launch(playwright), folder) as scene:
        yield scene


def test_a_first_visit_of_the_live_page_is_light_and_asks_no_other_host(scene):
    pk = scene.judgement("approved")
    asked, kinds, weights = [], {}, Counter()
    devtools = scene.context.new_cdp_session(scene.page)
    devtools.send("Network.enable")
    devtools.send("Network.setCacheDisabled", {"cacheDisabled": True})
    devtools.on("Network.requestWillBeSent", lambda event: asked.append(event["request"]["url"]))
    devtools.on("Network.responseReceived", lambda event: kinds.update({event["requestId"]: event["type"]}))
    devtools.on(
        "Network.loadingFinished",
        lambda event: weights.update({kinds[event["requestId"]]: int(event["encodedDataLength"])}),
    )
    page = scene.open(reverse("live", args=[pk]))
    page.evaluate("document.fonts.ready.then(() => null)")
    page.wait_for_load_state("networkidle")
    print(dict(weights), weights.total(), len(asked))
    assert [url for url in asked if not url.startswith(f"{scene.site.url}/")] == []
    assert {"Document", "Stylesheet", "Script", "Font"} <= weights.keys()
    assert weights.total() < MOST
