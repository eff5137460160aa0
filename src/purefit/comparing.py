"""Comparing settings: trains the runs that are missing, and says what all of them show.

Every member of a comparison is a run folder like any other. What a comparison says is read from the runs'
folders alone, so runs that are there already are compared in the same way.
"""

import csv
import math
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from purefit import checkpoints, report
from purefit.checkpoints import Checkpoint
from purefit.compiling import Compilation, watch
from purefit.config import Config
from purefit.core import Fit
from purefit.data import Dataset, load
from purefit.display import Event
from purefit.errors import InputError
from purefit.experiment import Session, compiled_event, device_name
from purefit.files import write, write_json, write_text, writing
from purefit.parts import Parts, assemble, check_recipe, folder
from purefit.results import results_of
from purefit.run import Run, columns_of, create, open_run, read_history, write_history
from purefit.settings import Setting
from purefit.summary import metrics_of, own_metric, source_name
from purefit.task import hyper_of, recipe_of, rows_to_show
from purefit.timing import faster_precision
from purefit.training import Progress, train_members

DIFFERENT = ("seed", "data_dir")
"""What may differ between the runs of one setting."""

Labelled = Sequence[tuple[str, Run]]
"""Runs with the labels of their settings."""


class Member(NamedTuple):
    """A run that is missing: of which setting, and what it takes to train it."""

    label: str
    config: Config
    parts: Parts


def compare_settings(source: str, settings: Sequence[Setting], seeds: int, out: Path | None, session: Session) -> Event:
    """Trains each setting with `seeds` seeds, as far as `out` hasn't such a run yet; compares them.

    out: the folder of the comparison, runs/SOURCE-comparison if None. Returns the last event.
    """
    first = settings[0].config
    dataset = load(source, data_dir=folder(first), task=first.task)
    settings = [setting._replace(config=decided(setting.config, dataset, session)) for setting in settings]
    place = out or Path("runs") / f"{dataset.name}-comparison"
    if place.exists() and not place.is_dir():
        raise InputError(f"{place}: is there already, and isn't a folder of runs")
    there = finished_runs(place, dataset.fingerprint)
    wanted = [
        (setting.label, replace(setting.config, seed=first.seed + number))
        for number in range(seeds)
        for setting in settings
    ]
    missing = [Member(label, config, parts) for label, config, parts in prepared(wanted, there, dataset)]
    groups = grouped(missing)
    session.note(
        f"{place}: {len(wanted)} runs, {len(wanted) - len(missing)} there already, "
        f"{len(missing)} to train, {'up to ' if len({*map(len, groups)}) > 1 else ''}"
        f"{max(map(len, groups))} at a time in one program"
        if missing
        else f"{place}: all {len(wanted)} runs are there already"
    )
    with writing(place):
        place.mkdir(parents=True, exist_ok=True)
    with watch(lambda compilation: session.listener(compiled_event(compilation))) as compilations:
        for number, group in enumerate(groups, 1):
            labels = ", ".join(member.label for member in group)
            session.note(f"{number} of {len(groups)}: {labels}, seed {group[0].config.seed}")
            fits, seconds = train_group(group, session, compilations)
            if fits is None:
                event: Event = {"event": "interrupted", "run": str(place), "epoch": 0, "go_on": "the same command"}
                session.listener(event)
                return event
            for member, fit in zip(group, fits, strict=True):
                keep(place, member, fit, seconds / len(group))
    there = finished_runs(place, dataset.fingerprint)
    return say([(label, there[key_of(config)]) for label, config in wanted], place, session)


def compare_runs(paths: Sequence[Path], out: Path | None, session: Session) -> Event:
    """Compares runs that are there, each with the first's setting; returns the last event."""
    runs = [open_run(path) for path in paths]
    for run in runs:
        if run.metrics is None:
            raise InputError(f"{run.path}: isn't finished; go on with: purefit resume {run.path}")
        if run.fingerprint != runs[0].fingerprint:
            raise InputError(f"{run.path}: trained on other data than {runs[0].path}; they can't be compared")
    return say(labelled(runs), out or Path("runs") / "comparison", session)


def labelled(runs: Sequence[Run]) -> Labelled:
    """Each run with what its configuration has of its own; with its folder's name where seeds are all there is."""
    configs = [run.config.to_json() for run in runs]
    varied = [
        name for name in configs[0] if name not in DIFFERENT and any(c[name] != configs[0][name] for c in configs)
    ]
    if not varied:
        return [(run.path.resolve().name, run) for run in runs]
    return [
        (" ".join(f"{name}={spelled(config[name])}" for name in varied), run)
        for config, run in zip(configs, runs, strict=True)
    ]


def spelled(value: Any) -> str:
    """A configuration's value as the command has it."""
    return "/".join(map(str, value)) if isinstance(value, list) else "none" if value is None else str(value)


