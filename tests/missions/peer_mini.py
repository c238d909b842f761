"""mini-swe-agent with one task, as its `mini` is configured but for who confirms; it runs in its own environment.

python peer_mini.py ENDPOINT WORKSPACE KEPT TASK
"""

import json
import os
import sys
import time
from pathlib import Path

endpoint, workspace, kept, task = sys.argv[1:]
turned_to = set()


def heard(event, given):
    if event == "socket.connect" and isinstance(given[1], tuple):
        turned_to.add(given[1][0])


sys.addaudithook(heard)
os.environ |= {
    "MSWEA_SILENT_STARTUP": "1",
    "MSWEA_GLOBAL_CONFIG_DIR": kept,
    "MSWEA_COST_TRACKING": "ignore_errors",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it asks somewhere else what models cost
}

import yaml  # noqa: E402
from minisweagent.agents.default import AgentConfig, DefaultAgent  # noqa: E402
from minisweagent.config import builtin_config_dir  # noqa: E402
from minisweagent.environments.local import LocalEnvironment  # noqa: E402
from minisweagent.models.litellm_model import LitellmModel  # noqa: E402

config = yaml.safe_load((builtin_config_dir / "mini.yaml").read_text())
told = {name: value for name, value in config["agent"].items() if name in AgentConfig.model_fields}
reached = {"api_base": endpoint, "api_key": "none", **config["model"].pop("model_kwargs", {})}
model = LitellmModel(model_name="openai/one", model_kwargs=reached, **config["model"])
place = LocalEnvironment(cwd=workspace, **config["environment"])
agent = DefaultAgent(model, place, **told, output_path=Path(kept, "trajectory.json"))
began = time.process_time()
agent.run(task)
print(json.dumps({"start": began, "private": sorted(one for one in turned_to if not one.startswith("127."))}))
