"""purefit evaluate RUN [SOURCE]: what the run's best weights are worth."""

from dataclasses import dataclass, field
from pathlib import Path

import tyro

from purefit.cli.options import Common


@dataclass(frozen=True)
class Evaluate:
    """Measures the run's best weights on its own test split, or on SOURCE."""

    path: tyro.conf.Positional[Path]
    """The run's folder."""
    source: tyro.conf.Positional[str | None] = None
    """Other data, with targets: a source as for train. Its test split is used where it has one."""
    data_dir: Path | None = None
    """Folder with the four IDX files, if SOURCE is mnist or fashion-mnist."""
    model: str | None = None
    """The run's own model, named again, if it isn't a built-in one: its code is run."""
    common: Common = field(default_factory=Common)

    def run(self) -> int:
        from purefit.files import dumps
        from purefit.trained import evaluate

        self.common.prepare()
        metrics = evaluate(self.path, self.source, self.data_dir, self.model)
        if self.common.json:
            print(dumps(metrics))
        else:
            for name, value in metrics.items():
                print(f"{name:<10} {value:.6g}" if isinstance(value, float) else f"{name:<10} {value}")
        return 0
