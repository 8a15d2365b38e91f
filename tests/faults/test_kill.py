from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
KINDS = "import,chat,build,forget,migration,key,forget,chat"


def test_nothing_acknowledged_is_lost_and_nothing_forgotten_is_back_after_kills() -> None:
    command = [sys.executable, "-m", "tests.faults", "--kinds", KINDS, "--seed", "7", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["rounds"] == 8
    assert found["acknowledged"] > 50
    assert (found["lost"], found["returned"], found["broken"]) == (0, 0, 0)
