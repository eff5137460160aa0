"""A function of arrays, rewritten: some of its operations are replaced by others that mean the same.

The function is traced to a jaxpr and evaluated again, operation by operation, as JAX's own transformations
do; it may come from any library. `convolutions.py` and `precision.py` have the rules.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import jax
from jax.extend import core
from jaxtyping import Array

from purefit.models import Model

Rule = Callable[..., Any]
"""`rule(*operands, **parameters) -> result` of a primitive with one result, or None to leave it as it is."""


def rewritten(function: Callable[..., Any], rules: Mapping[str, Rule]) -> Callable[..., Any]:
    """`function` with every primitive named in `rules` computed by its rule; arguments are trees of arrays.

    Inside loops, branches, `jit` and `checkpoint` as well; not inside a function with a derivative rule of
    its own, where the rule would be lost.

    >>> triple = rewritten(lambda x: x + x, {"add": lambda x, y: x * 3.0})
    >>> float(jax.jit(triple)(2.0))
    6.0
    """

    def again(*arguments: Any) -> Any:
        closed, shapes = jax.make_jaxpr(function, return_shape=True)(*arguments)
        results = evaluate(closed.jaxpr, closed.consts, jax.tree.leaves(arguments), rules)
        return jax.tree.unflatten(jax.tree.structure(shapes), results)

    return again


def rewritten_model(model: Model, rules: Mapping[str, Rule]) -> Model:
    """The model, its `apply` rewritten."""

    def apply(params: Any, state: Any, x: Any, *, key: Any = None, train: bool = False) -> tuple[Any, Any]:
        def forward(params: Any, state: Any, x: Any, key: Any) -> tuple[Any, Any]:
            return model.apply(params, state, x, key=key, train=train)

        return rewritten(forward, rules)(params, state, x, key)

    return Model(model.init, apply)


def evaluate(jaxpr: Any, constants: list[Any], arguments: list[Any], rules: Mapping[str, Rule]) -> list[Array]:
    """The results of a jaxpr, with the rules."""
    values: dict[Any, Any] = {}

    def read(variable: Any) -> Any:
        return variable.val if isinstance(variable, core.Literal) else values[variable]

    values.update(zip(jaxpr.constvars, constants, strict=True))
    values.update(zip(jaxpr.invars, arguments, strict=True))
    for equation in jaxpr.eqns:
        operands = [read(variable) for variable in equation.invars]
        values.update(zip(equation.outvars, results_of(equation, operands, rules), strict=True))
    return [read(variable) for variable in jaxpr.outvars]


def results_of(equation: Any, operands: list[Any], rules: Mapping[str, Rule]) -> list[Any]:
    """The results of one equation: by its rule, or as it is, with what is inside it rewritten."""
    name, params = equation.primitive.name, equation.params
    if name in rules:
        result = rules[name](*operands, **params)
        if result is not None:
            return [result]
    if not name.startswith("custom_"):
        params = {parameter: rewritten_inside(value, rules) for parameter, value in params.items()}
    results = equation.primitive.bind(*operands, **equation.primitive.get_bind_params(params))
    return list(results) if equation.primitive.multiple_results else [results]


def rewritten_inside(value: Any, rules: Mapping[str, Rule]) -> Any:
    """A parameter of an equation, with the jaxprs in it (a loop's body, branches) rewritten."""
    if isinstance(value, tuple):
        return tuple(rewritten_inside(each, rules) for each in value) if any(map(_is_jaxpr, value)) else value
    if not _is_jaxpr(value) or not found(value, rules):
        return value
    jaxpr, constants = getattr(value, "jaxpr", value), getattr(value, "consts", [])
    shapes = [
        jax.ShapeDtypeStruct(variable.aval.shape, variable.aval.dtype, weak_type=variable.aval.weak_type)
        for variable in jaxpr.invars
    ]
    new = jax.make_jaxpr(lambda *arguments: evaluate(jaxpr, constants, list(arguments), rules))(*shapes)
    return new if isinstance(value, core.ClosedJaxpr) else new.jaxpr


def _is_jaxpr(value: Any) -> bool:
    return isinstance(value, core.Jaxpr | core.ClosedJaxpr)


def found(jaxpr: Any, names: Collection[str]) -> bool:
    """Whether any of the primitives is in the jaxpr, at any depth.

    >>> found(jax.make_jaxpr(jax.jit(lambda x: x @ x))(jax.numpy.ones((2, 2))), {"dot_general"})
    True
    """
    return any(
        equation.primitive.name in names or any(found(inner, names) for inner in core.jaxprs_in_params(equation.params))
        for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns
    )
