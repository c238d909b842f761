"""Prompts of agents, and the parsing of their answers."""

PROMPT_VERSION = "4"  # to be increased with every change of a prompt
