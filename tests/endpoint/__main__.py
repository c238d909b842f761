import argparse
import asyncio

from tests.endpoint.server import main

parser = argparse.ArgumentParser(description="A model endpoint that misbehaves on request.")
parser.add_argument("--port", type=int, default=0)
asyncio.run(main(parser.parse_args().port))
