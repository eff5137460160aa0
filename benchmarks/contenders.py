"""One epoch of the reference recipe, by purefit and by others: the same work, each as its users write it.

MLP 784-256-128-10 with ReLU, weights normal with variance 2/inputs, softmax cross-entropy, Adam at 1e-3, batches
of 128 in a new random order each epoch, on all 60,000 training images of Fashion-MNIST.

Run as a program, with a contender's name, it is a worker (see `workers.py`).
"""

import os
import sys
from itertools import pairwise
from typing import Any

import numpy as np

import workers
from workers import Classify, Contenders, Epoch

BATCH, RATE, WIDTHS = 128, 1e-3, (784, 256, 128, 10)


def arrays() -> tuple[np.ndarray, np.ndarray]:
    """Training images, uint8 `(n, 784)`, and labels, int32."""
    x, y, _, _ = workers.arrays()
    return x.reshape(-1, 784), y


def floats(images: np.ndarray) -> np.ndarray:
    return workers.floats(images).reshape(-1, 784)


def purefit() -> tuple[Epoch, Classify]:
    """The compiled `epoch`, as `train` runs it: bytes on the device, gradient norms and all."""
    import jax

    from purefit import Data, Examples, Recipe, init, losses, mlp, optimizer, predict, scaled
    from purefit.training import compiled_epoch

    x, y = arrays()
    data = jax.device_put(Data(Examples(x, y, np.ones(len(x), np.float32))))
    model = scaled(mlp(WIDTHS[1:-1], WIDTHS[-1]), "unit")
    recipe = Recipe(model, optimizer("adam"), losses.softmax_cross_entropy, batch_size=BATCH)
    hyper, key = {"learning_rate": np.float32(RATE)}, jax.random.key(0)
    state = jax.jit(init, static_argnums=0)(recipe, hyper, data, key)

    def epoch() -> None:
        nonlocal state
        state, _ = jax.block_until_ready(compiled_epoch(recipe, hyper, data, key, state))

    def classify(images: np.ndarray) -> np.ndarray:
        return np.asarray(jax.jit(predict, static_argnums=0)(recipe, hyper, state, images)).argmax(1)

    return epoch, classify


def jax_model() -> tuple[Any, Any, Any]:
    """(params, apply, Adam) in plain JAX and Optax."""
    import jax
    import optax

    keys = jax.random.split(jax.random.key(0), 3)
    shapes = zip(pairwise(WIDTHS), keys, strict=True)
    params = [(jax.random.normal(k, (m, n)) * (2 / m) ** 0.5, jax.numpy.zeros(n)) for (m, n), k in shapes]

    def apply(params: Any, x: Any) -> Any:
        for weight, bias in params[:-1]:
            x = jax.nn.relu(x @ weight + bias)
        return x @ params[-1][0] + params[-1][1]

    return params, apply, optax.adam(RATE)


