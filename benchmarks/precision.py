"""Time per epoch in float32 and with products in bfloat16, for networks of two sizes.

"As JAX differentiates it" casts the operands of each dense layer and leaves the derivative to JAX; purefit's
`--precision bfloat16` has a derivative rule of its own, whose products are in bfloat16 too.

    python benchmarks/precision.py [--rounds 7] [--out results.json]
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

import workers
from tables import keep, paired_ratio, show, spread
from workers import Classify, Contenders, Epoch, arrays, measure

BATCH, RATE = 128, 1e-3


def trained(hidden: tuple[int, ...], how: str) -> tuple[Epoch, Classify]:
    """The compiled `epoch` on all images."""
    import jax

    from purefit import Data, Examples, Recipe, init, losses, mlp, optimizer, predict, scaled
    from purefit.precision import in_bfloat16
    from purefit.rewriting import rewritten_model
    from purefit.training import compiled_epoch

    def cast(a: Any, b: Any, *, dimension_numbers: Any, **_: Any) -> Any:
        a, b = a.astype("bfloat16"), b.astype("bfloat16")
        return jax.lax.dot_general(a, b, dimension_numbers, preferred_element_type=np.float32)

    model = mlp(hidden, 10)
    if how == "bfloat16":
        model = in_bfloat16(model)
    elif how != "float32":
        model = rewritten_model(model, {"dot_general": cast})
    x, y, _, _ = arrays()
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


CONTENDERS: Contenders = {
    f"{'-'.join(map(str, (784, *hidden, 10)))}, {how}": lambda hidden=hidden, how=how: trained(hidden, how)  # type: ignore[misc]
    for hidden in ((256, 128), (1024, 1024))
    for how in ("float32", "bfloat16", "bfloat16 as JAX differentiates it")
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    seconds, accuracy = measure(Path(__file__), CONTENDERS, arguments.rounds)
    rows = []
    for name, values in seconds.items():
        full = seconds[name.split(", ")[0] + ", float32"]
        rows.append([name, spread(values), f"{paired_ratio(values, full):.2f}", f"{accuracy[name]:.3f}"])
    header = ["network, products", "seconds an epoch", "it / float32", "test accuracy"]
    show(f"Products in bfloat16, {arguments.rounds} rounds in turn", header, rows)
    keep(arguments.out, {"seconds": seconds, "accuracy": accuracy})


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1] in CONTENDERS:
        workers.serve(CONTENDERS, sys.argv[1])
    else:
        main()
