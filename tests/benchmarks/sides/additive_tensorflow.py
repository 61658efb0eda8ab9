"""One process of additive_attention.py on TensorFlow."""

import json
import sys

import tensorflow as tf
from additive_measuring import Task
from additive_measuring import make_layer
from measuring import median_seconds
from measuring import peak_megabytes


def measure(task):
    query, value = map(tf.random.normal, task.shapes)
    layer = make_layer(task)

    @tf.function(jit_compile=task.compiled)
    def step(query, value):
        with tf.GradientTape() as tape:
            tape.watch([query, value])
            total = tf.reduce_sum(tf.square(layer([query, value])))
        return tape.gradient(total, [query, value, *layer.trainable_weights])

    # What TensorFlow and its compiler need for themselves is needed by now.
    step(query[:1, :2], value[:1, :2])
    before = peak_megabytes()
    seconds = median_seconds(
        lambda: step(query, value)[0].numpy(), task.repeats
    )
    return {"seconds": seconds, "extra_megabytes": peak_megabytes() - before}


if __name__ == "__main__":
    result = measure(Task(**json.loads(sys.argv[1])))
    sys.stdout.write("\n" + json.dumps(result) + "\n")
