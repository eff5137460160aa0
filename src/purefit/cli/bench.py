"""purefit bench SOURCE: what a training step costs here, and what compiling it brings."""

from dataclasses import dataclass, field
from pathlib import Path

import tyro

from purefit.cli.options import Common
from purefit.config import Config


@dataclass(frozen=True)
class Bench:
    """Times the training step that the options describe: op by op, compiled, and in a scanned epoch."""

    source: tyro.conf.Positional[str]
    """A source as for train."""
    config: Config = field(default_factory=Config)
    out: Path | None = None
    """The page to write; bench-SOURCE-1.html, -2, … if not given."""
    quiet: bool = False
    """Shows no progress."""
    common: Common = field(default_factory=Common)

    def run(self) -> int:
        from purefit.benching import bench
        from purefit.display import display

        self.common.prepare()
        with display(json=self.common.json, quiet=self.quiet) as listener:
            bench(self.source, self.config, self.out, listener)
        return 0
