"""Prompts of plans, and parsing of answers. They use no database and no framework."""

VERSION = "6"  # increase with every change of a prompt's text
