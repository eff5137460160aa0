"""Compilation: counted, timed, and kept from one program to the next in JAX's persistent cache."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.monitoring


class Compilation(NamedTuple):
    """One program made ready. seconds: for tracing, lowering and compiling, or fetching it if `cached`."""

    program: str
    seconds: float
    cached: bool


@contextmanager
def watch(
    on_compiled: Callable[[Compilation], None] = lambda compilation: None,
) -> Iterator[list[Compilation]]:
    """The list of programs that JAX makes ready inside the block; it grows while the block runs.

    >>> with watch() as compilations:
    ...     _ = jax.jit(lambda x: x + 1).lower(1.0).compile()
    >>> [compilation.cached for compilation in compilations]
    [False]
    """
    compilations: list[Compilation] = []
    seconds = 0.0
    hit = False

    def on_event(event: str, **_: Any) -> None:
        nonlocal hit
        hit = hit or event == "/jax/compilation_cache/cache_hits"

    def on_duration(event: str, duration_secs: float, **details: str | int) -> None:
        nonlocal seconds, hit
        if not event.startswith("/jax/core/compile/"):
            return
        seconds += duration_secs
        if event == "/jax/core/compile/backend_compile_duration":
            name = str(details.get("fun_name", "?")).removeprefix("jit(").removesuffix(")")
            compilation = Compilation(name, seconds, hit)
            seconds, hit = 0.0, False
            compilations.append(compilation)
            on_compiled(compilation)

    jax.monitoring.register_event_listener(on_event)
    jax.monitoring.register_event_duration_secs_listener(on_duration)
    try:
        yield compilations
    finally:
        jax.monitoring.unregister_event_listener(on_event)
        jax.monitoring.unregister_event_duration_listener(on_duration)


def cache_folder() -> Path:
    """Where compiled programs are kept: purefit in the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "purefit" / "programs"


def keep_compiled_programs() -> None:
    """Turns on JAX's persistent cache, for programs of any size. For programs that own the process.

    A program that can't be kept is compiled again the next time; that needs no warning.
    """
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache")
    if jax.config.jax_compilation_cache_dir is None:  # type: ignore[attr-defined]
        jax.config.update("jax_compilation_cache_dir", str(cache_folder()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
