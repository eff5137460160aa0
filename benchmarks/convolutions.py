"""Time per epoch of a small convolutional network: purefit's, a user's Flax one in it, JAX by hand, PyTorch.

3 × 3 convolutions to 16 and 32 channels, each with ReLU and the greatest of 2 × 2; dense 128, 10; Adam at 1e-3,
batches of 128, on 12,800 images of Fashion-MNIST (100 steps). With XLA's own convolutions an epoch that is one
compiled loop is so slow on a CPU that all 60,000 would take minutes.

    pip install -e '.[bench,models]'
    python benchmarks/convolutions.py [--rounds 5] [--out results.json]
"""

import argparse
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import workers
from tables import keep, paired_ratio, show, spread
from workers import Classify, Contenders, Epoch, arrays, floats, measure

EXAMPLES, BATCH, RATE = 12_800, 128, 1e-3


def purefit(model: Any) -> tuple[Epoch, Classify]:
    """The compiled `epoch` of a model."""
    import jax

    from purefit import Data, Examples, Recipe, init, losses, optimizer, predict, scaled
    from purefit.training import compiled_epoch

    x, y, _, _ = arrays()
    x, y = x[:EXAMPLES], y[:EXAMPLES]
    data = jax.device_put(Data(Examples(x, y, np.ones(len(x), np.float32))))
    recipe = Recipe(scaled(model, "unit"), optimizer("adam"), losses.softmax_cross_entropy, batch_size=BATCH)
    hyper, key = {"learning_rate": np.float32(RATE)}, jax.random.key(0)
    state = jax.jit(init, static_argnums=0)(recipe, hyper, data, key)

    def epoch() -> None:
        nonlocal state
        state, _ = jax.block_until_ready(compiled_epoch(recipe, hyper, data, key, state))

    def classify(images: np.ndarray) -> np.ndarray:
        return np.asarray(jax.jit(predict, static_argnums=0)(recipe, hyper, state, images)).argmax(1)

    return epoch, classify


def convnet() -> Any:
    from purefit import convnet

    return convnet((16, 32), (128,), 10)


@cache
def flax_module() -> Any:
    """The network as a user of Flax writes it."""
    from flax import linen as nn

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = x.reshape(-1, 28, 28, 1)
            for channels in (16, 32):
                x = nn.max_pool(nn.relu(nn.Conv(channels, (3, 3))(x)), (2, 2), (2, 2))
            x = nn.relu(nn.Dense(128)(x.reshape(len(x), -1)))
            return nn.Dense(10)(x)

    return Net()


def flax_model(with_patches: bool) -> Any:
    from purefit import as_model, convolutions

    model = as_model(flax_module())
    return convolutions.with_patches(model) if with_patches else model


def plain_loop() -> tuple[Epoch, Classify]:
    """The plain JAX way: a jitted step of the Flax network, called from a Python loop."""
    import jax
    import optax

    x, y, _, _ = arrays()
    x, y = floats(x[:EXAMPLES]), y[:EXAMPLES]
    net, adam = flax_module(), optax.adam(RATE)
    params = net.init(jax.random.key(0), x[:1])
    opt_state = adam.init(params)
    random = np.random.default_rng(0)

    @jax.jit
    def step(params: Any, opt_state: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
        def loss(params: Any) -> Any:
            return optax.softmax_cross_entropy_with_integer_labels(net.apply(params, x), y).mean()

        value, gradient = jax.value_and_grad(loss)(params)
        updates, opt_state = adam.update(gradient, opt_state)
        return optax.apply_updates(params, updates), opt_state, value

    def epoch() -> None:
        nonlocal params, opt_state
        for rows in random.permutation(len(x)).reshape(-1, BATCH):
            params, opt_state, _ = step(params, opt_state, x[rows], y[rows])
        jax.block_until_ready(params)

    return epoch, lambda images: np.asarray(jax.jit(net.apply)(params, floats(images))).argmax(1)


def torch() -> tuple[Epoch, Classify]:
    """PyTorch, eager, fused Adam, in the memory layout that is faster for it on a CPU."""
    import torch
    from torch import nn

    x, y, _, _ = arrays()
    images = torch.from_numpy(floats(x[:EXAMPLES])).unsqueeze(1).contiguous(memory_format=torch.channels_last)
    labels = torch.from_numpy(y[:EXAMPLES].astype(np.int64))
    layers: list[nn.Module] = []
    for inputs, channels in ((1, 16), (16, 32)):
        layers += [nn.Conv2d(inputs, channels, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(32 * 49, 128), nn.ReLU(), nn.Linear(128, 10))
    model = model.to(memory_format=torch.channels_last)
    adam = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)
    loss = nn.CrossEntropyLoss()

    def epoch() -> None:
        for rows in torch.randperm(len(images)).split(BATCH):
            adam.zero_grad(set_to_none=True)
            loss(model(images[rows]), labels[rows]).backward()
            adam.step()

    def classify(images: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return model(torch.from_numpy(floats(images)).unsqueeze(1)).argmax(1).numpy()

    return epoch, classify


CONTENDERS: Contenders = {
    "purefit, convnet": lambda: purefit(convnet()),
    "purefit, the user's Flax network": lambda: purefit(flax_model(with_patches=True)),
    "the same with XLA's convolutions": lambda: purefit(flax_model(with_patches=False)),
    "plain JAX loop, the Flax network": plain_loop,
    "PyTorch, eager, fused Adam": torch,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    seconds, accuracy = measure(Path(__file__), CONTENDERS, arguments.rounds)
    ours = seconds["purefit, convnet"]
    rows = [
        [name, spread(theirs), f"{paired_ratio(ours, theirs):.2f}", f"{accuracy[name]:.3f}"]
        for name, theirs in seconds.items()
    ]
    header = ["contender", "seconds for 100 steps", "convnet / it", "test accuracy"]
    show(f"A small convolutional network, {arguments.rounds} rounds in turn", header, rows)
    keep(arguments.out, {"seconds": seconds, "accuracy": accuracy})


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1] in CONTENDERS:
        workers.serve(CONTENDERS, sys.argv[1])
    else:
        main()
