import os

# pydantic would read the metadata of every installed package to look for plugins; none are installed
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
