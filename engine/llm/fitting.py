"""Shortening of requests that exceed a model's context: the oldest or least needed parts are left out.

Long texts are cut to their beginnings first, then whole items are dropped, the least needed first. A sentence in
the request and in the record says what was left out.

Why so: engine/DESIGN.md, What models are told and asked.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from ..text.invisible_chars import visible_json
from .response_format import ChatMessage
from .tokens import prompt_tokens, room_of, tokens_of

Parts = Mapping[str, Sequence[Any]]
"""By their names in the sentence, the least needed first, each with its items, the oldest first. An item is a text, or
whatever texts stand in."""

SHORTENED = 400  # characters of an older text, where there is no room for all of it
SAID = 150  # tokens of the sentence, and of a complaint that may follow
AT_ONCE = 4  # items that go together: so several requests in a row begin alike, and a server uses that again
TIMES = 6  # what a part takes is an estimate: where too little went more goes, each time twice as much


NOTHING: Mapping[str, int] = MappingProxyType({})


class Fitted(NamedTuple):
    """The messages that fit. `left_out` is a sentence about what was left out; empty if nothing was."""

    messages: list[ChatMessage]
    left_out: str = ""


def fitted(
    asked: Callable[[Any, str], list[ChatMessage]],
    parts: Parts,
    models: Iterable[str],
    kept: Mapping[str, int] = NOTHING,
) -> Fitted:
    """Return the messages that `asked` builds from these parts, shortened until each of the models has room for them.

    `asked` gets the remaining parts and the sentence about what was left out. `kept` is the number of items of a
    part that are never dropped, counted from the newest; their texts may still be cut. The result may still be too
    long if nothing more can be left out.
    """
    room, messages = room_of(models), asked(parts, "")
    if room is None or (over := prompt_tokens(messages) - room) <= 0:
        return Fitted(messages)
    wanted, said = SAID, ""
    for time in range(TIMES):
        wanted += over << time
        shown, said = without(parts, wanted, kept)
        messages = asked(shown, said)
        if (over := prompt_tokens(messages) - room) <= 0:
            break
    return Fitted(messages, said)


def without(parts: Parts, tokens: int, kept: Mapping[str, int]) -> tuple[dict[str, list[Any]], str]:
    """Return the parts shortened by about `tokens` tokens, as far as possible, and the sentence about what was left
    out.
    """
    shown = {name: [_Item(one) for one in items] for name, items in parts.items()}
    for one in (one for items in shown.values() for one in items):
        tokens -= one.shorten(tokens)
    gone = dict.fromkeys(parts, 0)
    for name, items in shown.items():
        while (tokens > 0 or gone[name] % AT_ONCE) and len(items) > kept.get(name, 0):
            tokens -= items.pop(0).tokens
            gone[name] += 1
    left = [one for items in shown.values() for one in items]
    said = _sentence(gone, parts, sum(one.texts for one in left), sum(one.characters for one in left))
    return {name: [one.value for one in items] for name, items in shown.items()}, said


def _sentence(gone: Mapping[str, int], parts: Parts, texts: int, characters: int) -> str:
    left_out = [f"{name.replace('_', ' ')} ({number} of {len(parts[name])})" for name, number in gone.items() if number]
    left_out += [f"{characters:,} characters of {texts} long text{'s' * (texts > 1)}"] if texts else []
    return f"This model has no room for all of it. Left out: {', '.join(left_out)}." if left_out else ""


@dataclass
class _Item:
    """One item of a part. `texts` is the number of its shortened texts, `characters` the number of characters cut from
    them.
    """

    value: Any
    texts: int = 0
    characters: int = 0

    @property
    def tokens(self) -> int:
        return tokens_of(visible_json(asdict(self.value) if is_dataclass(self.value) else self.value))  # type: ignore[arg-type]

    def shorten(self, tokens: int) -> int:
        """Cut long texts to save up to `tokens` tokens; return the number of tokens that are still to be saved."""
        if tokens <= 0:
            return 0
        wanted = tokens

        def shorter(value: Any) -> Any:
            nonlocal wanted
            if isinstance(value, str):
                short = _shortened(value, wanted)
                if short is not value:
                    self.texts += 1
                    self.characters += len(value) - short.rindex("\n[")
                    wanted -= _cost(value) - _cost(short)
                return short
            return _changed(value, shorter)

        self.value = shorter(self.value)
        return tokens - wanted


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Apply `change` to each value inside a dataclass, mapping, list or tuple; return other values unchanged."""
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: change(getattr(value, one.name)) for one in fields(value)})
    if isinstance(value, Mapping):
        return {name: change(one) for name, one in value.items()}
    return type(value)(map(change, value)) if isinstance(value, list | tuple) else value


def _cost(text: str) -> int:
    return tokens_of(visible_json(text))


def _shortened(text: str, tokens: int) -> str:
    """Cut a text to save `tokens` tokens, at most to its first SHORTENED characters; unchanged if that saves
    nothing.
    """
    if tokens <= 0 or len(text) <= SHORTENED + len(_mark(text, 0)):
        return text
    full, shortest = _cost(text), _beginning(text, SHORTENED)
    gain = full - _cost(shortest)
    if gain <= tokens:
        return shortest if gain > 0 else text
    return _beginning(text, SHORTENED + (len(text) - SHORTENED) * (gain - tokens) * 9 // (10 * gain))


def _beginning(text: str, length: int) -> str:
    return f"{text[:length]}\n{_mark(text, length)}"


def _mark(text: str, length: int) -> str:
    return f"[Left out: {len(text) - length:,} of {len(text):,} characters, for which the model has no room.]"
