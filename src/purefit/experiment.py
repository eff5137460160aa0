"""An experiment: from a source and a configuration to a run folder with weights, results and a report.

`start` makes a new run and `resume` goes on with one; both end in `carry_on`, so that an interrupted run
does from any epoch on what the uninterrupted one does. What happens is said as events (see display.py).
"""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from purefit import checkpoints
from purefit.checkpoints import Checkpoint
from purefit.compiling import Compilation, watch
from purefit.config import Config
from purefit.core import Metrics, Status, TrainState
from purefit.display import Event, Listener
from purefit.errors import InputError
from purefit.parts import Parts, assemble, check_model, check_recipe, has_convolutions, read, rebuild, template
from purefit.run import Run, columns_of, create, locked, open_run, write_config, write_history
from purefit.summary import describe_model, source_name, summarize
from purefit.timing import faster_precision
from purefit.training import Progress, stack, train


class Session(NamedTuple):
    """How one program works on a run: who is told, when to stop, and since when it has been working.

    began: `time.perf_counter()` at the program's start.
    save_every: epochs between checkpoints; None spaces them so that they cost little.
    """

    listener: Listener
    began: float
    interrupted: Callable[[], bool] = lambda: False
    save_every: int | None = None

    def note(self, text: str) -> None:
        self.listener({"event": "note", "text": text})


def start(source: str, config: Config, out: Path | None, session: Session) -> Event:
    """Trains a new run in the folder `out`, or in a new one below runs/; returns the last event.

    Nothing is written before the data have been read and the recipe is known to be possible.
    """
    parts = read(source, config)
    if config.precision == "auto":
        config, reason = faster_precision(config, parts)
        session.note(reason)
        parts = assemble(config, parts.dataset)
    check_recipe(parts, config)
    run = create(
        out,
        name=parts.dataset.name,
        source=parts.dataset.source,
        config=config,
        schema=parts.dataset.schema,
        units={name: list(values) for name, values in parts.split.units._asdict().items()},
        fingerprint=parts.dataset.fingerprint,
        device=device_name(),
    )
    with locked(run):
        return carry_on(run, parts, None, session)


def resume(path: Path, epochs: int | None, session: Session, model: str | None = None) -> Event:
    """Goes on with the run in the folder `path`, to its configured epochs or to `epochs` in all.

    model: the run's own, named again by the user if it isn't a built-in one; see `check_model`.
    """
    run = open_run(path)
    check_model(run, model)
    with locked(run):
        if epochs not in (None, run.config.epochs):
            run = replace(run, config=replace(run.config, epochs=epochs))
        parts = rebuild(run)
        state = template(parts.recipe, parts.hyper, run.schema)
        checkpoint = checkpoints.load_latest(run.checkpoints, state, session.note)
        if checkpoint is None:
            session.note(f"{path}: no whole checkpoint; starting from the beginning")
        elif checkpoint.state.epoch > run.config.epochs:
            raise InputError(f"{path}: has {checkpoint.state.epoch} epochs already; --epochs can't be fewer")
        write_config(run)
        return carry_on(run, parts, checkpoint, session)


def carry_on(run: Run, parts: Parts, checkpoint: Checkpoint | None, session: Session) -> Event:
    """Trains from a checkpoint, or from the beginning, and summarizes; unless interrupted before the end."""
    timings = {"reading data": time.perf_counter() - session.began}
    announce(run, parts, session)
    with watch(lambda compilation: session.listener(compiled_event(compilation))) as compilations:
        checkpoint, timings["training"] = train_epochs(run, parts, checkpoint, session, compilations)
        state = checkpoint.state
        if state.status == Status.DIVERGED:
            kept = run.checkpoints / checkpoints.name_of(int(state.epoch))
            session.note(
                f"training diverged in epoch {state.epoch + 1}, the loss or a weight is no longer finite; "
                f"the state before it is kept in {kept}; a smaller --learning-rate or --clip-norm may help"
            )
        if state.status == Status.RUNNING and state.epoch < run.config.epochs:
            event: Event = {"event": "interrupted", "run": str(run.path), "epoch": int(state.epoch)}
            event |= {"go_on": f"purefit resume {run.path}"}
        else:
            event = summarize(run, parts, checkpoint, timings, compilations, session.began)
    session.listener(event)
    return event


