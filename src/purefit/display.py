"""What a run shows while it trains: a live line, plain lines, JSON lines, or nothing.

A run says what happens as events, dictionaries with an "event": start, compiled, epoch, checkpoint,
done or interrupted, round and tuned of a tuning, and note for what the user should know. A display is a
function that is called with each.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from purefit.files import dumps

Event = dict[str, Any]
Listener = Callable[[Event], None]


@contextmanager
def display(*, json: bool = False, quiet: bool = False) -> Iterator[Listener]:
    """The display for this terminal: JSON on stdout; else on stderr a live line, or plain lines."""
    if json:
        yield _both(json_line, plain_note)
    elif quiet:
        yield plain_note
    elif sys.stderr.isatty():
        with live() as listener:
            yield listener
    else:
        yield plain


def json_line(event: Event, file: IO[str] | None = None) -> None:
    """One JSON object on a line, flushed."""
    if event["event"] != "note":
        # One write, so that lines of several threads don't mix.
        (file or sys.stdout).write(dumps(event) + "\n")
        (file or sys.stdout).flush()


def plain(event: Event) -> None:
    """A line of text for each event that a reader wants."""
    text = describe(event)
    if text:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def plain_note(event: Event) -> None:
    """Only what a user should know even when everything else is quiet."""
    if event["event"] == "note":
        plain(event)


@contextmanager
def live() -> Iterator[Listener]:
    """Lines as `plain` has them above one line that moves: epochs done, and the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("epoch"), MofNCompleteColumn(), BarColumn(), TextColumn("{task.fields[left]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("training", total=None, left="compiling …")

        def listener(event: Event) -> None:
            if event["event"] == "epoch":
                left = f"{duration(event['seconds_left'])} left"
                progress.update(bar, completed=event["epoch"], total=event["epochs"], left=left)
            elif event["event"] == "done":
                progress.update(bar, visible=False)
            text = describe(event)
            if text:
                progress.console.print(text, highlight=False, markup=False, soft_wrap=True)

        yield listener


HEADS: dict[str, tuple[str, ...]] = {
    "compared": ("setting", "seeds", "result", "difference", "95 % interval", "p", "time"),
    "benched": ("", "median", "fastest", "slowest", "tracing", "compiling", "GFLOP", "GFLOP/s", "of best", "GB/s"),
}
"""What stands above the columns of an event's table."""


def describe(event: Event) -> str:
    """An event in words; "" for those that a reader needn't see.

    >>> describe({"event": "epoch", "epoch": 3, "epochs": 10, "loss": 0.25, "valid_accuracy": 0.875,
    ...     "gradient_norm": 1.0, "examples_per_second": 80000.0, "seconds": 0.7, "seconds_left": 7.0})
    'epoch  3/10  loss 0.2500  valid accuracy 0.8750  80,000 examples/s  7 s left'
    """
    match event["event"]:
        case "start":
            splits = [f"{event[f'{split}_examples']:,} {split}" for split in ("train", "valid", "test")]
            return f"{event['run']}: {event['model']} on {event['source']} ({', '.join(splits)} examples)"
        case "compiled" if event["seconds"] >= 0.1:
            how = "from the cache" if event["cached"] else "compiled"
            return f"{event['program']}: {how} in {event['seconds']:.1f} s"
        case "epoch":
            width = len(str(event["epochs"]))
            names = [name for name in event if name == "loss" or name.startswith("valid_")]
            values = [f"{name.replace('_', ' ')} {event[name]:.4f}" for name in names]
            speed = f"{event['examples_per_second']:,.0f} examples/s"
            left = f"{duration(event['seconds_left'])} left"
            return "  ".join([f"epoch {event['epoch']:>{width}}/{event['epochs']}", *values, speed, left])
        case "round":
            width = len(str(event["rounds"]))
            slopes = event["gradient"]
            values = [f"{name} {value:g} (gradient {slopes[name]:.3g})" for name, value in event["values"].items()]
            beyond = [] if event["finite"] else ["not finite: half-way back"]
            loss = f"valid loss {event['valid_loss']:.4f}"
            return "  ".join([f"round {event['round']:>{width}}/{event['rounds']}", loss, *values, *beyond])
        case "tuned":
            return f"tuned: valid loss {event['first_loss']:.4f} → {event['valid_loss']:.4f} with {event['flags']}"
        case "note":
            return f"purefit: {event['text']}"
        case "interrupted":
            after = f" after epoch {event['epoch']}" if event["epoch"] else ""
            return f"interrupted{after}; go on with: {event['go_on']}"
        case "compared" | "benched":
            table = aligned([HEADS[event["event"]], *event["rows"]])
            return "\n".join([table, *event["answers"], f"page: {event['page']}"])
        case "done":
            return finished(event)
    return ""


def aligned(rows: list[tuple[str, ...]]) -> str:
    """A table as text, its columns in line.

    >>> print(aligned([("setting", "p"), ("a", "0.1")]))
    setting  p
    a        0.1
    """
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def finished(event: Event) -> str:
    """The last lines: results, times, where the report is."""
    results = [
        f"{name.replace('_', ' ')} {value:.4f}"
        for name, value in event.items()
        if name.startswith(("test_", "valid_")) and value is not None
    ]
    compiled = f"{event['compilations']} compilation{'' if event['compilations'] == 1 else 's'}"
    times = (
        f"{duration(event['train_seconds'])} training, {duration(event['compile_seconds'])} for {compiled}, "
        f"{duration(event['seconds'])} in all"
    )
    what = f"{event['epochs']} epochs, best {event['best_epoch']}"
    return "\n".join([f"{event['status']}: {'  '.join([*results, what])}", times, f"report: {event['report']}"])


def duration(seconds: float) -> str:
    """A time span for people.

    >>> [duration(s) for s in (0.25, 7.6, 75, 7320)]
    ['0.2 s', '8 s', '1 min 15 s', '2 h 2 min']
    """
    if seconds < 5:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _both(*listeners: Listener) -> Listener:
    def listener(event: Event) -> None:
        for listen in listeners:
            listen(event)

    return listener
