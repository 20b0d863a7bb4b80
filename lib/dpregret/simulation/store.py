"""Finished cells on disk: written whole or not at all, read only if whole and of this very library."""

from __future__ import annotations

import hashlib
import inspect
import os
import pickle
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib

_MAGIC = b"dpregret cell 1\n"
_ROOT = Path(__file__).resolve().parents[1]


@cache
def library_fingerprint() -> str:
    """A digest of the library's sources (those that compute) and of the versions of what they compute with."""
    digest = hashlib.sha256(repr([version(package) for package in ("numpy", "scipy", "numba", "xarray")]).encode())
    for path in sorted(_ROOT.rglob("*.py")):
        name = path.relative_to(_ROOT).as_posix()
        if not name.startswith("report/"):
            digest.update(f"\n{name}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def key(function: Callable[..., Any], *parts: Any) -> str:
    """The name of a cell's file: a digest of the library, of the function's own source and of ``parts``.

    What a function takes from outside its arguments and outside the library is not seen.
    """
    inner = inspect.unwrap(function)
    try:
        source = inspect.getsource(inner)
    except (OSError, TypeError):
        source = repr(getattr(inner, "__qualname__", type(inner)))
    # joblib's digest of the pickled parts is the same in every process; a plain repr or hash is not
    return hashlib.sha256(f"{library_fingerprint()}\n{source}\n{joblib.hash(parts)}".encode()).hexdigest()


def save(path: Path, value: Any) -> None:
    """Write ``value`` under another name, then rename: a reader meets the whole file or none."""
    payload = pickle.dumps(value, protocol=5)
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(_MAGIC + hashlib.sha256(payload).digest() + payload)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def load(path: Path) -> Any | None:
    """The value at ``path``, or None if there is no file, or it is truncated, changed or not of this kind.

    The digest guards against accidents, not against malice: a cache is as trusted as the code.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    start = len(_MAGIC) + hashlib.sha256().digest_size
    payload = content[start:]
    if not content.startswith(_MAGIC) or content[len(_MAGIC) : start] != hashlib.sha256(payload).digest():
        return None
    return pickle.loads(payload)
