"""llama.cpp's own server on loopback, until the standard input ends: `python serve.py MODEL.gguf`.

It runs in an environment of its own (`var/real`), which has nothing of ours, and prints its address once it listens.
"""

import argparse
import os
import sys

import xllamacpp

parser = argparse.ArgumentParser(description="Serve one model, one thread, until the standard input ends.")
parser.add_argument("model")
parser.add_argument("--slots", type=int, default=1)
parser.add_argument("--context", type=int, default=8192, help="tokens of each slot")
parser.add_argument("--port", type=int, default=0)
options = parser.parse_args()

params = xllamacpp.CommonParams()
params.model.path = options.model
params.hostnames = ["127.0.0.1"]
params.port = options.port
params.n_parallel, params.n_ctx = options.slots, options.slots * options.context
params.n_batch = params.n_ubatch = 128  # tokens read between two looks: who went away is noticed by one at each
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = params.n_threads_http = 1
params.n_threads_http = 8  # of these none computes
params.endpoint_metrics = params.endpoint_slots = True
params.ui = False
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)  # whatever it is at: nobody listens
