import os

# pydantic would read what every installed package says of itself, to find plugins of which there are none
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
