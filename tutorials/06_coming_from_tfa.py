# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Coming from TensorFlow Addons
#
# A model that was made with `tfa.seq2seq` and `AttentionWrapper`, rewritten
# line by line; its trained weights, taken over; and the same numbers: logits,
# greedy search and beam search. Then the differences that one trips over, and
# the export that TensorFlow Addons had not.
#
# In a clone of the repository:
#
# ```
# pip install ".[tutorials]" jupyter
# jupyter lab tutorials/06_coming_from_tfa.ipynb
# ```
#
# In Colab, `!git clone` the repository, go to its folder with `%cd`, `%pip
# install ".[tutorials]"`, and go on to its folder `tutorials` with `%cd`.
# Nothing is trained here; it takes less than a minute.

# %% [markdown]
# What is needed:

# %%
import os
import tempfile
from pathlib import Path


os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
from keras import layers
from keras import ops

import keras_attention
from keras_attention import BeamSearch


tf.get_logger().setLevel("ERROR")

# %% [markdown]
# ## The model in TensorFlow Addons
#
# It spells a word backwards, letter by letter. TensorFlow Addons (TFA) does
# not run beside Keras 3, so this code is shown and not run. The whole of it is
# `tests/golden/make_tfa_model.py`, which trained the model with TFA 0.23 on
# TensorFlow 2.15, and kept its weights and what it computed.
#
# ```python
# embedding = layers.Embedding(29, 16)
# encoder = layers.LSTM(32, return_sequences=True, return_state=True)
# mechanism = tfa.seq2seq.BahdanauAttention(32)
# wrapper = tfa.seq2seq.AttentionWrapper(
#     layers.LSTMCell(32), mechanism, attention_layer_size=32
# )
# output_layer = layers.Dense(29)
# teacher = tfa.seq2seq.BasicDecoder(
#     wrapper, tfa.seq2seq.TrainingSampler(), output_layer=output_layer
# )
# ```

# %% [markdown]
# Its use in training. The memory goes into the mechanism, and the encoder's
# last state into the state of the wrapper:
#
# ```python
# mask = tf.not_equal(source, PADDING)
# memory, *state = encoder(embedding(source), mask=mask)
# lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
#
# mechanism.setup_memory(memory, memory_sequence_length=lengths)
# start = wrapper.get_initial_state(batch_size=batch_size, dtype=tf.float32)
# start = start.clone(cell_state=state)
# output, *_ = teacher(embedding(target), initial_state=start)
# logits = output.rnn_output
# ```

# %% [markdown]
# What was kept: the words, the weights by the names that TFA gives them, and
# the results.

# %%
tfa = np.load(Path("..", "tests", "golden", "tfa_model.npz"))
PADDING, START, END = 0, 1, 2
SIGNS = ["_", "<", "", *"abcdefghijklmnopqrstuvwxyz"]  # nothing for the end


def word_of(tokens):
    return "".join(SIGNS[token] for token in np.array(tokens))


source, target = tfa["source"], tfa["target"]
print([word_of(row) for row in source])
for name in tfa.files:
    if name.startswith("wrapper"):
        print(tfa[name].shape, name)

# %% [markdown]
# ## Rewritten
#
# From TensorFlow Addons to this library:
#
# - `BahdanauAttention(32)` - the same.
# - `setup_memory(memory, memory_sequence_length)` - no such call: `memory` and
#   `memory_mask` are arguments wherever something is attended to.
# - `AttentionWrapper(cell, mechanism, attention_layer_size=32)` -
#   `LuongRNNCell(cell, attention, attention_units=32, input_feeding=True,
#   attentional_state="linear")`.
# - `BasicDecoder(wrapper, TrainingSampler(), output_layer)` -
#   `AttentionDecoder(embedding, AttentionRNN(cell, return_sequences=True),
#   output_layer)`.
# - `get_initial_state(...).clone(cell_state=state)` - `initial_state=state`.
# - `output.rnn_output` - what the call of the decoder returns.

