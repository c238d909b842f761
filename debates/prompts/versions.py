"""Versions of the prompts: increase VERSION for every change of a text, also of retry messages."""

VERSION = "3"
KNOWN = ("1", "2", VERSION)  # version 1 never shortened anything
SPEAKERS_ALONE = ("1", "2")  # their notes cover only members that could still speak