def decided(config: Config, dataset: Dataset, session: Session) -> Config:
    """The configuration with the precision that is faster here, if it leaves that open."""
    if config.precision != "auto":
        return config
    config, reason = faster_precision(config, assemble(config, dataset))
    session.note(reason)
    return config


def finished_runs(place: Path, fingerprint: str) -> dict[str, Run]:
    """The finished runs in the folder that were trained on these data, by `key_of` their configurations."""
    found = {}
    for path in sorted(place.glob("*/config.json")):
        try:
            run = open_run(path.parent)
            if run.fingerprint == fingerprint and run.metrics is not None:
                found[key_of(run.config)] = run
        except InputError:
            continue  # `purefit runs` lists it, with the reason
    return found


def key_of(config: Config) -> str:
    """What two runs of the same result have in common."""
    return repr(replace(config, data_dir=None))


def prepared(
    wanted: Sequence[tuple[str, Config]], there: dict[str, Run], dataset: Dataset
) -> list[tuple[str, Config, Parts]]:
    """What isn't there yet, with its parts: all recipes are made before any is trained."""
    splits: dict[tuple[int, float], Parts] = {}
    found = []
    for label, config in wanted:
        if key_of(config) in there:
            continue
        kind = config.seed, config.valid
        if kind not in splits:
            splits[kind] = assemble(config, dataset)
        split = splits[kind].split
        recipe = recipe_of(config, dataset.schema, split.units, len(split.train_rows))
        parts = Parts(dataset, split, recipe, hyper_of(config))
        check_recipe(parts, config)
        found.append((label, config, parts))
    return found


def grouped(members: Sequence[Member]) -> list[list[Member]]:
    """Members that one program can train at once: of one recipe and one seed, with numbers of the same names."""
    groups: dict[Any, list[Member]] = {}
    for member in members:
        kind = member.parts.recipe, tuple(sorted(member.parts.hyper)), member.config.seed, member.config.valid
        groups.setdefault(kind, []).append(member)
    return list(groups.values())


def train_group(
    group: Sequence[Member], session: Session, compilations: list[Compilation]
) -> tuple[list[Fit] | None, float]:
    """The members' Fits, None if interrupted; and the seconds of training without compiling."""
    parts, config = group[0].parts, group[0].config
    key = jax.jit(jax.random.key)(np.uint32(config.seed))
    started, before = time.perf_counter(), len(compilations)
    done = 0

    def on_epoch(progress: Progress) -> None:
        nonlocal done
        done += 1
        columns = {name: float(np.nanmean(values)) for name, values in columns_of(progress.metrics).items()}
        event = {"event": "epoch", "epoch": done, "epochs": config.epochs} | columns
        speed = len(group) * len(parts.split.train_rows) / progress.seconds
        left = (config.epochs - done) * progress.seconds
        session.listener(event | {"examples_per_second": speed, "seconds": progress.seconds, "seconds_left": left})

    fits = train_members(
        parts.recipe,
        [member.parts.hyper for member in group],
        parts.split.data,
        key,
        on_epoch=on_epoch,
        interrupted=session.interrupted,
    )
    compiling = sum(compilation.seconds for compilation in compilations[before:])
    seconds = max(0.0, time.perf_counter() - started - compiling)
    return (None if session.interrupted() else fits), seconds


def keep(place: Path, member: Member, fit: Fit, seconds: float) -> None:
    """Makes the member's run folder, with its weights, history and results."""
    parts = member.parts
    run = create(
        free(place, member),
        name=parts.dataset.name,
        source=parts.dataset.source,
        config=member.config,
        schema=parts.dataset.schema,
        units={name: list(values) for name, values in parts.split.units._asdict().items()},
        fingerprint=parts.dataset.fingerprint,
        device=device_name(),
    )
    checkpoint = Checkpoint(*fit)
    write_history(run, fit.history)
    run.checkpoints.mkdir()
    checkpoints.save(run.checkpoints / checkpoints.name_of(int(fit.state.epoch)), checkpoint)
    rows = rows_to_show(parts.dataset, parts.split)
    results = results_of(parts.recipe, parts.hyper, fit.best, parts.split.units, rows)
    metrics = metrics_of(checkpoint, results.metrics if results.split == "test" else None)
    write_json(run.path / "metrics.json", metrics | {"timings": {"training": seconds}, "compilations": []})


def free(place: Path, member: Member) -> Path:
    """A path for the member's run that isn't taken."""
    name = re.sub(r"[^\w=.+-]+", "-", f"{member.label}-seed={member.config.seed}".strip())[-120:].strip("-.")
    path, number = place / name, 2
    while path.exists():
        path, number = place / f"{name}-{number}", number + 1
    return path


