"""purefit tune SOURCE --by gradient: finds better numbers by going backwards through whole runs."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import tyro

from purefit.cli.options import Common
from purefit.config import Config
from purefit.errors import InputError


@dataclass(frozen=True)
class Tune:
    """Tunes numbers such as the learning rate on the held-out rows of SOURCE, then trains a run with them."""

    source: tyro.conf.Positional[str]
    """A source as for train."""
    by: Literal["gradient"]
    """How: along the gradient of the validation loss at a run's end, which goes through every step of it."""
    names: tuple[str, ...] = ()
    """What is tuned, from the values that the options give: learning_rate, weight_decay, clip_norm, dropout, ema,
    or a number that --optimizer or --schedule has; if not given, the first three where they are set."""
    rounds: int = 10
    """Runs that are differentiated, one after the other; each changes a number by a factor of 2 at most."""
    config: Config = field(default_factory=Config)
    out: Path | None = None
    """The run's folder, which must not exist; runs/SOURCE-1, -2, … if not given."""
    save_every: int | None = None
    """Epochs between checkpoints of the run; spaced so that they cost at most 2 % of the time if not given."""
    quiet: bool = False
    """Shows no progress."""
    common: Common = field(default_factory=Common)

    def run(self) -> int:
        if self.rounds < 1:
            raise InputError(f"--rounds must be at least 1, not {self.rounds}")

        from purefit.cli.session import session
        from purefit.tuning import tune

        with session(self.common, quiet=self.quiet, save_every=self.save_every) as (session_, exit_code):
            return exit_code(tune(self.source, self.config, self.names, self.rounds, self.out, session_))
