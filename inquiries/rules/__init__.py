"""What comes next in an inquiry, what ends it, and what it may use up: true on paper."""
