"""What settles on a live page is rendered once, and a page is not sent again what it was painted with."""

from typing import Any

import pytest

from runs.live import consumers
from runs.procedure.fragments import LivePageState, PageFragment


class Parts:
    """A page of three parts, of which some have settled; it remembers what was rendered."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts, self.settled = dict.fromkeys("abc", "one"), set[str]()
        self.rendered: list[str] = []
        monkeypatch.setattr(PageFragment, "html", lambda part, **_: self._render(part))

    def _render(self, part: PageFragment) -> str:
        self.rendered.append(part.name)
        return f"{part.name}: {part.context['text']}"

    def __iter__(self) -> Any:
        return (
            PageFragment("", name, {"text": text}, settled=name in self.settled) for name, text in self.texts.items()
        )


@pytest.fixture
def parts(monkeypatch):
    return Parts(monkeypatch)


def test_what_has_settled_is_rendered_once(parts):
    page, parts.settled = LivePageState(), {"a", "b"}
    page.update(parts, 1)
    parts.texts = dict.fromkeys("abc", "two")
    page.update(parts, 2)
    assert parts.rendered == ["a", "b", "c", "c"]


def test_what_shows_the_same_is_not_rendered_again(parts):
    page = LivePageState()
    page.update(parts, 1)
    parts.texts["b"] = "two"
    page.update(parts, 2)
    assert parts.rendered == ["a", "b", "c", "b"]
    assert page.newer_than(1).splitlines() == ["<!--2-->", "b: two"]


def test_what_settles_later_is_rendered_once_more(parts):
    page = LivePageState()
    page.update(parts, 1)
    parts.settled, parts.texts["a"] = {"a"}, "two"
    page.update(parts, 2)
    page.update(parts, 3)
    assert parts.rendered.count("a") == 2  # not when it settles: it shows the same
    assert "a: two" in page.newer_than(0)


def test_a_page_gets_all_but_what_had_settled_when_it_was_painted(parts):
    page, parts.settled = LivePageState(), {"a"}
    page.update(parts, 4)
    parts.settled = {"a", "b"}
    page.update(parts, 7)
    assert page.newer_than(0, painted=4).splitlines() == ["<!--1-->", "b: one", "c: one"]
    assert page.newer_than(0, painted=7).splitlines() == ["<!--1-->", "c: one"]
    assert len(page.newer_than(0).splitlines()) == 4


def test_whatever_pages_say_there_are_only_so_many_messages(parts):
    page, parts.settled = LivePageState(), {"a", "b"}
    page.update(parts, 4)
    assert len({id(page.newer_than(0, painted=revision)) for revision in range(1_000)}) == 2


def test_a_redaction_unsettles_everything(parts):
    page, parts.settled = LivePageState(), {"a", "b", "c"}
    page.update(parts, 4)
    parts.texts["a"] = "Erased."
    page.unsettle()
    page.update(parts, 5)
    assert page.newer_than(1, painted=4).splitlines() == ["<!--2-->", "a: Erased."]


NO_REVISION = [b"", b"painted=", b"painted=-1", b"painted=\xff", b"painted=" + b"9" * 40]


@pytest.mark.parametrize(("query", "revision"), [(b"painted=7", 7), *((query, -1) for query in NO_REVISION)])
def test_a_socket_says_which_revision_its_page_was_painted_with(query, revision):
    assert consumers._number(query, "painted") == revision
