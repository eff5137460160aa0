"""The machine and the versions that a figure was measured with."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("purefit", "jax", "jaxlib", "optax", "numpy", "flax", "scikit-learn", "torch", "keras")


def describe() -> dict[str, str]:
    """Processor, cores, Python and library versions; what isn't installed is left out.

    >>> "python" in describe()
    True
    """
    found = {"processor": processor(), "cores": str(os.cpu_count()), "python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def processor() -> str:
    """The processor's name, as the system has it."""
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        return platform.processor() or platform.machine()
    for line in cpuinfo.read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
