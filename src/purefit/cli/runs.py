"""purefit runs: a table of the run folders."""

from dataclasses import dataclass
from pathlib import Path

import tyro


@dataclass(frozen=True)
class Runs:
    """Lists the runs in a folder: how far each is, and what it reached."""

    folder: tyro.conf.Positional[Path] = Path("runs")
    """Where the run folders are."""
    json: bool = False
    """Prints JSON on stdout, one object a run."""
    debug: bool = False
    """Shows a traceback for errors."""

    def run(self) -> int:
        from purefit.files import dumps
        from purefit.overview import overview, print_table

        rows = overview(self.folder)
        if self.json:
            for row in rows:
                print(dumps(row))
        else:
            print_table(rows)
        return 0
