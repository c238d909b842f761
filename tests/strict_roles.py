"""Which roles strict chat templates take, as those of Mistral and of Gemma do: they raise where it is any other."""

from collections.abc import Callable, Mapping, Sequence


class TemplateError(ValueError):
    pass


Messages = Sequence[Mapping[str, str]]


def mistral(messages: Messages) -> str:
    """A system message first, if any; then user and assistant by turns; the user last."""
    system, talk = (messages[:1], messages[1:]) if messages[0]["role"] == "system" else ((), messages)
    opening = "".join(one["content"] for one in system)
    return f"<s>[SYSTEM]{opening}[/SYSTEM]{_by_turns(talk, '[INST]{0}[/INST]', '{0}</s>')}"


def gemma(messages: Messages) -> str:
    """The same, without a place for a system message."""
    if messages[0]["role"] == "system":
        raise TemplateError("System role not supported")
    return f"<bos>{_by_turns(messages, '<turn>user {0}<end>', '<turn>model {0}<end>')}"


def any_roles(messages: Messages) -> str:
    return "".join(one["content"] for one in messages)


def _by_turns(talk: Messages, asked: str, said: str) -> str:
    rendered = []
    for place, message in enumerate(talk):
        if (message["role"] == "user") != (place % 2 == 0):
            raise TemplateError("Conversation roles must alternate user/assistant/user/assistant/...")
        rendered.append((asked if message["role"] == "user" else said).format(message["content"].strip()))
    if not talk or talk[-1]["role"] != "user":
        raise TemplateError("Expected the last role to be user")
    return "".join(rendered)


TEMPLATES: Mapping[str, Callable[[Messages], str]] = {"mistral": mistral, "gemma": gemma, "any": any_roles}