def say(runs: Labelled, place: Path, session: Session) -> Event:
    """Writes comparison.html and comparison.csv into `place`; says each setting; returns the last event."""
    contents = contents_of(runs, place)
    with writing(place):
        place.mkdir(parents=True, exist_ok=True)
    page, table = place / "comparison.html", place / "comparison.csv"
    write_text(page, report.render_comparison(contents))
    write(table, lambda file: write_table(runs, contents, file))
    differences = [None, *contents.differences()]
    for setting, mean, found in zip(contents.settings, contents.means(), differences, strict=True):
        event: Event = {"event": "setting", "setting": setting.label, "metric": contents.metric}
        event |= {"split": contents.split, "seeds": mean.seeds, "mean": mean.mean}
        event |= {"standard_error": mean.error, "diverged": setting.diverged}
        compared = found._asdict() if found else dict.fromkeys(("seeds", "mean", "error", "low", "high", "p"))
        event |= {f"difference_{name}": value for name, value in compared.items()}
        session.listener(event | {"seconds": setting.seconds})
    diverged = all(setting.diverged == len(setting.values) for setting in contents.settings)
    event = {"event": "compared", "status": "diverged" if diverged else "finished"}
    event |= {"page": str(page), "table": str(table)}
    session.listener(event | {"rows": report.comparison_rows(contents), "answers": report.answers(contents)})
    return event


def contents_of(runs: Labelled, place: Path) -> report.Comparison:
    """What the page says, from the runs' folders."""
    first = runs[0][1]
    metric, kind = own_metric(first.schema), "test"
    measured = [run.metrics or {} for _, run in runs]
    if not all(metrics.get("test") for metrics in measured):
        kind = "valid"
    if not any(metrics.get(kind) for metrics in measured):
        raise InputError(f"{place}: no test split and no held-out rows: there is no result to compare (see --valid)")
    configs = [run.config.to_json() for _, run in runs]
    common = {
        name: value
        for name, value in configs[0].items()
        if name != "seed" and all(config[name] == value for config in configs)
    }
    labels = list(dict.fromkeys(label for label, _ in runs))
    settings = tuple(setting_of(label, [run for name, run in runs if name == label], kind, metric) for label in labels)
    return report.Comparison(
        title=place.resolve().name,
        subtitle=f"{len(labels)} settings, {len(runs)} runs on {source_name(first)}",
        metric=metric,
        split="test" if kind == "test" else "validation",
        larger_is_better=True,
        settings=settings,
        config={"source": first.source} | common,
        environment=first.versions,
    )


def setting_of(label: str, runs: Sequence[Run], kind: str, metric: str) -> report.Setting:
    """One setting's values and curves."""
    values: dict[int, float] = {}
    times: list[float | None] = []
    for number, run in enumerate(runs):
        metrics = run.metrics or {}
        value = (metrics.get(kind) or {}).get(metric)
        # Runs of one seed that have nothing else apart are no pairs: each has a number of its own.
        seed = run.config.seed if run.config.seed not in values else -1 - number
        values[seed] = math.nan if value is None or metrics.get("status") == "diverged" else float(value)
        times.append((metrics.get("timings") or {}).get("training"))
    seconds = None if None in times else sum(filter(None, times))
    return report.Setting(label, values, histories([read_history(run) for run in runs]), seconds)


def histories(tables: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """name -> (seeds, epochs), with NaN where a run had ended or hasn't such a column.

    >>> histories([{"loss": np.array([2.0, 1.0])}, {"loss": np.array([3.0])}])["loss"].tolist()
    [[2.0, 1.0], [3.0, nan]]
    """
    epochs = max((len(values) for table in tables for values in table.values()), default=0)
    found = {name: np.full((len(tables), epochs), np.nan) for table in tables for name in table}
    for row, table in enumerate(tables):
        for name, values in table.items():
            found[name][row, : len(values)] = values
    return found


def write_table(runs: Labelled, contents: report.Comparison, file: Any) -> None:
    """A row a run: setting, seed, folder, status, epochs, its results."""
    writer = csv.writer(file, lineterminator="\n")
    columns = [f"{split}_{name}" for split in ("valid", "test") for name in ("loss", contents.metric)]
    writer.writerow(["setting", "seed", "run", "status", "epochs", "best_epoch", *columns, "seconds"])
    for label, run in runs:
        metrics = run.metrics or {}
        results = [
            (metrics.get(split) or {}).get(name) for split in ("valid", "test") for name in ("loss", contents.metric)
        ]
        ends = [metrics.get(name) for name in ("status", "epochs", "best_epoch")]
        seconds = (metrics.get("timings") or {}).get("training")
        writer.writerow([label, run.config.seed, run.path, *ends, *results, seconds])
