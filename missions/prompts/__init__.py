"""What agents of missions are told, and how their answers are read."""

VERSION = "1"
