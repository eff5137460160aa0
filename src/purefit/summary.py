"""The report of a run: gathers from its folder and results what `purefit.report` draws."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from purefit.checkpoints import Checkpoint
from purefit.compiling import Compilation
from purefit.config import Config
from purefit.core import Status
from purefit.data import Schema
from purefit.display import Event, duration
from purefit.files import write_json, write_text
from purefit.parts import Parts
from purefit.report import Contents, render
from purefit.results import Results, pictured, results_of
from purefit.run import Run, columns_of
from purefit.task import Units, metrics_for, rows_to_show


def summarize(
    run: Run,
    parts: Parts,
    checkpoint: Checkpoint,
    timings: dict[str, float],
    compilations: list[Compilation],
    began: float,
) -> Event:
    """Evaluates the best weights; writes report.html and metrics.json; returns the `done` event."""
    started = time.perf_counter()
    rows = rows_to_show(parts.dataset, parts.split)
    results = results_of(parts.recipe, parts.hyper, checkpoint.state.best, parts.split.units, rows)
    metrics = metrics_of(checkpoint, results.metrics if results.split == "test" else None)
    compiling = sum(each.seconds for each in compilations if each.program == "evaluate")
    timings |= {"compiling": sum(each.seconds for each in compilations)}
    timings |= {"evaluating": time.perf_counter() - started - compiling}
    metrics |= {"timings": timings, "compilations": [each._asdict() for each in compilations]}
    report = write_report(run, parts.split.units, checkpoint, metrics, results)
    timings |= {"in all": time.perf_counter() - began}
    write_json(run.path / "metrics.json", metrics)
    return done_event(run, metrics, report)


def metrics_of(checkpoint: Checkpoint, test: dict[str, float] | None) -> dict[str, Any]:
    """What metrics.json says of training: how it ended, and the best epoch's results."""
    state, history = checkpoint
    best = int(state.best.epoch)
    status = {Status.RUNNING: "finished", Status.STOPPED: "stopped", Status.DIVERGED: "diverged"}
    return {
        "status": status[Status(int(state.status))],
        "epochs": int(state.epoch),
        "best_epoch": best,
        "train": {name: float(values[best - 1]) for name, values in history["train"].items()} if best else None,
        "valid": {name: float(values[best - 1]) for name, values in history["valid"].items()} if best else None,
        "test": test,
    }


def own_metric(schema: Schema) -> str:
    """The name of the task's own metric: what tables and headlines show.

    >>> own_metric(Schema("regression", (3,), "float32", (), (), 1))
    'r2'
    """
    return metrics_for(schema, Units())[0].name


def done_event(run: Run, metrics: dict[str, Any], report: Path) -> Event:
    """The last event of a run that isn't interrupted: the task's own metric, epochs, compilations, times."""
    name = own_metric(run.schema)
    timings = metrics["timings"]
    return {
        "event": "done",
        "run": str(run.path),
        "status": metrics["status"],
        f"test_{name}": (metrics["test"] or {}).get(name),
        f"valid_{name}": (metrics["valid"] or {}).get(name),
        "epochs": metrics["epochs"],
        "best_epoch": metrics["best_epoch"],
        "compilations": sum(not each["cached"] for each in metrics["compilations"]),
        "compile_seconds": timings["compiling"],
        "train_seconds": timings["training"],
        "seconds": timings["in all"],
        "report": str(report),
    }


def write_report(run: Run, units: Units, checkpoint: Checkpoint, metrics: dict[str, Any], results: Results) -> Path:
    """Writes report.html into the run's folder; `metrics` is what metrics.json holds, so far as known."""
    steps = checkpoint.history.get("steps", {})
    columns = columns_of(checkpoint.history)
    history = {name: values for name, values in columns.items() if name == "loss" or name not in steps}
    epochs, best = int(checkpoint.state.epoch), int(checkpoint.state.best.epoch)
    contents = Contents(
        title=run.path.resolve().name,
        subtitle=f"{describe_model(run.config, run.schema)} on {source_name(run)}",
        headline=headline(metrics, own_metric(run.schema), epochs, best),
        notes=notes(metrics),
        history=history,
        best_epoch=best or None,
        steps={name: np.concatenate(values) for name, values in steps.items()},
        steps_per_epoch=steps["loss"].shape[1] if steps else 1,
        split=results.split,
        results=pictured(run.schema, results, units),
        config={"source": run.source} | run.config.to_json(),
        timings=tuple(metrics.get("timings", {}).items()),
        environment=run.versions,
    )
    path = run.path / "report.html"
    write_text(path, render(contents))
    return path


def headline(metrics: dict[str, Any], name: str, epochs: int, best: int) -> tuple[tuple[str, str], ...]:
    """The figures that are printed large: the task's own metric, the epochs, the time."""
    figures = []
    for split, title in (("test", "test"), ("valid", "validation")):
        if metrics.get(split):
            figures.append((f"{title} {name.replace('_', ' ')}", figure(name, metrics[split][name])))
    figures.append(("epochs", f"{epochs} (best {best})" if best != epochs else str(epochs)))
    if "training" in metrics.get("timings", {}):
        figures.append(("training time", duration(metrics["timings"]["training"])))
    return tuple(figures)


def figure(name: str, value: float | None) -> str:
    """A metric for people: shares in percent.

    >>> figure("accuracy", 0.88251), figure("rmse", 12.3456)
    ('88.3 %', '12.35')
    """
    if value is None:
        return "–"
    return f"{100 * value:.1f} %" if name.endswith("accuracy") else f"{value:.4g}"


def notes(metrics: dict[str, Any]) -> tuple[str, ...]:
    """What the reader must know before the figures."""
    texts = {
        "diverged": "Training diverged: the loss was no longer finite. The weights are those of the best "
        "epoch before; a smaller learning rate or clipping may help.",
        "stopped": "Training stopped early, as the validation score had not improved for long enough.",
        "unfinished": "The run is not finished.",
    }
    status = metrics.get("status", "unfinished")
    return (*([texts[status]] if status in texts else []), *metrics.get("notes", ()))


def describe_model(config: Config, schema: Schema) -> str:
    """The network in a few words.

    >>> describe_model(Config(), Schema("regression", (3,), "float32", (), (), 1))
    'mlp 3-256-128-1'
    """
    if config.kind == "own":
        return config.model
    outputs = len(schema.classes) or schema.targets
    if config.kind == "convnet":
        return f"convnet {'-'.join(map(str, config.channels))}, dense {'-'.join(map(str, (*config.hidden, outputs)))}"
    widths = (int(np.prod(schema.input_shape)), *config.hidden, outputs)
    return "mlp " + "-".join(map(str, widths))


def source_name(run: Run) -> str:
    """The source without the folders that lead to it."""
    return Path(run.source).name or run.source
