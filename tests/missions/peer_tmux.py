"""An agent in a terminal, as Terminal-Bench has them: keys are sent to tmux, and the screen is what came of them.

python peer_tmux.py ENDPOINT WORKSPACE KEPT TASK

After each command a mark is printed with its exit status; the screen is looked at until that stands there.
"""

import http.client
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

LOOK = 0.02
LONGEST = 30.0
ROLE = """\
You work in a terminal, on a goal. Answer with one JSON object: {"keys": what is typed, with Enter behind it, \
"seconds": after how long you want to see the screen although the command has not ended, or 0} or {"done": true}. What \
you are shown is the screen."""


class TmuxTerminal:
    def __init__(self, workspace, kept):
        self._socket, self._name, self._number = str(Path(kept, "socket")), f"of-{os.getpid()}", 0
        self._tmux("-f", "/dev/null", "new-session", "-d", "-s", self._name, "-x", "160", "-y", "50", "-c", workspace,
                   "bash --norc --noprofile")  # fmt: skip
        self._tmux("pipe-pane", "-t", self._name, f"cat >> {kept}/said")

    def _tmux(self, *words):
        done = subprocess.run(["tmux", "-S", self._socket, *words], capture_output=True, text=True, check=True)
        return done.stdout

    def types(self, keys, seconds, answers):
        """What is on the screen after the command, or after so many seconds. What `answers` a program has no mark."""
        if not answers:
            self._number += 1
            keys += f"\necho __{self._number}_$?" if "\n" in keys else f"; echo __{self._number}_$?"
        self._tmux("send-keys", "-t", self._name, "-l", keys + "\n")
        until = time.monotonic() + (seconds or LONGEST)
        while True:
            screen = self._tmux("capture-pane", "-p", "-t", self._name).rstrip()
            over = re.search(rf"__{self._number}_\d", screen)
            if over or time.monotonic() > until:
                return screen, bool(over)
            time.sleep(LOOK)

    def close(self):
        self._tmux("kill-server")


def main(endpoint, workspace, kept, task):
    at = urlsplit(endpoint)
    client, terminal = http.client.HTTPConnection(at.netloc), TmuxTerminal(workspace, kept)
    messages, over = [{"role": "system", "content": ROLE}, {"role": "user", "content": task}], True
    began = time.process_time()
    with open(Path(kept, "steps"), "a") as steps:
        while True:
            body = json.dumps({"model": "one", "messages": messages})
            client.request("POST", f"{at.path}/chat/completions", body, {"Content-Type": "application/json"})
            said = json.load(client.getresponse())["choices"][0]["message"]["content"]
            asked = json.loads(said)
            if asked.get("done"):
                break
            screen, over = terminal.types(asked["keys"], asked["seconds"], not over)
            messages += [{"role": "assistant", "content": said}, {"role": "user", "content": screen}]
            steps.write(json.dumps(messages[-2:]) + "\n")
            steps.flush()
    terminal.close()
    print(json.dumps({"start": began, "private": []}))


if __name__ == "__main__":
    main(*sys.argv[1:])