def train_epochs(
    run: Run,
    parts: Parts,
    checkpoint: Checkpoint | None,
    session: Session,
    compilations: list[Compilation],
) -> tuple[Checkpoint, float]:
    """The last checkpoint, which is then on disk, and the seconds of training without compiling.

    compilations: the list that grows while programs are compiled.
    """
    history = unstack(checkpoint) if checkpoint else []
    writer = checkpoints.Writer(run.checkpoints, session.save_every, session.listener)
    key = jax.jit(jax.random.key)(np.uint32(run.config.seed))
    examples = len(parts.split.train_rows)
    before = len(history)
    trained = compiled = 0.0

    def on_epoch(progress: Progress) -> None:
        nonlocal trained, compiled
        # The first epoch's time includes making its program ready.
        ready = seconds_of([each for each in compilations if each.program == "epoch"])
        seconds, compiled = progress.seconds - (ready - compiled), ready
        trained += seconds
        history.append(progress.metrics)
        write_history(run, stack(history))
        epoch, left = int(progress.state.epoch), run.config.epochs - len(history)
        event: Event = {"event": "epoch", "epoch": len(history), "epochs": run.config.epochs}
        event |= {name: float(value) for name, value in columns_of(progress.metrics).items()}
        event |= {"examples_per_second": examples / seconds, "seconds": seconds}
        session.listener(event | {"seconds_left": left * trained / (len(history) - before)})
        writer.offer(epoch, snapshot(progress.state, history))

    fit = train(
        parts.recipe,
        parts.hyper,
        parts.split.data,
        key,
        checkpoint.state if checkpoint else None,
        on_epoch=on_epoch,
        interrupted=session.interrupted,
    )
    writer.close()
    return Checkpoint(fit.state, stack(history)), trained


def snapshot(state: TrainState, history: list[Metrics]) -> Callable[[], Checkpoint]:
    """A function that makes the checkpoint of this moment, be it called later."""
    epochs = len(history)
    return lambda: Checkpoint(state, stack(history[:epochs]))


def unstack(checkpoint: Checkpoint) -> list[Metrics]:
    """A checkpoint's history, epoch by epoch, as far as its state is.

    A diverged epoch is in the history but not in the state: it is run, and diverges, again.
    """

    def row(number: int) -> Metrics:
        metrics: Metrics = jax.tree.map(lambda leaf: leaf[number], checkpoint.history)
        return metrics

    return [row(number) for number in range(int(checkpoint.state.epoch))]


def announce(run: Run, parts: Parts, session: Session) -> None:
    """Says what is about to be trained, and what the user should know about it."""
    train, valid = len(parts.split.train_rows), len(parts.split.valid_rows)
    if parts.recipe.batch_size < run.config.batch_size:
        session.note(f"--batch-size {run.config.batch_size} is more than there are examples; using {train}")
    if run.config.kind == "own" and jax.default_backend() == "cpu" and has_convolutions(parts, run.config):
        session.note("the model's convolutions are computed as products of patches, which a CPU does faster in a loop")
    session.listener(
        {
            "event": "start",
            "run": str(run.path),
            "source": source_name(run),
            "task": run.schema.task,
            "model": describe_model(run.config, run.schema),
            "train_examples": train,
            "valid_examples": valid,
            "test_examples": 0 if parts.dataset.x_test is None else len(parts.dataset.x_test),
            "device": run.versions["device"],
        }
    )


def device_name() -> str:
    """What computes, in JAX's words."""
    device = jax.devices()[0]
    return f"{device.platform} {device.device_kind}"


def compiled_event(compilation: Compilation) -> Event:
    return {"event": "compiled"} | compilation._asdict()


def seconds_of(compilations: list[Compilation]) -> float:
    return sum(compilation.seconds for compilation in compilations)
