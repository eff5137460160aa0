"""The report: one HTML page about one training run, that opens offline and asks the network for nothing.

`render(Contents(...))` returns the page as a string. What is on it is said in `contents`, how the curves
are drawn in `charts`, and what order a reader meets it in, in `page`. Nothing here imports JAX.
"""

from purefit.report.contents import Classification, Contents, Mistake, Regression
from purefit.report.page import render

__all__ = ["Classification", "Contents", "Mistake", "Regression", "render"]
