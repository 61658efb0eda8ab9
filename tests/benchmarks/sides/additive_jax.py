"""One process of additive_attention.py on JAX, on a GPU where there is one."""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
from additive_measuring import Task
from additive_measuring import make_layer
from measuring import median_seconds
from measuring import peak_megabytes


def megabytes(statistic):
    """Memory by the device's own statistics, else that of the process."""
    statistics = jax.devices()[0].memory_stats()
    return statistics[statistic] / 2**20 if statistics else peak_megabytes()


def measure(task):
    random = np.random.default_rng(1)
    query, value = (
        jnp.asarray(random.standard_normal(shape, "float32"), task.dtype)
        for shape in task.shapes
    )
    layer = make_layer(task)
    weights = [variable.value for variable in layer.trainable_variables]
    others = [variable.value for variable in layer.non_trainable_variables]

    def loss(query, value, weights):
        context, _ = layer.stateless_call(weights, others, [query, value])
        return jnp.sum(jnp.square(context), dtype="float32")

    step = jax.jit(jax.value_and_grad(loss, argnums=(0, 1, 2)))
    # What JAX and its compiler need for themselves is needed by now.
    jax.block_until_ready(step(query[:1, :2], value[:1, :2], weights))
    before = megabytes("bytes_in_use")
    compiled = step.lower(query, value, weights).compile()
    seconds = median_seconds(
        lambda: jax.block_until_ready(compiled(query, value, weights)),
        task.repeats,
    )
    plan = compiled.memory_analysis()
    planned = plan.temp_size_in_bytes + plan.output_size_in_bytes
    return {
        "seconds": seconds,
        "extra_megabytes": megabytes("peak_bytes_in_use") - before,
        # What XLA meant to use: free of what it tried while it compiled.
        "planned_megabytes": planned / 2**20,
        "device": jax.devices()[0].device_kind,
    }


if __name__ == "__main__":
    result = measure(Task(**json.loads(sys.argv[1])))
    sys.stdout.write("\n" + json.dumps(result) + "\n")
