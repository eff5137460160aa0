"""purefit bench: what is measured is there and adds up; never how fast it is."""

import json

import pytest

from experiments import events_of


@pytest.fixture(scope="module")
def benched(tmp_path_factory):
    """One benchmark of a small network, in this process: its events and its page."""
    from purefit.benching import bench
    from purefit.config import Config

    folder, events = tmp_path_factory.mktemp("bench"), []
    config = Config(hidden=(32,), batch_size=64, epochs=1)
    bench("digits", config, folder / "bench.html", events.append)
    return events, (folder / "bench.html").read_text()


def rows_of(events):
    return {event["name"]: event for event in events if event["event"] == "row"}


def test_every_contender_is_measured_whole(benched):
    events, _ = benched
    rows = rows_of(events)
    assert list(rows) == [
        "a step, op by op",
        "forward",
        "loss and gradient",
        "optimizer",
        "a step, jit",
        "a step, in a scanned epoch",
        "an epoch, with validation",
        "losses, a Python loop over examples",
        "losses, vmap of one example",
        "losses, batched by hand",
    ]
    for row in rows.values():
        assert 0 < row["fastest"] <= row["seconds"] <= row["slowest"]
        assert row["turns"] >= 3
        json.dumps(row)


def test_the_operations_are_those_of_the_products(benched):
    events, _ = benched
    rows, batch = rows_of(events), 64
    products = 2 * batch * (64 * 32 + 32 * 10)
    assert rows["forward"]["flops"] == pytest.approx(products, rel=0.15)
    # Backward: the weights' gradients, and the inputs' of the second layer.
    assert rows["loss and gradient"]["flops"] == pytest.approx(2 * products + 2 * batch * 32 * 10, rel=0.2)
    assert rows["losses, batched by hand"]["flops"] == pytest.approx(products, rel=0.15)
    assert rows["losses, a Python loop over examples"]["flops"] == pytest.approx(products, rel=0.15)


def test_a_scanned_step_counts_its_own_operations_once(benched):
    rows = rows_of(benched[0])
    assert rows["a step, in a scanned epoch"]["flops"] == pytest.approx(rows["a step, jit"]["flops"])


def test_the_sentences_follow_from_the_rows(benched):
    events, page = benched
    rows, last = rows_of(events), events[-1]
    made = rows["a step, jit"]["tracing"] + rows["a step, jit"]["compiling"]
    saved = rows["a step, op by op"]["seconds"] - rows["a step, jit"]["seconds"]
    assert last["paid_after_steps"] == pytest.approx(made / saved)
    for row in rows.values():
        if row["flops"]:
            assert row["share_of_best_product"] == pytest.approx(
                row["flops"] / row["seconds"] / last["best_product_flops"]
            )
    assert all(sentence in page for sentence in last["answers"])
    assert all(name in page for name in rows)


def test_the_command_leaves_a_page_and_never_writes_over_one(command, tmp_path):
    done = command("bench", "digits", "--hidden", 8, "--json")
    assert done.returncode == 0, done.stderr
    events = events_of(done.stdout)
    assert events[-1]["page"] == "bench-digits-1.html"
    before = (tmp_path / "bench-digits-1.html").stat().st_mtime_ns
    refused = command("bench", "digits", "--out", "bench-digits-1.html")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "is there already" in refused.stderr
    assert (tmp_path / "bench-digits-1.html").stat().st_mtime_ns == before
