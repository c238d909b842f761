"""What may be read on the web and what may not, against a site in another process."""

import asyncio
import socket

import pytest

from engine.web.url_policy import AddressRefused, addresses_in_text, check_address, is_public
from tests.web import WebSite
from toolbox.web import robots
from toolbox.web.fetcher import FetchLimits, WebFetcher
from toolbox.web.page_text import ADDRESSES_MACHINE_TEXT, HIDDEN, WebPageText, decode_body, page_text
from toolbox.web.search import SearchAnswer, search

# inner addresses, as they can be written; the first two dozen lead to this machine
INNER = """127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 0 0.0.0.0 localhost LOCALHOST
localhost. 127.0.0.1. [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [0:0:0:0:0:ffff:7f00:0001]
[64:ff9b::7f00:1] [64:ff9b:1::7f00:1] [2002:7f00:1::] [::ffff:0:127.0.0.1] 127.255.255.254 127.127.127.127
①②⑦.⓪.⓪.① 127。0。0。1 10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 192.168.1.1 169.254.169.254
[::ffff:a9fe:a9fe] 0xa9fea9fe 2852039166 [fe80::1] [fc00::1] [fd00:ec2::254] [fec0::1] [ff02::1] 224.0.0.1
239.255.255.250 255.255.255.255 100.64.0.1 192.0.0.170 192.0.2.1 198.18.0.1 198.51.100.7 203.0.113.9 240.0.0.1
192.88.99.1 [2001:db8::1] [100::1] [2002:c0a8:101::] [64:ff9b::a00:1] [2001:0:4136:e378:8000:63bf:80ff:fffe]
[::ffff:10.0.0.1]""".split()
ODD = """http://user@127.0.0.1/ http://user:secret@example.com/ http://example.com@127.0.0.1/ file:///etc/passwd
ftp://example.com/ gopher://127.0.0.1:70/ http://127.0.0.1:22/ https://example.com:8443/ http:///etc http://[::1
http://example.com:99999/ javascript:alert(1) //example.com/ http://a\tb/ http://exa\u200bmple.com:81/""".split(" ")


class Names:
    """Answers of a name server: those of each name in turn, the last for ever."""

    def __init__(self, **answers):
        self.answers, self.asked = {name.replace("_", "."): list(said) for name, said in answers.items()}, []

    async def resolve(self, host, port=0, family=socket.AF_INET):
        self.asked.append(host)
        said = self.answers[host]
        found = said.pop(0) if len(said) > 1 else said[0]
        base = {"hostname": host, "port": port, "family": socket.AF_INET, "proto": 0, "flags": 0}
        return [{**base, "host": one} for one in found.split()]

    async def close(self):
        pass


@pytest.fixture(scope="module")
def site():
    with WebSite() as started:
        yield started


def read(address, *allowed, resolver=None, **bounds):
    web = WebFetcher(allowed, FetchLimits(**{"apart": 0, "seconds": 5, **bounds}), resolver)
    return page_text(asyncio.run(web.page(address)))


def refused(address, *allowed, **how):
    with pytest.raises(AddressRefused) as why:
        read(address, *allowed, **how)
    return str(why.value)


def test_no_way_to_write_an_inner_address_reaches_it(site):
    """Refused where its socket would be made, or never one: that nothing answered would mean that it was tried."""
    said = {host: refused(f"http://{host}/", seconds=2) for host in INNER}
    assert len(said) >= 60
    assert not {host: why for host, why in said.items() if "nothing answers" in why or "did not send" in why}
    assert sum("not public" in why for why in said.values()) >= 50
    assert "Port" in refused(site.address("/page"))
    assert site.seen() == []


def test_what_is_no_address_of_a_page_is_refused(site):
    for address in ODD:
        with pytest.raises(AddressRefused):
            check_address(address.strip())


def test_public_addresses_are_public():
    for address in ("93.184.216.34", "8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"):
        assert is_public(address), address


def test_a_name_that_leads_inside_reaches_nothing_whatever_it_led_to_before():
    names = Names(turns_test=["127.0.0.1", "127.0.0.1 10.0.0.1", "169.254.169.254"])
    for _ in range(3):
        assert "not public" in refused("http://turns.test/page", resolver=names)
    assert names.asked == ["turns.test"] * 3


def test_a_redirect_is_looked_at_like_the_first_address(site):
    place = f"outside.test:{site.port}"
    names = Names(outside_test=["127.0.0.1"], inside_test=["127.0.0.1"])
    for to in (f"http://127.0.0.1:{site.port}/page", "http://inside.test/page", "http://[::ffff:7f00:1]/page",
               "file:///etc/passwd", "http://me:you@outside.test/page"):  # fmt: skip
        assert refused(f"http://{place}/moved?to={to}", place, resolver=names)
    assert {one["headers"]["host"] for one in site.seen() if "moved" not in one["path"]} <= {place}
    assert read(f"http://{place}/moved?to=/page", place, resolver=names).address == f"http://{place}/page"
    assert "more than 5 times" in refused(f"http://{place}/round", place, resolver=names)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/bomb", "more than 5 MB"),
        ("/large", "more than 5 MB"),
        ("/endless", "more than 5 MB"),
        ("/drip", "did not send all of it in 1 seconds"),
        ("/picture", "no text"),
        ("/nothing", "no text in it"),
        ("/gone", "status 404"),
        ("/private", "robots.txt"),
    ],
)
def test_what_cannot_be_read_says_why(site, path, said):
    assert said in refused(site.address(path), site.place, seconds=1 if path == "/drip" else 5)


