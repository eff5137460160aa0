"""The runs in a folder, a row each."""

from pathlib import Path
from typing import Any

from purefit.errors import InputError
from purefit.run import Run, is_locked, open_run
from purefit.summary import own_metric, source_name


def overview(folder: Path) -> list[dict[str, Any]]:
    """run, status, source, epochs, and the validation and test results of each run, oldest first.

    A folder that can't be read as a run is listed last, with the reason as its status.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; `purefit train digits` makes runs/ and a run in it")
    paths = [path for path in sorted(folder.iterdir()) if (path / "config.json").exists()]
    rows: list[tuple[str, dict[str, Any]]] = []
    unreadable: list[dict[str, Any]] = []
    for path in paths:
        try:
            run = open_run(path)
            rows.append((run.created, row_of(run)))
        except InputError as error:
            unreadable.append({"run": str(path), "status": f"unreadable: {error}"})
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])] + unreadable


def row_of(run: Run) -> dict[str, Any]:
    """The table's row for one run."""
    metrics = run.metrics or {"status": "training" if is_locked(run) else "interrupted"}
    name = own_metric(run.schema)
    return {
        "run": str(run.path),
        "status": metrics["status"],
        "source": source_name(run),
        "epochs": metrics.get("epochs", epochs_so_far(run)),
        "best_epoch": metrics.get("best_epoch"),
        f"valid_{name}": (metrics.get("valid") or {}).get(name),
        f"test_{name}": (metrics.get("test") or {}).get(name),
        "seconds": (metrics.get("timings") or {}).get("in all"),
    }


def epochs_so_far(run: Run) -> int:
    """Rows of history.csv: the epochs of a run that isn't finished."""
    history = run.path / "history.csv"
    return len(history.read_text().splitlines()) - 1 if history.exists() else 0


def print_table(rows: list[dict[str, Any]]) -> None:
    """Prints the rows as a table, a column for each name that occurs."""
    from rich.console import Console
    from rich.table import Table

    # Columns of which every row is empty say nothing.
    names = list(dict.fromkeys(name for row in rows for name in row if row[name] is not None))
    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(name.replace("_", " "), justify="left" if name in ("run", "status", "source") else "right")
    for row in rows:
        table.add_row(*(cell(row.get(name)) for name in names))
    # Where nobody looks at a screen, no column is cut to fit one.
    console = Console()
    (console if console.is_terminal else Console(width=1000)).print(table, highlight=False)


def cell(value: Any) -> str:
    """A value in few characters.

    >>> cell(0.88251), cell(None), cell(3)
    ('0.8825', '–', '3')
    """
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
