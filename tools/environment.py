"""The environment in which notebooks and tests run, the same for both.

The compiled kernels are cached below ``_build/numba`` in a folder named after a hash of the library: numba does not
notice that a function called by a cached kernel has changed, a new folder does.
"""

import hashlib
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def library_key() -> str:
    """A hash of the library's source and of the Python version."""
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted((ROOT / "lib").rglob("*.py")):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def prepare() -> None:
    """Set the variables in this process; kernels and workers inherit them."""
    own = ROOT / "_build" / "numba" / library_key()
    os.environ["NUMBA_CACHE_DIR"] = os.environ.get("DPREGRET_KERNELS", str(own))  # tools.mutants keeps its own
    os.environ.pop("MPLBACKEND", None)  # a file backend would drop every inline figure without an error
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # this environment's kernel before the user's
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # a debugger's note on stderr
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"  # two notebooks share the cores already
