"""The network that a configuration describes: a model behind the scaling of its inputs, in its precision."""

from dataclasses import dataclass
from typing import Literal

from purefit.config import Config
from purefit.convolutional import convnet
from purefit.convolutions import with_patches
from purefit.data import Schema
from purefit.hyper import Hyper
from purefit.models import Model
from purefit.perceptron import Norm, mlp
from purefit.precision import in_bfloat16
from purefit.scaling import scaled


@dataclass(frozen=True)
class Network:
    """The function from `hyper` to the model; the same description is the same function.

    scaling: unit, standard or none. outputs: classes, or targets.
    """

    kind: str
    input_shape: tuple[int, ...]
    outputs: int
    hidden: tuple[int, ...]
    channels: tuple[int, ...]
    activation: str
    norm: Norm
    residual: bool
    scaling: Literal["unit", "standard", "none"]
    precision: str

    def __call__(self, hyper: Hyper) -> Model:
        model = self.bare(hyper.get("dropout", 0.0))
        if self.kind not in ("mlp", "convnet"):
            model = with_patches(model)
        if self.precision == "bfloat16":
            model = in_bfloat16(model)
        return model if self.scaling == "none" else scaled(model, self.scaling)

    def as_written(self, hyper: Hyper) -> Model:
        """The model with the scaling of its inputs, and nothing done to make it fast."""
        model = self.bare(hyper.get("dropout", 0.0))
        return model if self.scaling == "none" else scaled(model, self.scaling)

    def bare(self, dropout_rate: object) -> Model:
        """The model without what stands before it."""
        if self.kind == "mlp":
            return mlp(
                self.hidden, self.outputs, self.activation,
                norm=self.norm, residual=self.residual, dropout_rate=dropout_rate,
            )  # fmt: skip
        if self.kind == "convnet":
            return convnet(
                self.channels, self.hidden, self.outputs, self.activation,
                norm=self.norm, dropout_rate=dropout_rate,
            )  # fmt: skip
        from purefit.adapters import from_path

        return from_path(self.kind, self.input_shape, self.outputs)


def network_of(config: Config, schema: Schema) -> Network:
    """The network that `config` describes for data of `schema`."""
    natural: Literal["unit", "standard"] = (
        "unit" if len(schema.input_shape) > 1 or schema.input_dtype == "uint8" else "standard"
    )
    return Network(
        kind=config.model,
        input_shape=schema.input_shape,
        outputs=len(schema.classes) if schema.task == "classification" else schema.targets,
        hidden=config.hidden,
        channels=config.channels,
        activation=config.activation,
        norm=config.norm,
        residual=config.residual,
        scaling=natural if config.scaling == "auto" else config.scaling,
        precision=config.precision,
    )
