"""purefit resume RUN: goes on with a run that was interrupted, to the bits it would have had."""

from dataclasses import dataclass, field
from pathlib import Path

import tyro

from purefit.cli.options import Common


@dataclass(frozen=True)
class Resume:
    """Goes on with the run in folder RUN from its last whole checkpoint."""

    path: tyro.conf.Positional[Path]
    """The run's folder."""
    epochs: int | None = None
    """Trains to this many epochs in all, instead of the run's own number."""
    save_every: int | None = None
    """Epochs between checkpoints; spaced so that they cost at most 2 % of the time if not given."""
    quiet: bool = False
    """Shows no progress."""
    model: str | None = None
    """The run's own model, named again, if it isn't a built-in one: its code is run."""
    common: Common = field(default_factory=Common)

    def run(self) -> int:
        from purefit.cli.session import session
        from purefit.experiment import resume

        with session(self.common, quiet=self.quiet, save_every=self.save_every) as (session_, exit_code):
            return exit_code(resume(self.path, self.epochs, session_, self.model))
