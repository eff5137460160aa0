"""Reports: one HTML page about a training run, a comparison or a sweep, that opens offline and asks for nothing.

`render(Contents(...))`, `render_comparison(Comparison(...))` and `render_sweep(SweepContents(...))` return the
page as a string. What is on it is said in `contents`, `comparison` and `sweep`, how the curves are drawn in
`charts` and `sweep_charts`, and what order a reader meets it in, in `page`. Nothing here imports JAX.
"""

from purefit.report.bench import BenchContents, render_bench
from purefit.report.comparison import Comparison, Setting, answers, comparison_rows, render_comparison
from purefit.report.contents import Classification, Contents, Mistake, Regression
from purefit.report.page import render
from purefit.report.sweep import Axis, SweepContents, SweepMember, render_sweep, sweep_rows

__all__ = [
    "Axis",
    "BenchContents",
    "Classification",
    "Comparison",
    "Contents",
    "Mistake",
    "Regression",
    "Setting",
    "SweepContents",
    "SweepMember",
    "answers",
    "comparison_rows",
    "render",
    "render_bench",
    "render_comparison",
    "render_sweep",
    "sweep_rows",
]
