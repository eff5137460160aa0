"""purefit: training a neural network is a pure function, `fit(recipe, hyper, data, key)`.

Names are imported when they are first used, so that `import purefit` is light and starts no backend.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Data": "examples",
    "Examples": "examples",
    "Model": "models",
    "as_model": "adapters",
    "mlp": "perceptron",
    "convnet": "convolutional",
    "scaled": "scaling",
    "optimizer": "optimizers",
    "schedule": "schedules",
    "Recipe": "recipe",
    "Clock": "recipe",
    "TrainState": "core",
    "Best": "core",
    "Fit": "core",
    "Status": "core",
    "init": "core",
    "epoch": "core",
    "fit": "core",
    "evaluate": "core",
    "predict": "core",
    "hypergrad": "hypergradient",
    "train": "training",
    "InputError": "errors",
}

__all__ = [*_HOME]

if TYPE_CHECKING:
    from purefit.adapters import as_model as as_model
    from purefit.convolutional import convnet as convnet
    from purefit.core import Best as Best
    from purefit.core import Fit as Fit
    from purefit.core import Status as Status
    from purefit.core import TrainState as TrainState
    from purefit.core import epoch as epoch
    from purefit.core import evaluate as evaluate
    from purefit.core import fit as fit
    from purefit.core import init as init
    from purefit.core import predict as predict
    from purefit.errors import InputError as InputError
    from purefit.examples import Data as Data
    from purefit.examples import Examples as Examples
    from purefit.hypergradient import hypergrad as hypergrad
    from purefit.models import Model as Model
    from purefit.optimizers import optimizer as optimizer
    from purefit.perceptron import mlp as mlp
    from purefit.recipe import Clock as Clock
    from purefit.recipe import Recipe as Recipe
    from purefit.scaling import scaled as scaled
    from purefit.schedules import schedule as schedule
    from purefit.training import train as train


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"purefit.{_HOME[name]}"), name)
    raise AttributeError(f"module 'purefit' has no attribute {name!r}")
