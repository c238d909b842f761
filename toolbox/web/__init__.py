"""Reading what anybody may read on the web, and nothing of this house: search, pages, their text."""
