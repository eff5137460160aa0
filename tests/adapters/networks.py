"""One small classifier written for each library, with and without dropout and batch normalization.

Imported only where the libraries are there: `networks = pytest.importorskip(…)` comes first in the tests.
"""

import equinox as eqx
import haiku as hk
import jax
import jax.numpy as jnp
from flax import linen as nn
from flax import nnx

INPUTS, WIDTH, CLASSES = 2, 16, 3
MOMENTUM = 0.9


class LinenNet(nn.Module):
    rate: float = 0.0
    norm: bool = False

    @nn.compact
    def __call__(self, x, train):
        x = nn.Dense(WIDTH)(x)
        if self.norm:
            x = nn.BatchNorm(momentum=MOMENTUM, use_running_average=not train)(x)
        x = nn.Dropout(self.rate, deterministic=not train)(nn.relu(x))
        return nn.Dense(CLASSES)(x)


class NnxNet(nnx.Module):
    def __init__(self, rate=0.0, norm=False, *, rngs):
        self.first = nnx.Linear(INPUTS, WIDTH, rngs=rngs)
        self.norm = nnx.BatchNorm(WIDTH, momentum=MOMENTUM, rngs=rngs) if norm else None
        self.dropout = nnx.Dropout(rate, rngs=rngs)
        self.last = nnx.Linear(WIDTH, CLASSES, rngs=rngs)

    def __call__(self, x):
        x = self.first(x)
        x = x if self.norm is None else self.norm(x)
        return self.last(self.dropout(nnx.relu(x)))


class EquinoxNet(eqx.Module):
    first: eqx.nn.Linear
    dropout: eqx.nn.Dropout
    last: eqx.nn.Linear

    def __init__(self, rate=0.0, *, key):
        first, last = jax.random.split(key)
        self.first = eqx.nn.Linear(INPUTS, WIDTH, key=first)
        self.dropout = eqx.nn.Dropout(rate)
        self.last = eqx.nn.Linear(WIDTH, CLASSES, key=last)

    def __call__(self, x, *, key):
        return self.last(self.dropout(jax.nn.relu(self.first(x)), key=key))


class EquinoxNormNet(eqx.Module):
    first: eqx.nn.Linear
    norm: eqx.nn.BatchNorm
    last: eqx.nn.Linear

    def __init__(self, key, mode="batch"):
        first, last = jax.random.split(key)
        self.first = eqx.nn.Linear(INPUTS, WIDTH, key=first)
        self.norm = eqx.nn.BatchNorm(WIDTH, axis_name="rows", momentum=MOMENTUM, mode=mode)
        self.last = eqx.nn.Linear(WIDTH, CLASSES, key=last)

    def __call__(self, x, state):
        x, state = self.norm(self.first(x), state)
        return self.last(jax.nn.relu(x)), state


def haiku_net(rate=0.0, norm=False):
    def net(x, is_training):
        x = hk.Linear(WIDTH, name="first")(x)
        if norm:
            x = hk.BatchNorm(create_scale=True, create_offset=True, decay_rate=MOMENTUM, name="norm")(x, is_training)
        x = jax.nn.relu(x)
        x = hk.dropout(hk.next_rng_key(), rate, x) if is_training else x
        return hk.Linear(CLASSES, name="last")(x)

    return hk.transform_with_state(net) if norm else hk.transform(net)


def plain_init(key, x):
    first, last = jax.random.split(key)
    return {
        "first": {"w": jax.random.normal(first, (x.shape[-1], WIDTH)), "b": jnp.zeros(WIDTH)},
        "last": {"w": jax.random.normal(last, (WIDTH, CLASSES)), "b": jnp.zeros(CLASSES)},
    }


def plain_apply(params, x):
    x = jax.nn.relu(x @ params["first"]["w"] + params["first"]["b"][None])
    return x @ params["last"]["w"] + params["last"]["b"][None]


def plain_example_apply(params, x):
    x = jax.nn.relu(x @ params["first"]["w"] + params["first"]["b"])
    return x @ params["last"]["w"] + params["last"]["b"]
