"""purefit compare: which setting is better, and whether the runs can tell."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from purefit.cli.options import Common
from purefit.config import Config
from purefit.errors import InputError
from purefit.settings import settings_of


@dataclass(frozen=True)
class Compare:
    """Compares runs that are there (RUN RUN …), or settings that it trains itself (SOURCE --set …).

    Runs of one seed share held-out rows, first weights and shuffles, so differences are taken in pairs.
    """

    what: tyro.conf.Positional[tuple[str, ...]]
    """Folders of finished runs; or one source as for train."""
    vary: Annotated[tuple[str, ...], tyro.conf.arg(name="set")] = ()
    """What is varied: NAME=VALUE,VALUE of any option of train, such as dropout=0,0.1,0.3; several are
    combined. The first value is what the others are compared with."""
    seeds: int = 3
    """Runs of each setting, with seeds from --seed on."""
    config: Config = field(default_factory=Config)
    out: Path | None = None
    """The comparison's folder; what it has already is not trained again."""
    quiet: bool = False
    """Shows no progress."""
    common: Common = field(default_factory=Common)

    def run(self) -> int:
        if not self.what:
            raise InputError("name two runs or more, or a source and --set NAME=VALUE,VALUE")
        paths = [Path(each) for each in self.what]
        are_runs = all((path / "config.json").exists() for path in paths)
        if are_runs and self.vary:
            raise InputError("--set is for a source: runs that are there have their settings already")
        if are_runs and len(paths) < 2:
            raise InputError(f"{paths[0]}: name two runs or more")
        if not are_runs and len(paths) > 1:
            wrong = next(path for path in paths if not (path / "config.json").exists())
            raise InputError(f"{wrong}: not a run folder, it has no config.json")
        if not are_runs and not self.vary:
            raise InputError(f"{self.what[0]}: say what to vary: --set NAME=VALUE,VALUE; or name two runs or more")
        if self.seeds < 1:
            raise InputError(f"--seeds must be at least 1, not {self.seeds}")
        settings = settings_of(self.config, self.vary)

        from purefit.cli.session import session
        from purefit.comparing import compare_runs, compare_settings

        with session(self.common, quiet=self.quiet, save_every=None) as (session_, exit_code):
            if are_runs:
                return exit_code(compare_runs(paths, self.out, session_))
            return exit_code(compare_settings(self.what[0], settings, self.seeds, self.out, session_))
