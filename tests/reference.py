"""The reference recipe in NumPy float64: forward, backward, Adam, and one epoch in a given order."""

import numpy as np


def forward(layers, x):
    """Every layer's input, and the logits."""
    inputs = [x]
    for layer in layers[:-1]:
        inputs.append(np.maximum(inputs[-1] @ layer["weight"] + layer["bias"], 0))
    return inputs, inputs[-1] @ layers[-1]["weight"] + layers[-1]["bias"]


def softmax(logits):
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def loss_and_gradient(layers, x, y, weight):
    """The weighted mean cross-entropy, and its gradient by hand."""
    inputs, logits = forward(layers, x)
    share = weight / weight.sum()
    probability = softmax(logits)
    loss = -(share * np.log(probability[np.arange(len(y)), y])).sum()
    delta = probability.copy()
    delta[np.arange(len(y)), y] -= 1
    delta *= share[:, None]
    gradient = []
    for layer, layer_input in zip(layers[::-1], inputs[::-1], strict=True):
        gradient.append({"weight": layer_input.T @ delta, "bias": delta.sum(axis=0)})
        delta = (delta @ layer["weight"].T) * (layer_input > 0)
    return loss, gradient[::-1]


def tree_map(function, *trees):
    """`function` of the leaves of lists of layers."""
    return [
        {name: function(*(layer[name] for layer in layers)) for name in layers[0]}
        for layers in zip(*trees, strict=True)
    ]


def adam_epoch(layers, x, y, batches, learning_rate):
    """Adam (Kingma and Ba, 2015) through `batches` of rows; returns layers and each step's loss."""
    mean = tree_map(np.zeros_like, layers)
    square = tree_map(np.zeros_like, layers)
    losses = []
    for number, rows in enumerate(batches, start=1):
        loss, gradient = loss_and_gradient(layers, x[rows], y[rows], np.ones(len(rows)))
        mean = tree_map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
        square = tree_map(lambda v, g: 0.999 * v + 0.001 * g**2, square, gradient)
        rate = learning_rate * np.sqrt(1 - 0.999**number) / (1 - 0.9**number)
        epsilon = 1e-8 * np.sqrt(1 - 0.999**number)
        layers = tree_map(
            lambda p, m, v, rate=rate, epsilon=epsilon: p - rate * m / (np.sqrt(v) + epsilon),
            layers,
            mean,
            square,
        )
        losses.append(loss)
    return layers, losses
