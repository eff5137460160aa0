"""What `train` and `resume` share: the display, the signals that interrupt, and the exit code."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from purefit.cli import BEGAN
from purefit.cli.options import Common
from purefit.display import Event, display
from purefit.errors import InputError
from purefit.experiment import Session

DIVERGED = 3
"""The exit code of a run that diverged."""


@contextmanager
def session(common: Common, *, quiet: bool, save_every: int | None) -> Iterator[tuple[Session, Callable[[Event], int]]]:
    """A session, and the function from its last event to the exit code.

    Ctrl-C and SIGTERM end training after the last whole epoch; a second one ends the program at once.
    """
    if save_every is not None and save_every < 1:
        raise InputError(f"--save-every must be at least 1, not {save_every}")
    common.prepare()
    if not common.debug:
        # What fails in Orbax's threads is raised where the checkpoint is waited for, too.
        threading.excepthook = lambda _: None
        sys.unraisablehook = lambda _: None
    caught: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        caught.append(number)
        signal.signal(number, previous[signal.Signals(number)])

    def exit_code(event: Event) -> int:
        if event["event"] == "interrupted":
            return 128 + caught[0]
        return DIVERGED if event["status"] == "diverged" else 0

    previous = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with display(json=common.json, quiet=quiet) as listener:
            yield Session(listener, BEGAN, lambda: bool(caught), save_every), exit_code
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
