"""Trains a model with TensorFlow Addons 0.23 and stores it.

It is the model that `tutorials/06_coming_from_tfa` takes over: it spells a
word backwards. `make_tfa_golden.py` says which environment this script needs;
in there:

    tfa/bin/python tests/golden/make_tfa_model.py

It writes, beside itself, `tfa_model.npz`: the weights by name (`encoder|0`,
`wrapper|name of the variable` and so on), and what the model gives for
`WORDS`: logits for the right letters before each letter, and what it decodes
greedily and by beam search.
"""

from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers
from tensorflow_addons import seq2seq


FOLDER = Path(__file__).parent

ALPHABET = "abcdefghijklmnopqrstuvwxyz"
PADDING, START, END = 0, 1, 2  # the letters begin at 3
VOCABULARY_SIZE = 3 + len(ALPHABET)
UNITS = 32
WORDS = ["memory", "stressed", "beam", "attention", "keras"]
MAX_LENGTH = 10
BATCH_SIZE = 128
STEPS = 1500
NUM_BEAMS = 4

embedding = layers.Embedding(VOCABULARY_SIZE, 16)
encoder = layers.LSTM(UNITS, return_sequences=True, return_state=True)
mechanism = seq2seq.BahdanauAttention(UNITS)
wrapper = seq2seq.AttentionWrapper(
    layers.LSTMCell(UNITS),
    mechanism,
    attention_layer_size=UNITS,
    alignment_history=True,
)
output_layer = layers.Dense(VOCABULARY_SIZE)
teacher = seq2seq.BasicDecoder(
    wrapper, seq2seq.TrainingSampler(), output_layer=output_layer
)


def encode(source):
    """Returns the memory, its lengths, and the encoder's last state."""
    mask = tf.not_equal(source, PADDING)
    memory, *state = encoder(embedding(source), mask=mask)
    return memory, tf.reduce_sum(tf.cast(mask, tf.int32), axis=1), state


def start_decoding(memory, lengths, state):
    """Returns the state that a decoder starts from."""
    mechanism.setup_memory(memory, memory_sequence_length=lengths)
    start = wrapper.get_initial_state(
        batch_size=tf.shape(memory)[0], dtype=tf.float32
    )
    return start.clone(cell_state=state)


def predict(source, target):
    """Returns the logits for every next letter of `target`."""
    output, *_ = teacher(
        embedding(target), initial_state=start_decoding(*encode(source))
    )
    return output.rnn_output


def decode_greedily(source):
    """Returns letters and attention scores."""
    decoder = seq2seq.BasicDecoder(
        wrapper,
        seq2seq.GreedyEmbeddingSampler(),
        output_layer=output_layer,
        maximum_iterations=MAX_LENGTH,
    )
    output, state, _ = decoder(
        embedding.embeddings,
        start_tokens=tf.fill([source.shape[0]], START),
        end_token=END,
        initial_state=start_decoding(*encode(source)),
    )
    alignments = tf.transpose(state.alignment_history.stack(), (1, 0, 2))
    return output.sample_id, alignments


def decode_by_beam_search(source, length_penalty):
    """Returns letters, log-probabilities and scores, best first."""
    decoder = seq2seq.BeamSearchDecoder(
        wrapper,
        beam_width=NUM_BEAMS,
        output_layer=output_layer,
        length_penalty_weight=length_penalty,
        maximum_iterations=MAX_LENGTH,
        reorder_tensor_arrays=False,
    )
    encoded = seq2seq.tile_batch(encode(source), multiplier=NUM_BEAMS)
    output, state, _ = decoder(
        embedding.embeddings,
        start_tokens=tf.fill([source.shape[0]], START),
        end_token=END,
        initial_state=start_decoding(*encoded),
    )
    tokens = tf.transpose(output.predicted_ids, (0, 2, 1))
    scores = output.beam_search_decoder_output.scores[:, -1]
    return tokens, state.log_probs, scores


def as_ids(words):
    """Returns the letters of words, padded."""
    ids = np.full((len(words), max(map(len, words))), PADDING)
    for row, word in zip(ids, words, strict=True):
        row[: len(word)] = [3 + ALPHABET.index(letter) for letter in word]
    return ids


def as_targets(words):
    """Returns the start token, the word backwards, the end token."""
    ids = as_ids([word[::-1] for word in words])
    targets = np.pad(ids, ((0, 0), (1, 1)), constant_values=PADDING)
    targets[:, 0] = START
    targets[range(len(words)), [1 + len(word) for word in words]] = END
    return targets


def train(rng):
    """Trains on random letters."""
    optimizer = tf.keras.optimizers.Adam(3e-3)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int64)] * 2)
    def step(source, target):
        with tf.GradientTape() as tape:
            logits = predict(source, target[:, :-1])
            labels = target[:, 1:]
            loss = seq2seq.sequence_loss(
                logits, labels, tf.cast(labels != PADDING, tf.float32)
            )
        layers_trained = (embedding, encoder, wrapper, output_layer)
        variables = [v for one in layers_trained for v in one.variables]
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))

    for index in range(STEPS):
        optimizer.learning_rate.assign(3e-3 * (1 - index / STEPS))
        words = [
            "".join(rng.choice(list(ALPHABET), size=rng.integers(3, 9)))
            for _ in range(BATCH_SIZE)
        ]
        step(as_ids(words), as_targets(words))


def main():
    tf.keras.utils.set_random_seed(7)
    tf.config.experimental.enable_op_determinism()
    source, target = as_ids(WORDS), as_targets(WORDS)
    predict(source, target)  # makes the weights
    train(np.random.default_rng(7))
    results = {
        "embedding": embedding.embeddings,
        "source": source,
        "target": target,
        "logits": predict(source, target[:, :-1]),
    }
    for name, layer in (("encoder", encoder), ("output", output_layer)):
        for index, array in enumerate(layer.get_weights()):
            results[f"{name}|{index}"] = array
    for variable in wrapper.variables:
        results[f"wrapper|{variable.name}"] = variable.numpy()
    results["greedy"], results["alignments"] = decode_greedily(source)
    for length_penalty in (0.0, 1.0):
        beams = decode_by_beam_search(source, length_penalty)
        names = "tokens", "log_probs", "scores"
        for name, part in zip(names, beams, strict=True):
            results[f"beams|{length_penalty}|{name}"] = part
    np.savez_compressed(FOLDER / "tfa_model.npz", **results)


if __name__ == "__main__":
    main()
