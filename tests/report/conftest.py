"""Made-up runs to report on, and a real headless Chromium to read the reports with."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from purefit.report import Classification, Contents, Mistake, Regression, render

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz")
FASHION = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip


def made_up(**changes: Any) -> Contents:
    """A run on Fashion-MNIST as it could have been: 10 epochs of 430 steps, the last one not the best."""
    rng = np.random.default_rng(0)
    epochs = np.arange(1, 11)
    step = np.arange(1, 4301)
    given = {
        "title": "fashion-mlp",
        "subtitle": "mlp 784-256-128-10 on fashion-mnist, 10 epochs, best epoch 9",
        "headline": (
            ("test accuracy", "88.3 %"),
            ("validation accuracy", "88.9 %"),
            ("epochs", "10 (best 9)"),
            ("training time", "3.6 s"),
        ),
        "notes": ("The validation loss was still falling at the best epoch: more epochs may help.",),
        "history": {
            "loss": (0.24 + 0.45 * np.exp(-epochs / 2.5)).astype(np.float32),
            "valid_loss": (0.315 + 0.3 * np.exp(-epochs / 2) + 0.004 * (epochs == 10)).astype(np.float32),
            "valid_accuracy": (0.891 - 0.075 * np.exp(-epochs / 3)).astype(np.float32),
            "examples_per_second": (160_000 + 4_000 * rng.normal(size=10)).astype(np.float32),
        },
        "best_epoch": 9,
        "steps": {
            "loss": (0.24 + 2 * np.exp(-step / 90) + 0.45 * np.exp(-step / 1100))
            * rng.lognormal(0, 0.18, step.size),
            "gradient_norm": (0.5 + 2 * np.exp(-step / 120)) * rng.lognormal(0, 0.3, step.size),
        },
        "steps_per_epoch": 430,
        "split": "test",
        "results": classification(FASHION, fashion_images(12)),
        "config": {
            "data": {"source": "fashion-mnist", "validation": 0.0833, "scale": "0 to 1"},
            "model": {"name": "mlp", "hidden": [256, 128], "activation": "relu", "dropout": 0.1},
            "optimizer": {"name": "adamw", "learning_rate": 0.001, "weight_decay": 0.0001},
            "schedule": "cosine",
            "epochs": 10,
            "batch_size": 128,
            "seed": 0,
            "patience": None,
        },
        "timings": (("reading data", 0.21), ("compiling", 1.34), ("training", 3.6), ("evaluating", 0.12)),
        "environment": {
            "purefit": "0.1.0", "jax": "0.10.2", "python": "3.11.9", "device": "cpu (2 cores)",
            "started": "2026-03-02 14:07",
        },
    }  # fmt: skip
    return Contents(**(given | changes))


def classification(classes: tuple[str, ...], images: list[np.ndarray | None]) -> Classification:
    """Mostly right, with neighbours confused the most; a mistake for each image, the first class first."""
    k = len(classes)
    rng = np.random.default_rng(1)
    distance = np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
    confusion = rng.poisson(np.where(distance == 0, 870, 60 / 3.0**distance))
    confusion[min(6, k - 1), 0] += 130
    mistakes = tuple(
        Mistake(
            row=37 * i + 4,
            target=classes[i % k],
            predicted=classes[(i + 1) % k],
            probability=0.9996 - 0.011 * i,
            target_probability=0.0003 + 0.002 * i,
            image=image,
            features=None if image is not None else rng.normal(size=30),
        )
        for i, image in enumerate(images)
    )
    return Classification(classes, confusion, mistakes)


def fashion_images(count: int) -> list[np.ndarray | None]:
    """The first test images of Fashion-MNIST; noise of the same shape where there is no such file."""
    if not FASHION_MNIST.exists():
        return list(np.random.default_rng(2).integers(0, 256, (count, 28, 28), dtype=np.uint8))
    with gzip.open(FASHION_MNIST) as file:
        return list(np.frombuffer(file.read(16 + count * 784), np.uint8, offset=16).reshape(count, 28, 28))


def digits() -> Contents:
    """scikit-learn's digits: 8x8, from 0 to 16."""
    ring = np.array([[0, 0, 5, 13, 9, 1, 0, 0], [0, 0, 13, 15, 10, 15, 5, 0]] * 4, dtype=float)
    return made_up(
        title="digits",
        subtitle="mlp 64-32-10 on digits, 10 epochs, best epoch 9",
        results=classification(tuple("0123456789"), [np.roll(ring, i, axis=1) for i in range(5)]),
        notes=(),
    )


def regression(names: tuple[str, ...] = ("price",), rows: int = 5000) -> Contents:
    rng = np.random.default_rng(3)
    targets = 180 + 60 * rng.gamma(3, 1, (rows, len(names)))
    predictions = targets + rng.standard_t(4, targets.shape) * (6 + 0.05 * targets)
    epochs = np.arange(1, 41)
    return made_up(
        title="houses",
        subtitle="mlp 8-64-64-1 on houses.csv, 40 epochs, best epoch 33",
        headline=(
            ("test R²", "0.961"),
            ("test RMSE", "24.1"),
            ("epochs", "40 (best 33)"),
            ("training time", "1.1 s"),
        ),
        notes=(),
        history={
            "loss": 0.04 + 2 * np.exp(-epochs / 4),
            "valid_loss": 0.05 + 1.8 * np.exp(-epochs / 4),
            "valid_r2": 0.961 - 0.7 * np.exp(-epochs / 5),
        },
        best_epoch=33,
        steps={"loss": 0.04 + 2 * np.exp(-np.arange(1600) / 160) * rng.lognormal(0, 0.2, 1600)},
        steps_per_epoch=40,
        results=Regression(names, targets, predictions),
    )


@pytest.fixture(scope="session")
def runs() -> SimpleNamespace:
    """The makers of made-up runs and of their parts."""
    return SimpleNamespace(
        made_up=made_up,
        classification=classification,
        digits=digits,
        regression=regression,
        images=fashion_images,
    )


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright, to read pages in a browser")
    if not CHROMIUM.exists():
        pytest.skip(f"needs {CHROMIUM}, to read pages in a browser")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        yield browser
        browser.close()


class Reader:
    """Opens reports in a browser and notes whatever a page says or asks for that it should not."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self.browser, self.folder = browser, folder
        self.complaints: list[str] = []
        self.pages: list[Any] = []

    def __call__(self, contents: Contents, *, width: int = 1200, scheme: str = "light") -> Any:
        file = self.folder / "report.html"
        file.write_text(render(contents), encoding="utf-8")
        page = self.browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: self._expect(request.url, file))
        page.goto(file.as_uri())
        self.pages.append(page)
        return page

    def _expect(self, url: str, file: Path) -> None:
        if not url.startswith((file.as_uri(), "data:")):
            self.complaints.append(f"asked for {url}")


@pytest.fixture
def read(chromium: Any, tmp_path: Path) -> Iterator[Reader]:
    """`read(contents, width=1200, scheme="light")`: the report in a browser.

    No page may have asked for anything but itself, nor have logged anything, when the test is over.
    """
    reader = Reader(chromium, tmp_path)
    yield reader
    for page in reader.pages:
        page.close()
    assert reader.complaints == []


@pytest.fixture(scope="session")
def fashion(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The report of `made_up()`, for tests that leave it as it was: a page takes plotly.js two seconds."""
    reader = Reader(chromium, tmp_path_factory.mktemp("fashion"))
    yield reader(made_up())
    assert reader.complaints == []
