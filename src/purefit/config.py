"""The configuration of a run: one frozen dataclass, from which come the flags, their help, and config.json.

It imports neither JAX nor NumPy, so that `purefit --help` is quick.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal

from purefit.errors import InputError

USED_BY = {
    "hidden": ("mlp", "convnet"),
    "channels": ("convnet",),
    "activation": ("mlp", "convnet"),
    "norm": ("mlp", "convnet"),
    "residual": ("mlp",),
    "dropout": ("mlp", "convnet"),
}
"""The options that describe a model, and the models that they describe."""


@dataclass(frozen=True)
class Config:
    """What is trained, on what, and how. Its values make the run again, to the bit."""

    data_dir: str | None = None
    """Folder with the four IDX files of mnist or fashion-mnist, instead of a download."""
    task: Literal["auto", "classification", "regression"] = "auto"
    """What the targets are; auto looks at their type and asks where that leaves a doubt."""
    model: str = "mlp"
    """mlp, convnet (for images), or your own: PACKAGE.MODULE:FUNCTION or FILE.py:FUNCTION, a function that
    returns a Flax, Equinox or Haiku network or a pair of functions."""
    hidden: tuple[int, ...] = (256, 128)
    """Widths of the hidden dense layers; none after the flag makes a linear model."""
    channels: tuple[int, ...] = (16, 32, 64)
    """Of a convnet: channels of each convolution; each halves height and width."""
    activation: Literal[
        "relu",
        "gelu",
        "silu",
        "tanh",
        "elu",
        "selu",
        "sigmoid",
        "softplus",
        "leaky_relu",
        "mish",
        "hard_swish",
        "softsign",
        "identity",
    ] = "relu"
    """What stands between the layers."""
    norm: Literal["none", "layer", "batch"] = "none"
    """Normalization in each hidden layer (of a convnet: in each convolution)."""
    residual: bool = False
    """Of an mlp: hidden layers as wide as their input are added to it."""
    dropout: float | None = None
    """Share of the hidden dense units that are left out in a step."""
    scaling: Literal["auto", "unit", "standard", "none"] = "auto"
    """Scaling of the inputs: unit divides all by the largest, standard makes each feature's mean 0 and
    deviation 1; auto is unit for images and bytes, standard otherwise."""
    loss: Literal["auto", "cross_entropy", "squared", "absolute", "huber"] = "auto"
    """What training makes small; auto is cross_entropy for classes, squared for numbers."""
    epochs: int = 10
    """Passes over the training examples."""
    batch_size: int = 128
    """Examples per step."""
    optimizer: str = "adam"
    """Any Optax optimizer: adam, adamw, sgd, muon, prodigy, schedule_free, lbfgs, …; with its options as in
    sgd:momentum=0.9,nesterov=true."""
    learning_rate: float | None = None
    """The step size; if not given, the optimizer's own where it has one, else 0.001."""
    schedule: str = "constant"
    """How the learning rate changes, any Optax schedule: cosine_decay, warmup_cosine_decay, cosine_onecycle,
    …; with its options as in warmup_cosine_decay:warmup_steps=2epochs. As long as the run if not said."""
    weight_decay: float | None = None
    """Weight decay of matrices (biases and norms are left alone); the optimizer's own if not given."""
    clip_norm: float | None = None
    """Scales gradients down to this global norm."""
    ema: float | None = None
    """Decay of an average of the weights that is used instead of the last ones, such as 0.999."""
    accumulate: int = 1
    """Batches whose gradients are averaged for one update."""
    precision: Literal["float32", "bfloat16", "auto"] = "float32"
    """What matrix products are made in; auto times both for a moment and takes the faster."""
    seed: int = 0
    """All the randomness there is: held-out rows, first weights, shuffles."""
    valid: float = 0.1
    """Share of the training examples that is held out to choose the best epoch; 0 trains on all of them
    and keeps the last epoch."""
    patience: int | None = None
    """Stops after this many epochs without a better one."""
    monitor: str = "loss"
    """What chooses the best epoch, on the held-out examples: loss, or a metric such as accuracy, r2."""

    def __post_init__(self) -> None:
        at_least = {"epochs": 1, "batch_size": 1, "seed": 0, "patience": 1, "weight_decay": 0, "accumulate": 1}
        for name, least in at_least.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise InputError(f"{flag(name)} must be at least {least}, not {value}")
        for name in ("learning_rate", "clip_norm"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{flag(name)} must be positive, not {value}")
        for name in ("dropout", "ema"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < 1:
                raise InputError(f"{flag(name)} must be from 0 to below 1, not {value}")
        for name in ("learning_rate", "weight_decay", "clip_norm"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise InputError(f"{flag(name)} must be a finite number, not {value}")
        if not 0 <= self.valid < 1:
            raise InputError(f"--valid must be a share from 0 to below 1, not {self.valid}")
        if self.seed >= 2**32:
            raise InputError(f"--seed must be below 2³², not {self.seed}")
        for name in ("hidden", "channels"):
            widths = getattr(self, name)
            if any(width < 1 for width in widths):
                raise InputError(f"{flag(name)} must be positive widths, not {' '.join(map(str, widths))}")
        self._check_model()

    def _check_model(self) -> None:
        """No option is accepted that the model would pass over in silence."""
        own = [name for name, models in USED_BY.items() if self.kind not in models]
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        idle = [flag(name) for name in own if getattr(self, name) != defaults[name]]
        if self.kind == "own" and ":" not in self.model:
            yours = "your own, PACKAGE.MODULE:FUNCTION or FILE.py:FUNCTION"
            raise InputError(f"--model {self.model}: there are mlp, convnet, and {yours}")
        if idle:
            what = "an own model" if self.kind == "own" else f"an {self.kind}" if self.kind == "mlp" else "a convnet"
            raise InputError(f"{', '.join(idle)}: of no use to {what} (--model {self.model})")

    @property
    def kind(self) -> str:
        """mlp, convnet, or own."""
        return self.model if self.model in ("mlp", "convnet") else "own"

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary: `Config.from_json` makes the same Config of it."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Config":
        """The Config that `to_json` was called on; InputError for a name that this version doesn't know.

        >>> Config.from_json(Config(epochs=3).to_json()) == Config(epochs=3)
        True
        """
        unknown = set(values) - {field.name for field in dataclasses.fields(cls)}
        if unknown:
            raise InputError(f"unknown configuration {', '.join(sorted(unknown))}; is purefit up to date?")
        chosen: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return cls(**chosen)


def flag(name: str) -> str:
    """The command's spelling of a field.

    >>> flag("learning_rate")
    '--learning-rate'
    """
    return "--" + name.replace("_", "-")
