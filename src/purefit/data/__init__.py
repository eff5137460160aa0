"""Where data come from: every source ends as NumPy arrays and a schema. Nothing here imports JAX."""

from purefit.data.dataset import Dataset, Schema
from purefit.data.sources import load, load_inputs
from purefit.data.split import hold_out

__all__ = ["Dataset", "Schema", "hold_out", "load", "load_inputs"]
