"""JAX: eager, and compiled by `jax.jit`."""

import os

import jax
import keras
from jax.extend.core import subjaxprs


MODES = ("eager", "jit")

# Otherwise JAX makes float32 of float64, in which equations are checked.
jax.config.update("jax_enable_x64", True)

# JAX compiles every operation for every shape, which took most of the time;
# a compiler that tries less hard takes a quarter of it.
jax.config.update("jax_disable_most_optimizations", True)
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_cpu_use_fusion_emitters=false"
)


def in_mode(function, mode, shapes=None, state=()):
    """Returns the function as it is, or compiled.

    Args:
        function: Takes and returns tensors.
        mode: One of `MODES`.
        shapes: Not used; JAX compiles anew for all other sizes.
        state: Keras variables that the function changes.
    """
    if mode == "eager":
        return function

    @jax.jit
    def stateless(values, arguments, keywords):
        with keras.StatelessScope(zip(state, values, strict=True)) as scope:
            results = function(*arguments, **keywords)
        return results, [scope.get_current_value(part) for part in state]

    def run(*arguments, **keywords):
        values = [part.value for part in state]
        results, values = stateless(values, arguments, keywords)
        for part, value in zip(state, values, strict=True):
            part.assign(value)
        return results

    return run


def differentiate(function, tensors, weights=(), mode="eager"):
    """Returns results, and the gradients of the first of them."""

    def run(tensors, values):
        with keras.StatelessScope(zip(weights, values, strict=True)):
            results = function(*tensors)
        return results[0], list(results)

    run = jax.value_and_grad(run, argnums=(0, 1), has_aux=True)
    values = [weight.value for weight in weights]
    (_, results), gradients = in_mode(run, mode)(list(tensors), values)
    return results, [*gradients[0], *gradients[1]]


def forget():
    """Frees what was compiled, before there is more than Linux can map."""
    jax.clear_caches()


def call_back(function):
    """Calls a function of Python whenever a graph gets to this place."""
    jax.debug.callback(function, ordered=True)


def largest_tensor(function, *shapes):
    """Returns how many numbers the largest tensor of a function holds."""
    tensors = [jax.ShapeDtypeStruct(shape, "float32") for shape in shapes]
    graphs, sizes = [jax.make_jaxpr(function)(*tensors).jaxpr], []
    while graphs:
        graph = graphs.pop()
        for operation in graph.eqns:
            sizes += [output.aval.size for output in operation.outvars]
        graphs += subjaxprs(graph)
    return max(sizes)
