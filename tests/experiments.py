"""Experiments in the test's own process, and how to compare where they ended."""

import json
import time

import jax
import numpy as np

from purefit.config import Config
from purefit.experiment import Session, resume, start
from purefit.trained import open_trained


def events_of(text):
    """The JSON lines in `text`."""
    return [json.loads(line) for line in text.splitlines()]


def session(listener=None, stop_after=None, save_every=None):
    """A session that is interrupted, as by a signal, after `stop_after` epochs."""
    seen = []

    def listen(event):
        if event["event"] == "epoch":
            seen.append(event)
        if listener:
            listener(event)

    return Session(listen, time.perf_counter(), lambda: stop_after is not None and len(seen) >= stop_after, save_every)


def train(source, out, *, stop_after=None, listener=None, save_every=None, **options):
    """Trains a new run; the options are Config's."""
    return start(str(source), Config(**options), out, session(listener, stop_after, save_every))


def go_on(path, *, epochs=None, stop_after=None, listener=None, save_every=None, model=None):
    """Resumes a run."""
    return resume(path, epochs, session(listener, stop_after, save_every), model)


def assert_same_bits(one, other, model=None):
    """Two runs ended in the same state, with the same history, file and arrays."""
    first, second = (open_trained(path, model).checkpoint for path in (one, other))
    paths = jax.tree_util.tree_leaves_with_path(first)
    for (path, left), right in zip(paths, jax.tree.leaves(second), strict=True):
        assert left.dtype == right.dtype, jax.tree_util.keystr(path)
        np.testing.assert_array_equal(left, right, err_msg=jax.tree_util.keystr(path))
    assert (one / "history.csv").read_bytes() == (other / "history.csv").read_bytes()
