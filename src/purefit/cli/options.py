"""Options that several commands have, and what they mean."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from purefit.errors import InputError


@dataclass(frozen=True)
class Common:
    """Options of every command that computes."""

    device: Literal["auto", "cpu", "gpu", "tpu"] = "auto"
    """Where to compute; auto is the fastest that JAX finds."""
    json: bool = False
    """Prints JSON on stdout, one object a line."""
    debug: bool = False
    """Shows a traceback for errors."""

    def prepare(self) -> None:
        """Chooses the device, and turns on the cache of compiled programs. Raises InputError without it."""
        import jax

        from purefit.compiling import keep_compiled_programs

        keep_compiled_programs()
        if self.device == "cpu":
            jax.config.update("jax_platforms", "cpu")  # an accelerator isn't even started
        try:
            jax.devices(None if self.device == "auto" else self.device)
        except RuntimeError as error:
            raise InputError(f"--device {self.device}: JAX finds none here ({error})") from error


def absolute(source: str) -> str:
    """A source as it is, unless it is a path: then absolute."""
    return str(Path(source).absolute()) if Path(source).exists() else source
