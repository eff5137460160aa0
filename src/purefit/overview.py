"""The runs in a folder, a row each."""

from pathlib import Path
from typing import Any

from purefit.errors import InputError
from purefit.run import Run, is_locked, open_run


def overview(folder: Path) -> list[dict[str, Any]]:
    """run, status, source, epochs, and the validation and test metrics of each run, oldest first.

    A folder that can't be read as a run is listed with the reason as its status.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; `purefit train digits` makes runs/ and a run in it")
    paths = [path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")]
    return [row_of(path) for path in sorted(paths, key=lambda path: path.stat().st_ctime)]


def row_of(path: Path) -> dict[str, Any]:
    """The table's row for one folder."""
    try:
        run = open_run(path)
        metrics = run.metrics or {"status": "training" if is_locked(run) else "interrupted"}
        results = {
            f"{split}_{name}": value
            for split in ("valid", "test")
            for name, value in list((metrics.get(split) or {}).items())[1:2]
        }
        epochs = metrics.get("epochs", epochs_so_far(run))
    except (InputError, AttributeError) as error:
        return {"run": str(path), "status": f"unreadable: {error}"}
    return {
        "run": str(path),
        "status": metrics["status"],
        "source": Path(run.source).name or run.source,
        "epochs": epochs,
        "best_epoch": metrics.get("best_epoch"),
        **results,
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

    names = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(
            name.replace("_", " "), justify="left" if name in ("run", "status", "source") else "right"
        )
    for row in rows:
        table.add_row(*(cell(row.get(name)) for name in names))
    Console().print(table, highlight=False)


def cell(value: Any) -> str:
    """A value in few characters.

    >>> cell(0.88251), cell(None), cell(3)
    ('0.8825', '–', '3')
    """
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
