"""The configuration of a run: one frozen dataclass, from which come the flags, their help, and config.json.

It imports neither JAX nor NumPy, so that `purefit --help` is quick.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal

from purefit.errors import InputError


@dataclass(frozen=True)
class Config:
    """What is trained, on what, and how. Its values make the run again, to the bit."""

    data_dir: str | None = None
    """Folder with the four IDX files of mnist or fashion-mnist, instead of a download."""
    task: Literal["auto", "classification", "regression"] = "auto"
    """What the targets are; auto looks at their type and asks where that leaves a doubt."""
    hidden: tuple[int, ...] = (256, 128)
    """Widths of the hidden layers; none after the flag makes a linear model."""
    activation: Literal["relu", "gelu", "silu", "tanh", "elu", "selu", "sigmoid", "softplus"] = "relu"
    """What stands between the layers."""
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
    """Any Optax optimizer that needs no more than a learning rate: adam, adamw, sgd, lion, lamb, …"""
    learning_rate: float = 1e-3
    """The step size."""
    weight_decay: float | None = None
    """Weight decay of matrices (biases are left alone); the optimizer's own default if not given."""
    clip_norm: float | None = None
    """Scales gradients down to this global norm."""
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
        at_least = {"epochs": 1, "batch_size": 1, "seed": 0, "patience": 1, "weight_decay": 0}
        for name, least in at_least.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise InputError(f"{flag(name)} must be at least {least}, not {value}")
        for name in ("learning_rate", "clip_norm"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{flag(name)} must be positive, not {value}")
        for name in ("learning_rate", "weight_decay", "clip_norm"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise InputError(f"{flag(name)} must be a finite number, not {value}")
        if not 0 <= self.valid < 1:
            raise InputError(f"--valid must be a share from 0 to below 1, not {self.valid}")
        if self.seed >= 2**32:
            raise InputError(f"--seed must be below 2³², not {self.seed}")
        if any(width < 1 for width in self.hidden):
            raise InputError(f"--hidden must be positive widths, not {' '.join(map(str, self.hidden))}")

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary: `Config.from_json` makes the same Config of it."""
        return dataclasses.asdict(self) | {"hidden": list(self.hidden)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Config":
        """The Config that `to_json` was called on; InputError for a name that this version doesn't know.

        >>> Config.from_json(Config(epochs=3).to_json()) == Config(epochs=3)
        True
        """
        unknown = set(values) - {field.name for field in dataclasses.fields(cls)}
        if unknown:
            raise InputError(f"unknown configuration {', '.join(sorted(unknown))}; is purefit up to date?")
        return cls(**(values | {"hidden": tuple(values.get("hidden", cls.hidden))}))


def flag(name: str) -> str:
    """The command's spelling of a field.

    >>> flag("learning_rate")
    '--learning-rate'
    """
    return "--" + name.replace("_", "-")
