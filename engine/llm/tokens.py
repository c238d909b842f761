"""Token estimates, and whether a model's context has room for a prompt.

There are two estimates, because an error is expensive on either side. `tokens_of` estimates high, for limits and
costs. `fewer_tokens_of` estimates low, to compare with the count that a server reports.

Why so: engine/DESIGN.md, What models are told and asked.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from .providers import UnknownProvider, context_of
from .response_format import ChatMessage

ANSWER = 700  # tokens of the context reserved for the answer, thinking included
OF_A_MESSAGE = 8  # tokens that a chat template puts around each
NO_WINDOW = 16  # a count below is none of a prompt: the rest came out of a cache that is not counted

_DIGIT = re.compile("[0-9]")
_SIGN = re.compile(r"([!-/:-@\[-`{-~])(?!\1)")  # a run of one is one
_RUN = re.compile(r"[A-Za-z0-9+/=_-]{32,}")
_REPEATED = re.compile(r"(.)\1{2,}", re.DOTALL)
_DENSE = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"  # Chinese, Japanese, Korean
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
_PIECE = re.compile(
    rf"(?P<dense>[{_DENSE}]+)|(?P<unspaced>[{_UNSPACED}]+)|(?P<number>[0-9]+)"
    rf"|(?P<word>[^\x00-@\[-`{{-\x7f{_DENSE}{_UNSPACED}]+)|(?P<signs>[^\sA-Za-z0-9\x80-\U0010ffff]+)"
)
_LONGEST = {"dense": 2, "unspaced": 4, "number": 3, "word": 16, "signs": 1_000}  # characters of one token, on average


def tokens_of(text: str) -> int:
    """Return a high estimate for any script: a third of the bytes, and more for signs, digits and random-looking
    strings, of which some models read each character as a token.
    """
    scrambled = "".join(filter(_is_scrambled, _RUN.findall(text)))
    each = len(_DIGIT.findall(text)) + len(scrambled) - len(_DIGIT.findall(scrambled))
    signs = len(_SIGN.findall(text))
    return -(-(len(text.encode(errors="replace")) + 2 * each + signs) // 3)


def _is_scrambled(run: str) -> bool:
    """Whether the run looks like a key, a hash or base64, not like a ruler line or a name composed of words."""
    return any(sign.isdigit() for sign in run) and any(sign.isalpha() for sign in run)


def prompt_tokens(messages: Iterable[ChatMessage]) -> int:
    """Return a high estimate for a conversation."""
    return sum(tokens_of(one["content"]) + OF_A_MESSAGE for one in messages)


def fewer_tokens_of(text: str) -> int:
    """Return a low estimate, far below twice any model's own count.

    Tokenizers join words and runs of one sign, so each counts as one piece; a quarter of the words is added for
    those that they split.
    """
    pieces = Counter[str]()
    for one in _PIECE.finditer(_REPEATED.sub(r"\1", text)):
        kind = str(one.lastgroup)
        pieces[kind] += -(-len(one[0]) // _LONGEST[kind])
    return min(pieces.total() + pieces["word"] // 4, len(text) * 2 // 5)


# ---- what a model has room for ----------------------------------------------------------------------------


def declared_of(model: str) -> int | None:
    """Return the model's context in tokens, answer included; None if it is not declared or the model is unknown."""
    try:
        return context_of(model) if model else None
    except UnknownProvider:
        return None


def room_of(models: Iterable[str]) -> int | None:
    """Return the tokens that a prompt may have so that each of these models can read it and answer; None if no limit
    is declared.
    """
    declared = [limit for limit in map(declared_of, models) if limit is not None]
    return min(declared) - ANSWER if declared else None


def too_long(model: str, prompt: int, about: str) -> str:
    """Return a message that the model has no room for a prompt of `prompt` tokens and its answer; empty if it has, or
    if its limit is unknown. `about` names the prompt.
    """
    limit = declared_of(model)
    if limit is None or prompt + ANSWER <= limit:
        return ""
    return f"{model} reads {limit:,} tokens at most, and {about} may come to {prompt + ANSWER:,}."


def unread(messages: Sequence[ChatMessage], counted: int | None) -> str:
    """Return a message that the server read only a part of the prompt, by its own count; empty if nothing shows
    that.
    """
    sent = "\n".join(one["content"] for one in messages)
    if counted is None or counted < NO_WINDOW or counted * 5 >= len(sent):
        return ""
    about = fewer_tokens_of(sent)
    if counted * 2 >= about:
        return ""
    return (
        f"The server read {counted:,} of about {about:,} tokens that it was sent, so the model has seen a part alone: "
        "declare `context` for this model, or raise the server's window."
    )
