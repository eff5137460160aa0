"""purefit report RUN: makes the run's report again."""

from dataclasses import dataclass, field
from pathlib import Path

import tyro

from purefit.cli.options import Common


@dataclass(frozen=True)
class Report:
    """Writes RUN/report.html from the run's last whole checkpoint, finished or not."""

    path: tyro.conf.Positional[Path]
    """The run's folder."""
    model: str | None = None
    """The run's own model, named again, if it isn't a built-in one: its code is run."""
    common: Common = field(default_factory=Common)

    def run(self) -> int:
        from purefit.files import dumps
        from purefit.trained import report

        self.common.prepare()
        path = report(self.path, self.model)
        print(dumps({"report": str(path)}) if self.common.json else path)
        return 0