# %% [markdown]
# `LuongRNNCell` with `BahdanauAttention` is no contradiction: a score is one
# thing, the order another. TFA's wrapper takes the step, attends with the new
# state, and feeds the result to the next step, whatever the mechanism. That
# is Luong's order with input feeding (Luong et al. 2015, section 3.3); its
# attention layer has no tanh, hence `"linear"`. Bahdanau's order, attend with
# the state before and then step, cannot be had in TFA; here it is
# `BahdanauRNNCell`.

# %%
embedding = layers.Embedding(29, 16)
encoder = layers.LSTM(32, return_sequences=True, return_state=True)
cell = keras_attention.LuongRNNCell(
    layers.LSTMCell(32),
    keras_attention.BahdanauAttention(32),
    attention_units=32,
    input_feeding=True,
    attentional_state="linear",
)
decoder = keras_attention.AttentionDecoder(
    embedding,
    keras_attention.AttentionRNN(cell, return_sequences=True),
    output_layer=layers.Dense(29),
)


def encode(source):
    mask = ops.not_equal(source, PADDING)  # True marks a real token
    memory, *state = encoder(embedding(source), mask=mask)
    return memory, mask, state


# %% [markdown]
# Training code calls the decoder with the target that begins with the start
# token. Built in this way, it is a Keras model with `fit`.

# %%
sources, targets = (keras.Input([None], dtype="int32") for _ in range(2))
memory, memory_mask, state = encode(sources)
logits = decoder(targets, memory, initial_state=state, memory_mask=memory_mask)
model = keras.Model([sources, targets], logits)
print(f"{model.count_params():,} weights")

# %% [markdown]
# ## Its weights
#
# Layers of Keras take over their own with `set_weights`, for Keras 2 and 3
# keep the weights of an LSTM, a GRU, a Dense layer in the same order.
# `import_tfa_weights` finds those of the wrapper by their names, and turns
# the kernel of the attention layer over: TFA multiplies [output; context],
# this library [context; output]. What is missing, left over or of another
# shape is an error. In the process with TFA,
# `{v.name: v.numpy() for v in wrapper.variables}` is what it needs.


# %%
def stored(prefix):
    return {
        name.removeprefix(prefix): tfa[name]
        for name in tfa.files
        if name.startswith(prefix)
    }


embedding.set_weights([tfa["embedding"]])
encoder.set_weights(list(stored("encoder|").values()))
decoder.output_layer.set_weights(list(stored("output|").values()))
keras_attention.import_tfa_weights(cell, stored("wrapper|"))

# %% [markdown]
# ## The same numbers
#
# The logits for every next letter, given the right ones before it:

# %%
ours = ops.convert_to_numpy(model([source, target[:, :-1]]))
real = target[:, 1:] != PADDING
difference = np.abs(ours - tfa["logits"])[real].max()
print(f"logits from {ours.min():.1f} to {ours.max():.1f}")
print(f"largest difference {difference:.1e}")
assert difference < 1e-4

# %% [markdown]
# Greedy search, in TFA:
#
# ```python
# greedy = tfa.seq2seq.BasicDecoder(
#     wrapper,
#     tfa.seq2seq.GreedyEmbeddingSampler(),
#     output_layer=output_layer,
#     maximum_iterations=10,
# )
# output, state, lengths = greedy(
#     embedding.embeddings,
#     start_tokens=tf.fill([batch_size], START),
#     end_token=END,
#     initial_state=start,
# )
# tokens = output.sample_id
# ```
#
# Here it is a call of the decoder that was trained. There is no second
# decoder object, and no table of the embedding to pass:

# %%
OPTIONS = {"start_token": START, "end_token": END, "max_length": 10}
result = decoder.generate(*encode(source), **OPTIONS)
for ours, theirs in zip(result.tokens[:, 0], tfa["greedy"], strict=True):
    print(f"{word_of(ours):>12} {word_of(theirs):>12}")

