"""Message formats of receivers: Standard Webhooks, chats and ntfy."""

import base64
import hmac
import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from engine.headers import encode_header, header_complaint
from engine.text.invisible_chars import single_line
from runs.models.webhooks import WebhookFormat

JSON, TEXT = "application/json", "text/plain; charset=utf-8"
NEUTRAL_TITLE = "Outcome of a run"
Payload = tuple[bytes, dict[str, str]]
"""A body and its headers."""


def standard_payload(message: Mapping[str, Any]) -> Payload:
    return json.dumps(message, ensure_ascii=False).encode(), {"Content-Type": JSON}


def slack_payload(message: Mapping[str, Any]) -> Payload:
    said = message["data"]
    word, title = _escaped(said["said"]), _escaped(said["title"])
    return standard_payload({"text": f"*{word}* <{said['url']}|{title.replace('|', '/')}>"})


def mattermost_payload(message: Mapping[str, Any]) -> Payload:
    said = message["data"]
    return standard_payload({"text": f"**{_plain(said['said'])}** [{_plain(said['title'])}]({said['url']})"})


def teams_payload(message: Mapping[str, Any]) -> Payload:
    """Build an adaptive card, as workflows of Teams accept it."""
    said = message["data"]
    body = [
        {"type": "TextBlock", "text": _plain(said["said"]), "weight": "Bolder", "wrap": True},
        {"type": "TextBlock", "text": _plain(said["title"]), "wrap": True},
    ]
    actions = [{"type": "Action.OpenUrl", "title": "Open", "url": said["url"]}]
    card = {"type": "AdaptiveCard", "version": "1.4", "body": body, "actions": actions}
    attached = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return standard_payload({"type": "message", "attachments": [attached]})


def ntfy_payload(message: Mapping[str, Any]) -> Payload:
    """Use the outcome as the title, or as the first line of the text if the server would decode it."""
    said = message["data"]
    title, text = single_line(said["said"]), said["title"]
    if header_complaint(title):
        title, text = NEUTRAL_TITLE, f"{said['said']}\n{text}"
    headers = {"Content-Type": TEXT, "Title": encode_header(title, folded=False), "Click": said["url"]}
    return text.encode(), headers


PAYLOAD_FORMATS: Mapping[str, Callable[[Mapping[str, Any]], Payload]] = {
    WebhookFormat.STANDARD: standard_payload,
    WebhookFormat.SLACK: slack_payload,
    WebhookFormat.MATTERMOST: mattermost_payload,
    WebhookFormat.TEAMS: teams_payload,
    WebhookFormat.NTFY: ntfy_payload,
}


def signature(key: bytes, message_id: str, seconds: int, body: bytes) -> str:
    """Sign id, time and body according to Standard Webhooks, version 1."""
    signed = f"{message_id}.{seconds}.".encode() + body
    return f"v1,{base64.b64encode(hmac.new(key, signed, sha256).digest()).decode()}"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _plain(text: str) -> str:
    """Escape Markdown characters."""
    return "".join(f"\\{sign}" if sign in r"\`*_[]()<>#|~!@" else sign for sign in text)