def test_a_page_is_read_without_what_nobody_sees(site):
    page = read(site.address("/page"), site.place)
    assert "no heat pump may be sold whose refrigerant has a warming potential of 150 or more." in page.text
    assert "N12 | 6,350" in page.text
    assert "Hidden words" not in page.text
    assert "var x" not in page.text
    assert (page.title, page.flags) == ("Sale of heat pumps", [HIDDEN.format(number=1)])
    assert page.links == [[site.address("/sheet"), "Data sheet of the N12"], ["http://10.0.0.1/inner", "Inner"]]
    assert WebPageText.of(page.written()) == page
    assert read(site.address("/packed"), site.place).text == page.text
    assert read(site.address("/private/open"), site.place).text == page.text


def test_who_reads_says_its_name_and_nothing_else_of_this_house(site):
    read(site.address("/sheet"), site.place)
    headers = site.seen()[-1]["headers"]
    assert headers["user-agent"].startswith("MAGI/")
    assert set(headers) == {"host", "user-agent", "accept", "accept-encoding", "connection"}


@pytest.mark.parametrize("path", ["/latin", "/misnamed", "/unknown"])
def test_a_wrong_charset_is_seen_through(site, path):
    assert read(site.address(path), site.place).text == "Wärmepumpen dürfen verkauft werden."


def test_a_pdf_is_known_by_its_bytes(site):
    assert "The limit is 150 from 2027 on." in read(site.address("/pdf"), site.place).text


def test_a_page_that_speaks_to_machines_is_flagged(site):
    assert ADDRESSES_MACHINE_TEXT in read(site.address("/sheet"), site.place).flags


def test_what_cannot_be_decoded_is_said():
    assert decode_body(b"\x81\x8d\x8f abc")[1]
    assert decode_body("Straße".encode("utf-16"))[0] == "Straße"


def test_pages_of_a_host_come_one_after_the_other(site):
    async def both(web):
        began = asyncio.get_running_loop().time()
        await asyncio.gather(web.page(site.address("/page")), web.page(site.address("/sheet")))
        return asyncio.get_running_loop().time() - began

    assert asyncio.run(both(WebFetcher((site.place,), FetchLimits(apart=0.3)))) >= 0.3


@pytest.mark.parametrize("provider", ["searxng", "brave", "tavily"])
def test_each_provider_is_asked_in_its_way(site, provider):
    found = asyncio.run(search(SearchAnswer(provider, site.address(""), "k3y"), "heat pumps 2027"))
    assert [one.address for one in found] == [site.address("/page"), site.address("/sheet")]
    asked = site.seen()[-1]
    assert "2027" in asked["query"] + asked["body"]
    assert ("k3y" in str(asked["headers"])) == (provider != "searxng")


@pytest.mark.parametrize(("path", "said"), [("/broken", "403"), ("/wordy", "no JSON"), ("/gone", "404")])
def test_a_search_that_fails_is_not_one_that_found_nothing(site, path, said):
    with pytest.raises(AddressRefused, match=said):
        asyncio.run(search(SearchAnswer("searxng", site.address(path)), "words"))
    assert asyncio.run(search(SearchAnswer("searxng", site.address("")), "nothing")) == []
    with pytest.raises(AddressRefused, match="nothing came"):
        asyncio.run(search(SearchAnswer("searxng", "http://127.0.0.1:9"), "words"))


def test_robots_are_read_by_the_longest_rule_of_the_nearest_group():
    text = (
        "User-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /*.pdf$\n# no\nDisallow:"
    )
    for path, allowed in {"/": True, "/a": False, "/a/b/c": True, "/x.pdf": False, "/x.pdf?y": True}.items():
        assert robots.allows(text, path) is allowed, path
    assert not robots.allows("User-agent: MAGI\nUser-agent: x\nDisallow: /\n\nUser-agent: *\nAllow: /", "/")
    assert robots.allows("", "/x")


def test_stars_in_robots_stand_for_anything_and_take_no_time():
    for rule, fitting, other in [
        ("/a*b*c$", "/a.b.c", "/a.b.c.d"),
        ("/a*", "/a", "/b"),
        ("*/x*x$", "/xx", "/x"),
        ("/a$", "/a", "/ab"),
    ]:
        said = f"User-agent: *\nDisallow: {rule}"
        assert (robots.allows(said, fitting), robots.allows(said, other)) == (False, True), rule
    assert robots.allows(f"User-agent: *\nDisallow: /{'a*' * 500}b", "/" + "a" * 2_000)


def test_addresses_are_found_in_words():
    text = (
        "See https://law.example/a?b=1. Or (http://x.example/p_(q)), <http://intra:8080/z> and http://u:p@evil.example/"
    )
    found = addresses_in_text(text)
    assert {"https://law.example/a?b=1", "http://intra:8080/z"} <= found
    assert not any("evil" in one for one in found)
