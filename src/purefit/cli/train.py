"""purefit train SOURCE: trains a network and leaves a run folder."""

from dataclasses import dataclass, field
from pathlib import Path

import tyro

from purefit.cli.options import Common
from purefit.config import Config


@dataclass(frozen=True)
class Train:
    """Trains a network on SOURCE: writes a run folder with weights, history, results and a report."""

    source: tyro.conf.Positional[str]
    """digits, mnist, fashion-mnist, a folder of IDX files, or an .npz file."""
    config: Config = field(default_factory=Config)
    out: Path | None = None
    """The run's folder, which must not exist; runs/SOURCE-1, -2, … if not given."""
    save_every: int | None = None
    """Epochs between checkpoints; spaced so that they cost at most 2 % of the time if not given."""
    quiet: bool = False
    """Shows no progress."""
    common: Common = field(default_factory=Common)

    def run(self) -> int:
        from purefit.cli.session import session
        from purefit.experiment import start

        with session(self.common, quiet=self.quiet, save_every=self.save_every) as (session_, exit_code):
            return exit_code(start(self.source, self.config, self.out, session_))
