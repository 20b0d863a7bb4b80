"""Private Regret: the algorithms of three texts on privacy and regret, printed and corrected.

Imports run one way: ``privacy`` and ``simulation``, then the packages of the papers, which do not import each other.
"""

import importlib
from typing import Any

__version__ = "0.2.0"
__all__ = ["cascading", "contextual", "erm", "experts", "privacy", "simulation"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # a package is imported when it is asked for: some compile kernels
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
