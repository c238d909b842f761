"""What those who work on an inquiry are told, and how their answers are read."""

VERSION = "1"