# %% [markdown]
# After the end token TFA goes on with end tokens, this library with
# `padding_token`, 0 unless said otherwise: compare with the help of `lengths`.
# The attention scores are part of the result; in TFA they take
# `alignment_history=True` and `state.alignment_history.stack()`, time first.

# %%
is_letter = np.arange(10) < np.array(result.lengths)  # batch length
np.testing.assert_array_equal(
    np.array(result.tokens[:, 0])[is_letter], tfa["greedy"][is_letter]
)
attention_scores = np.array(result.attention_scores[:, 0])
difference = np.abs(attention_scores - tfa["alignments"])[is_letter].max()
print(f"largest difference of attention scores {difference:.1e}")
assert difference < 1e-4

# %% [markdown]
# So it is the model that TFA trained, and it looks at what it should:
# backwards.

# %%
row = 1
ax = keras_attention.plot_attention(
    attention_scores[row],
    [SIGNS[token] for token in source[row] if token],
    [*word_of(result.tokens[row, 0]).strip("_"), "end"],
)
ax.set_xlabel("read")
ax.set_ylabel("written")
plt.show()

# %% [markdown]
# ## Beam search
#
# In TFA the memory, its lengths and the state are tiled by hand, and the
# memory is set up once more:
#
# ```python
# beams = tfa.seq2seq.BeamSearchDecoder(
#     wrapper, beam_width=4, output_layer=output_layer, maximum_iterations=10
# )
# tiled = tfa.seq2seq.tile_batch((memory, lengths, state), multiplier=4)
# memory, lengths, state = tiled
# mechanism.setup_memory(memory, memory_sequence_length=lengths)
# start = wrapper.get_initial_state(batch_size=4 * batch_size, dtype=tf.float32)
# output, state, lengths = beams(
#     embedding.embeddings,
#     start_tokens=tf.fill([batch_size], START),
#     end_token=END,
#     initial_state=start.clone(cell_state=state),
# )
# tokens = tf.transpose(output.predicted_ids, (0, 2, 1))
# log_probabilities = state.log_probs
# ```
#
# Here a strategy is named, and nothing is tiled:

# %%
beams = decoder.generate(
    *encode(source), strategy=BeamSearch(4, num_return=4), **OPTIONS
)
theirs = tfa["beams|0.0|tokens"], tfa["beams|0.0|log_probs"]
for tokens, scores, their_tokens, their_scores in zip(
    beams.tokens[1], beams.scores[1], theirs[0][1], theirs[1][1], strict=True
):
    print(f"{word_of(tokens):>12} {float(scores):6.2f}", end="")
    print(f"{word_of(their_tokens):>12} {their_scores:6.2f}")

# %% [markdown]
# The same hypotheses, in the same order, with the same log-probabilities, for
# all words:

# %%
is_letter = np.arange(10) < np.array(beams.lengths)[..., None]
np.testing.assert_array_equal(
    np.array(beams.tokens)[is_letter], theirs[0][is_letter]
)
difference = np.abs(np.array(beams.scores) - theirs[1]).max()
print(f"largest difference {difference:.1e}")
assert difference < 1e-4

# %% [markdown]
# ## What one trips over
#
# **Masks instead of lengths.** `memory_sequence_length` becomes a boolean mask
# in which True marks what is real. A mask may have holes, and what is under it
# counts for nothing, not even a NaN.

# %%
memory, memory_mask, state = encode(source)
lengths = np.sum(source != PADDING, axis=1)
np.testing.assert_array_equal(
    memory_mask, np.arange(source.shape[1]) < lengths[:, None]
)
spoilt = ops.where(memory_mask[..., None], memory, float("nan"))
again = decoder.generate(spoilt, memory_mask, state, **OPTIONS)
np.testing.assert_array_equal(again.tokens, result.tokens)
print([word_of(tokens).strip("_") for tokens in again.tokens[:, 0]])

# %% [markdown]
# **The memory is an argument.** TFA's mechanism keeps the memory that
# `setup_memory` got last; a decoder that is called with another batch still
# attends to that one. Here nothing of a batch stays: every call says what it
# attends to, so batches of any size may follow each other in any order.

