import subprocess
import sys

from tests.acceptance.site import ROOT, environment


def test_a_process_that_asks_no_model_does_not_wait_for_the_client(tmp_path):
    look = "import sys, django; django.setup(); import magi_site.asgi, magi_site.urls; print('openai' in sys.modules)"
    env = environment(tmp_path, empty=True, DJANGO_SETTINGS_MODULE="magi_site.settings")
    done = subprocess.run([sys.executable, "-c", look], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
