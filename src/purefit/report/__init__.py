"""Reports: one HTML page about one training run, or about a comparison, that opens offline and asks for nothing.

`render(Contents(...))` and `render_comparison(Comparison(...))` return the page as a string. What is on it is
said in `contents` and `comparison`, how the curves are drawn in `charts`, and what order a reader meets it in,
in `page`. Nothing here imports JAX.
"""

from purefit.report.bench import BenchContents, render_bench
from purefit.report.comparison import Comparison, Setting, answers, comparison_rows, render_comparison
from purefit.report.contents import Classification, Contents, Mistake, Regression
from purefit.report.page import render

__all__ = [
    "BenchContents",
    "Classification",
    "Comparison",
    "Contents",
    "Mistake",
    "Regression",
    "Setting",
    "answers",
    "comparison_rows",
    "render",
    "render_bench",
    "render_comparison",
]
