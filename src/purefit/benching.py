"""A benchmark of the user's choosing: measured, told as events, and written as a page."""

from pathlib import Path
from typing import Any

import jax

from purefit.benchmark import OP_BY_OP, SCANNED, STEP, Bench, Row, measure
from purefit.config import Config
from purefit.display import Event, Listener
from purefit.errors import InputError
from purefit.files import write_text
from purefit.parts import check_recipe, read
from purefit.report import BenchContents, render_bench
from purefit.run import versions_here
from purefit.summary import describe_model


def bench(source: str, config: Config, out: Path | None, listener: Listener) -> Event:
    """Measures a training step of `config` on `source`; writes a page; returns the last event."""
    if out is not None and out.exists():
        raise InputError(f"{out}: is there already; choose another --out")
    parts = read(source, config)
    check_recipe(parts, config)
    # What is measured is compiling, not fetching what was compiled before.
    jax.config.update("jax_enable_compilation_cache", False)
    name = parts.dataset.name
    model = describe_model(config, parts.dataset.schema)
    subtitle = f"{model} on {name}, batches of {parts.recipe.batch_size}"
    listener({"event": "note", "text": subtitle})
    found = measure(parts.recipe, parts.hyper, parts.split.data, lambda text: listener({"event": "note", "text": text}))
    page = out or free(Path(), name)
    groups = {
        "A training step and its parts": [words(row, found) for row in found.steps],
        "The losses of one batch": [words(row, found) for row in found.losses],
    }
    contents = BenchContents(
        title=f"purefit bench {name}",
        subtitle=subtitle,
        sentences=sentences(found),
        groups=groups,
        times={row.name: row.median for row in found.steps if row.name in (OP_BY_OP, STEP, SCANNED)},
        config={"source": parts.dataset.source} | config.to_json(),
        environment=versions_here(),
    )
    write_text(page, render_bench(contents))
    for row in [*found.steps, *found.losses]:
        listener({"event": "row"} | as_event(row, found))
    event: Event = {"event": "benched", "page": str(page), "best_product_flops": found.best}
    event |= {"steps_per_epoch": found.steps_per_epoch, "paid_after_steps": found.paid_after}
    listener(event | {"rows": [row for group in groups.values() for row in group], "answers": sentences(found)})
    return event


def free(folder: Path, name: str) -> Path:
    """The first of bench-NAME-1.html, -2, … that isn't taken."""
    number = 1
    while (path := folder / f"bench-{name}-{number}.html").exists():
        number += 1
    return path


def as_event(row: Row, found: Bench) -> dict[str, Any]:
    """A row for programs: times in seconds, rates in a second."""
    return {
        "name": row.name,
        "seconds": row.median,
        "fastest": min(row.seconds),
        "slowest": max(row.seconds),
        "turns": len(row.seconds),
        "tracing": row.tracing,
        "compiling": row.compiling,
        "flops": row.flops,
        "bytes": row.bytes,
        "flops_per_second": row.rate,
        "share_of_best_product": row.rate and row.rate / found.best,
        "bytes_per_second": row.bytes and row.bytes / row.median,
    }


def words(row: Row, found: Bench) -> tuple[str, ...]:
    """A row for people, as `report.bench.HEAD` names its columns."""
    event = as_event(row, found)

    def scaled(name: str, factor: float, unit: str = "") -> str:
        return "–" if not event[name] else f"{factor * event[name]:.3g}{unit}"

    times = [scaled(name, 1e3, " ms") for name in ("seconds", "fastest", "slowest")]
    made = [scaled(name, 1, " s") for name in ("tracing", "compiling")]
    rates = [scaled("flops", 1e-9), scaled("flops_per_second", 1e-9)]
    return (
        row.name,
        *times,
        *made,
        *rates,
        scaled("share_of_best_product", 100, " %"),
        scaled("bytes_per_second", 1e-9),
    )


def sentences(found: Bench) -> list[str]:
    """What the figures come to."""
    rows = {row.name: row for row in (*found.steps, *found.losses)}
    loop, step, scanned = (rows[name].median for name in (OP_BY_OP, STEP, SCANNED))
    made = rows[STEP].tracing + rows[STEP].compiling
    said = [
        f"Compiled, a step takes {1e3 * step:.3g} ms instead of {1e3 * loop:.3g} ms op by op: "
        f"{loop / step:.3g} times as fast.",
        f"Inside one scanned epoch it takes {1e3 * scanned:.3g} ms: {step / scanned:.2f} times as fast again.",
    ]
    if found.paid_after is None:
        said.append("Compiling saves no time here.")
    else:
        said.append(f"Compiling takes {made:.2g} s, which has paid after {found.paid_after:.3g} steps.")
    python, mapped, batched = (row.median for row in found.losses)
    said.append(
        f"vmap of a function of one example takes {mapped / batched:.2f} times what the function batched by hand "
        f"takes, and is {python / mapped:.3g} times as fast as a Python loop."
    )
    said.append(f"The best matrix product here reaches {found.best / 1e9:.0f} GFLOP/s in float32.")
    return said