# %%
for rows in ([0, 1, 2, 3, 4], [3], [4, 0]):
    one = decoder.generate(*encode(source[rows]), **OPTIONS)
    print([word_of(tokens).strip("_") for tokens in one.tokens[:, 0]])

# %% [markdown]
# **Attention of every beam.** `attention_scores` has an axis for the
# hypotheses, and follows them. Here all of them look at the same letters, and
# differ in what they read there. In TFA that takes `alignment_history=True` and
# `reorder_tensor_arrays=True`.

# %%
print(beams.attention_scores.shape)  # batch, beams, length, memory_length
for tokens, scores in zip(
    beams.tokens[1], beams.attention_scores[1], strict=True
):
    places = np.argmax(scores, axis=-1)[: len(word_of(tokens).strip("_"))]
    looked_at = "".join(SIGNS[token] for token in source[1][places])
    print(f"{word_of(tokens).strip('_'):>9} looked at {looked_at}")

# %% [markdown]
# **Length penalty.** The formula is the same, $((5 + |y|) / 6)^w$ (Wu et al.
# 2016, section 7), but TFA counts the end token of a hypothesis only from the
# step after it. What ends in the last step of the batch keeps a score for one
# token less, so that it depends on the rest of the batch. Here the end token
# always counts.

# %%
penalized = decoder.generate(
    *encode(source), strategy=BeamSearch(4, 1.0, num_return=4), **OPTIONS
)
lengths, ours = np.array(penalized.lengths), np.array(penalized.scores)
theirs = tfa["beams|1.0|scores"]
last = lengths == lengths.max()  # where the loop stopped
print("ended before:   ", ours[~last][:4].round(3), theirs[~last][:4].round(3))
print("ended with it:  ", ours[last][:4].round(3), theirs[last][:4].round(3))
as_in_tfa = ours * (5 + lengths) / (5 + lengths - last)
np.testing.assert_allclose(as_in_tfa, theirs, atol=1e-4)

# %% [markdown]
# **Coverage penalty.** TFA adds it only to hypotheses that had ended before,
# so a score jumps one step after the end; and it leaves out every position
# with an attention of exactly 0, taking it for padding, so that with hardmax a
# word that nothing looked at costs nothing. `BeamSearch` minds it from the
# first step, and leaves out padding alone. Expect other numbers, and tune
# `coverage_penalty` anew.
#
# **Other things** that moved, with a line for every name of `tfa.seq2seq`, are
# in the page "Coming from TensorFlow Addons" of the documentation.

# %% [markdown]
# ## Export
#
# Decoding is a call like others, and no object holds a memory. So a model that
# decodes goes into a SavedModel by `export`, and runs without this library.


# %%
class Speller(keras.Model):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def call(self, source):
        return self.decoder.generate(
            *encode(source), strategy=BeamSearch(4), **OPTIONS
        ).tokens[:, 0]


speller = Speller(encoder, decoder)
spelled = speller(source)
signature = [keras.InputSpec(shape=(None, None), dtype="int32")]
with tempfile.TemporaryDirectory() as folder:
    speller.export(folder, verbose=False, input_signature=signature)
    saved_model = tf.saved_model.load(folder)
    served = saved_model.serve(tf.constant(source, "int32"))

# %% [markdown]
# The training model itself is kept by `save`, and loads without
# `custom_objects`.

# %%
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "speller.keras")
    model.save(path)
    loaded = keras.saving.load_model(path)
inputs = [source, target[:, :-1]]
np.testing.assert_allclose(loaded(inputs), model(inputs), atol=1e-5)

# %% [markdown]
# All of it writes the words that TFA wrote.

# %%
for tokens in (spelled, served, result.tokens[:, 0]):
    words = [word_of(row).strip("_") for row in np.array(tokens)]
    assert words == [word_of(row) for row in tfa["greedy"]]
print(words)
