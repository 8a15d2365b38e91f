"""Whether llama.cpp knows a model's architecture and vocabulary: asked in a child process.

Which architectures there are is for the installed llama.cpp to say, not for a list here. In a child,
because native code may die of a file that is not what it seems; without the weights, so it is quick.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from localmem.models.errors import ModelCrashed, ModelFileBad

_SECONDS = 60
_REFUSED = 3  # exit code of the child when llama.cpp said no


def check_loadable(path: Path) -> None:
    """Raise :class:`ModelFileBad` in llama.cpp's own words when it cannot open ``path``."""
    command = [sys.executable, "-P", "-m", "localmem.models.loadable", str(path)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise ModelFileBad(f"llama.cpp did not open {path} within {_SECONDS} seconds.") from None
    if done.returncode == 0:
        return
    said = done.stderr.decode("utf-8", "replace").splitlines()
    if done.returncode == _REFUSED:
        reasons = [line.split("error loading model: ")[1] for line in said if "error loading model: " in line]
        raise ModelFileBad(
            f"llama.cpp cannot open {path}: {reasons[0] if reasons else 'it does not say why'}."
        )
    if done.returncode < 0:
        raise ModelFileBad(f"llama.cpp dies of {path} (signal {-done.returncode}). Choose another file.")
    raise ModelCrashed(
        f"llama.cpp does not run here; localmem doctor says what to do.\n{said[-1] if said else ''}"
    )


def _main() -> None:
    os.dup2(2, 1)  # native code prints
    import llama_cpp
    from llama_cpp._internals import LlamaModel

    parameters = llama_cpp.llama_model_default_params()
    parameters.vocab_only = True
    try:
        LlamaModel(path_model=sys.argv[1], params=parameters).close()  # type: ignore[no-untyped-call]
    except ValueError:
        sys.exit(_REFUSED)


if __name__ == "__main__":
    _main()