def plain_loop(gather_on_host: bool) -> tuple[Epoch, Classify]:
    """The plain JAX way: a jitted step called from a Python loop, floats prepared once.

    The last batch has 96 rows: a second shape, compiled before the first round that counts.
    """
    import jax
    import optax

    x, y = arrays()
    params, apply, adam = jax_model()
    opt_state = adam.init(params)
    x = floats(x)
    if not gather_on_host:
        x, y = jax.device_put((x, y))
    random = np.random.default_rng(0)

    @jax.jit
    def step(params: Any, opt_state: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
        def loss(params: Any) -> Any:
            return optax.softmax_cross_entropy_with_integer_labels(apply(params, x), y).mean()

        value, gradient = jax.value_and_grad(loss)(params)
        updates, opt_state = adam.update(gradient, opt_state)
        return optax.apply_updates(params, updates), opt_state, value

    def epoch() -> None:
        nonlocal params, opt_state
        order = random.permutation(len(x))
        for start in range(0, len(x), BATCH):
            rows = order[start : start + BATCH]
            params, opt_state, _ = step(params, opt_state, x[rows], y[rows])
        jax.block_until_ready(params)

    return epoch, lambda images: np.asarray(apply(params, floats(images))).argmax(1)


def torch() -> tuple[Epoch, Classify]:
    """PyTorch, eager, fused Adam, all data as a float tensor on the device."""
    import torch
    from torch import nn

    x, y = arrays()
    x, y = torch.from_numpy(floats(x)), torch.from_numpy(y.astype(np.int64))
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(WIDTHS):
        linear = nn.Linear(inputs, outputs)
        nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
        nn.init.zeros_(linear.bias)
        layers += [linear, nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    adam = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)
    loss = nn.CrossEntropyLoss()

    def epoch() -> None:
        for rows in torch.randperm(len(x)).split(BATCH):
            adam.zero_grad(set_to_none=True)
            loss(model(x[rows]), y[rows]).backward()
            adam.step()

    def classify(images: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return model(torch.from_numpy(floats(images))).argmax(1).numpy()

    return epoch, classify


def scikit_learn() -> tuple[Epoch, Classify]:
    """MLPClassifier, one epoch a call: `partial_fit` makes one shuffled pass in batches."""
    from sklearn.neural_network import MLPClassifier

    x, y = arrays()
    x = floats(x)
    model = MLPClassifier(WIDTHS[1:-1], batch_size=BATCH, alpha=0.0, learning_rate_init=RATE, random_state=0)
    return lambda: model.partial_fit(x, y, classes=np.arange(10)), lambda images: model.predict(floats(images))


def keras() -> tuple[Epoch, Classify]:
    """Keras 3 on its JAX backend, `model.fit`."""
    os.environ["KERAS_BACKEND"] = "jax"
    import keras

    x, y = arrays()
    x = floats(x)
    layers = [keras.layers.Dense(n, activation="relu", kernel_initializer="he_normal") for n in WIDTHS[1:-1]]
    model = keras.Sequential([*layers, keras.layers.Dense(WIDTHS[-1])])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(RATE), loss)

    def epoch() -> None:
        model.fit(x, y, batch_size=BATCH, epochs=1, shuffle=True, verbose=0)

    return epoch, lambda images: model.predict(floats(images), verbose=0).argmax(1)


def floor() -> tuple[Epoch, Classify]:
    """Only the matrix products of the steps, forward and backward, in one compiled loop."""
    import jax
    from jax import lax

    x, _ = arrays()
    params, _, _ = jax_model()
    weights = tuple(weight for weight, _ in params)
    batch = jax.device_put(floats(x[:BATCH]))
    error = jax.numpy.ones((BATCH, WIDTHS[-1])) * 1e-3

    @jax.jit
    def products(weights: Any) -> Any:
        def step(weights: Any, _: None) -> tuple[Any, Any]:
            first, second, third = weights
            hidden = batch @ first
            deeper = hidden @ second
            outputs = deeper @ third
            back = error @ third.T
            # What each product gives is what the next step multiplies with: none can be left out.
            gradients = batch.T @ (back @ second.T), hidden.T @ back, deeper.T @ error
            return jax.tree.map(lambda g: g * 1e-3, gradients), outputs[0, 0]

        return lax.scan(step, weights, length=-(-len(x) // BATCH))

    return lambda: jax.block_until_ready(products(weights)), lambda images: np.full(len(images), -1)


CONTENDERS: Contenders = {
    "purefit": purefit,
    "plain JAX loop, batches from NumPy": lambda: plain_loop(gather_on_host=True),
    "plain JAX loop, batches on the device": lambda: plain_loop(gather_on_host=False),
    "PyTorch, eager, fused Adam": torch,
    "scikit-learn MLPClassifier": scikit_learn,
    "Keras 3 on JAX, model.fit": keras,
    "the matrix products alone": floor,
}


if __name__ == "__main__":
    workers.serve(CONTENDERS, sys.argv[1])
