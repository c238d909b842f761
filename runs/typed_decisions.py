"""Parsing of a decision that was typed in a terminal at a gate."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.models.gates import DecisionValue

from .approvals.pending import DecisionOption

SYNONYMS = {DecisionValue.APPROVE: "allow", DecisionValue.REJECT: "refuse"}


class UnreadableDecision(Exception):
    """The line matches no option, or more than one. The message is for people."""


@dataclass(frozen=True)
class Typed:
    option: DecisionOption
    text: str


def listed(options: Sequence[DecisionOption]) -> list[str]:
    """Return the options as lines, with the numbers that `read` accepts."""
    return [f"    {number}. {_shown(one)}" for number, one in enumerate(options, 1)]


def _shown(option: DecisionOption) -> str:
    word = _word(option)
    return f"{word}: {option.sentence}" if word and option.decision != DecisionValue.ANSWER else option.sentence


def _word(option: DecisionOption) -> str:
    return option.word or SYNONYMS.get(DecisionValue(option.decision), "")


def read(line: str, options: Sequence[DecisionOption], needs_words: Sequence[str] = ()) -> Typed:
    """Return the option whose number, word or sentence is the whole line, or the part before a colon.

    Text after the colon is the reason or answer; after a rejection it may also follow a space. Raises
    UnreadableDecision for any other line: there is no default. `needs_words` are options that are incomplete without
    text.
    """
    head, _, text = line.partition(":")
    if found := _named(line, options):
        typed = Typed(_only(found, line), "")
    elif found := _named(head, options):
        typed = Typed(_only(found, head), text.strip())
    else:
        typed = _refusal(line, options)
    if typed.option.word in needs_words and not typed.text:
        raise UnreadableDecision(f"Write the words after a colon, as in “{options.index(typed.option) + 1}: my words”.")
    return typed


def _refusal(line: str, options: Sequence[DecisionOption]) -> Typed:
    head, _, text = line.strip().partition(" ")
    refusals = [one for one in _named(head, options) if one.decision == DecisionValue.REJECT]
    if not refusals:
        raise UnreadableDecision("Write a number or a word of these.")
    return Typed(_only(refusals, head), text.strip())


def _named(said: str, options: Sequence[DecisionOption]) -> list[DecisionOption]:
    """Return the matching options; `#2` matches only the second."""
    said = said.strip().casefold()
    names = ({f"#{number}", str(number), *_names(one)} for number, one in enumerate(options, 1))
    return [one for one, known in zip(options, names, strict=True) if said in known]


def _names(option: DecisionOption) -> set[str]:
    words = {option.word, option.sentence, _word(option), "" if option.word else option.decision}
    return {word.strip().casefold() for word in words if word}


def _only(found: Sequence[DecisionOption], said: str) -> DecisionOption:
    if len(found) > 1:
        raise UnreadableDecision(
            f"“{said.strip()}” names {len(found)} of these. Write its number with a sign before it, as in “#1”."
        )
    return found[0]
