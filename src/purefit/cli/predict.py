"""purefit predict RUN SOURCE: a row of predictions for each example."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro

from purefit.cli.options import Common


@dataclass(frozen=True)
class Predict:
    """Writes CSV: row, prediction, and for classes the probability of each."""

    path: tyro.conf.Positional[Path]
    """The run's folder."""
    source: tyro.conf.Positional[str]
    """Inputs: a source as for train; targets may be missing."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Where to write; standard output if not given."""
    split: Literal["auto", "train", "test"] = "auto"
    """Which rows of SOURCE; auto is its test split where there is one, else all."""
    data_dir: Path | None = None
    """Folder with the four IDX files, if SOURCE is mnist or fashion-mnist."""
    model: str | None = None
    """The run's own model, named again, if it isn't a built-in one: its code is run."""
    common: Common = field(default_factory=Common)

    def run(self) -> int:
        from purefit.files import dumps, write
        from purefit.trained import predict, write_csv

        self.common.prepare()
        table = predict(self.path, self.source, self.split, self.data_dir, self.model)
        if self.output:
            write(self.output, lambda file: write_csv(table, file))
        elif not self.common.json:
            write_csv(table, sys.stdout)
        if self.common.json:
            print(dumps({"rows": len(table.prediction), "output": self.output and str(self.output)}))
        return 0
