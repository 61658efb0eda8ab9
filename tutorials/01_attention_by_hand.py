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
# # Attention by hand
#
# Every equation of Bahdanau's and Luong's attention on numbers small enough
# for a pencil: first in NumPy, then by the layer of this library, which must
# give the same. You learn
#
# - what a score, an attention score and a context are;
# - what differs between Bahdanau's step and Luong's, and what input feeding
#   is;
# - what can be computed once for all steps, and what that saves;
# - what a mask does, and what goes wrong without one;
# - what happens when dimensions do not fit;
# - how local attention moves its window.
#
# It runs in seconds, with TensorFlow, JAX or PyTorch. To install, in a clone
# of the repository:
#
# ```
# pip install ".[tutorials]"
# ```
#
# In Colab, clone the repository, and run `%pip install ".[tutorials]"` in its
# folder.

# %% [markdown]
# Papers: [Bahdanau et al. (2015)](https://arxiv.org/abs/1409.0473) and
# [Luong et al. (2015)](https://arxiv.org/abs/1508.04025). Symbols are those of
# Bahdanau's appendix A.1.2 unless said otherwise: $s$ is a state of the
# decoder, the *query*; $h_1 \dots h_T$ are the states of the encoder, the
# *memory*.

# %%
import os


os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # only what concerns us

import keras
import matplotlib.pyplot as plt
import numpy as np

import keras_attention


# %% [markdown]
# All numbers by hand are compared with the library's by this function. A GPU
# may round products to three digits.


# %%
def assert_same(by_hand, by_library):
    by_library = keras.ops.convert_to_numpy(by_library)
    np.testing.assert_allclose(by_hand, np.squeeze(by_library), atol=1e-3)


def numbers(*rows):
    return np.array(rows, dtype="float32")


np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# ## 1. From scores to a context
#
# Without attention an encoder hands one vector of a fixed width to the
# decoder, however long the source. With it the decoder asks the states of the
# encoder anew at every step: a question, the query, is answered with a mean of
# the memory:
#
# $$\alpha_i = \frac{\exp(e_i)}{\sum_j \exp(e_j)}, \qquad
# c = \sum_i \alpha_i h_i$$
#
# The score $e_i$ says how well position $i$ fits the query. The softmax turns
# scores into probabilities $\alpha_i$; Keras and this library call these the
# *attention scores*. The context $c$ is their mean of the memory. Taking the
# maximum off first changes nothing but keeps `exp` in range.


# %%
def softmax(scores):
    powers = np.exp(scores - np.max(scores))
    return powers / np.sum(powers)


# %% [markdown]
# **Worked example 1.** "The cat sat" becomes "Le chat s'est assis". Before it
# writes "chat", a decoder gives the three words the scores 0.5, 2.1 and 0.3.
# (The answer 0.12, 0.79, 0.09 that one may read for it is not the softmax of
# these scores: "cat" gets 0.73.)

# %%
attention_scores = softmax(numbers(0.5, 2.1, 0.3))
print(attention_scores)
np.testing.assert_allclose(
    attention_scores, [0.1477, 0.7314, 0.1209], atol=5e-5
)

# %% [markdown]
# The context is then mostly "cat". With two units for every word:

# %%
memory = numbers([0.2, 0.4], [0.9, 0.8], [-0.5, 0.3])  # The, cat, sat
context = sum(
    weight * row for weight, row in zip(attention_scores, memory, strict=True)
)
print(context)
np.testing.assert_allclose(context, attention_scores @ memory, atol=1e-6)

# %% [markdown]
# **Worked example 2.** Five source words with the scores 1.2, 3.5, 0.8, 2.1
# and 0.5. The second gets 0.6831 of the attention, not 0.64.

# %%
five = numbers(1.2, 3.5, 0.8, 2.1, 0.5)
print(softmax(five))
assert round(float(softmax(five)[1]), 4) == 0.6831

# %% [markdown]
# In the library, `normalize` of an attention layer is this softmax. It takes
# scores of many queries at once, `(batch, query_length, memory_length)`.

# %%
attention = keras_attention.LuongAttention("dot")
assert_same(softmax(five), attention.normalize(five[None, None]))

# %% [markdown]
# A common advice is to take `exp(log_softmax(e))` instead, for stability. It
# gains nothing: both take the maximum off. What overflows is the formula
# without that.

# %%
large = numbers(1000.0, 1001.0, 1002.0)
with np.errstate(over="ignore", invalid="ignore"):
    print("without:", np.exp(large) / np.sum(np.exp(large)))
log_softmax = keras.ops.log_softmax(large)
by_log = keras.ops.convert_to_numpy(keras.ops.exp(log_softmax))
print("softmax:", softmax(large), "exp(log_softmax):", by_log)
assert_same(softmax(large), by_log)
assert_same(softmax(large), attention.normalize(large[None, None]))

# %% [markdown]
# ## 2. Four scores
#
# What differs between the mechanisms is how a query is compared with a row of
# the memory. Here is a query for the memory above.

# %%
query = numbers(1.0, 0.5)

# %% [markdown]
# **Dot** (Luong, section 3.1): $e_i = s^\top h_i$. No weights; query and
# memory must be equally wide.

# %%
dot = numbers(
    1.0 * 0.2 + 0.5 * 0.4,
    1.0 * 0.9 + 0.5 * 0.8,
    1.0 * -0.5 + 0.5 * 0.3,
)
print(dot)
score = keras_attention.DotScore()
assert_same(dot, score(query[None, None], memory[None]))

# %% [markdown]
# **General** (second line): $e_i = s^\top W_a h_i$. The matrix learns how the
# two spaces correspond, and they may differ in width: here a query of three
# units meets a memory of two, so $W_a$ is 3 x 2.

# %%
wide_query = numbers(1.0, 0.5, -1.0)
w_a = numbers([0.5, 0.2], [-0.3, 0.8], [0.1, 0.4])
general = numbers(*[wide_query @ w_a @ row for row in memory])
print(general)

# %% [markdown]
# In the library a score has two parts: `project` makes keys of the memory,
# here $W_a h_i$; the call compares queries with keys. A Keras kernel
# multiplies from the right, so it is the paper's matrix transposed.

# %%
score = keras_attention.GeneralScore()
score.build((1, 1, 3), (1, 3, 2))
score.memory_layer.kernel.assign(w_a.T)
keys = score.project(memory[None])
assert_same(memory @ w_a.T, keys)
assert_same(general, score(wide_query[None, None], keys))

# %% [markdown]
# **Additive** (Bahdanau, A.1.2):
# $e_i = v_a^\top \tanh(W_a s + U_a h_i)$. Both are projected into a common
# space of $d_a$ units, here 2; $v_a$ makes one number of the hidden layer.

# %%
w_a = numbers([0.5, -0.4], [0.3, 0.9])  # d_a x d_s
u_a = numbers([0.7, 0.1], [-0.2, 0.6])  # d_a x d_h
v_a = numbers(1.5, -1.0)  # d_a
additive = numbers(*[v_a @ np.tanh(w_a @ query + u_a @ h) for h in memory])
print(additive)

# %% [markdown]
# The same weights in `AdditiveScore`; its keys are $U_a h_i$.

# %%
score = keras_attention.AdditiveScore(units=2)
score.build((1, 1, 2), (1, 3, 2))
score.query_layer.kernel.assign(w_a.T)
score.memory_layer.kernel.assign(u_a.T)
score.direction.assign(v_a)
additive_keys = score.project(memory[None])
assert_same(additive, score(query[None, None], additive_keys))

# %% [markdown]
# **Concat** (Luong, section 3.1): $e_i = v_a^\top \tanh(W_a [s; h_i])$.
# With $W_a$ and $U_a$ of the additive score side by side as its one matrix,
# it is the additive score: the two differ in how they are written down.

# %%
side_by_side = np.concatenate([w_a, u_a], axis=1)  # d_a x (d_s + d_h)
concat = numbers(
    *[v_a @ np.tanh(side_by_side @ np.concatenate([query, h])) for h in memory]
)
assert_same(additive, concat)

# %% [markdown]
# `ConcatScore` has that one matrix, too.

# %%
score = keras_attention.ConcatScore(units=2)
score.build((1, 1, 2), (1, 3, 2))
score.kernel.assign(side_by_side.T)
score.direction.assign(v_a)
assert_same(concat, score(query[None, None], score.project(memory[None])))

# %% [markdown]
# **Why the tanh?** Without it the score falls apart into
# $v_a^\top W_a s + v_a^\top U_a h_i$. The first term is the same at every
# position, so the softmax does not see it: every query would look at the same
# words.

# %%
memory_alone = softmax(memory @ u_a.T @ v_a)
for one in (query, -3 * query):
    linear = softmax((w_a @ one + memory @ u_a.T) @ v_a)
    with_tanh = softmax(np.tanh(w_a @ one + memory @ u_a.T) @ v_a)
    print("without tanh", linear, "with it", with_tanh)
    np.testing.assert_allclose(linear, memory_alone, atol=1e-6)
    assert np.abs(with_tanh - memory_alone).max() > 0.01

# %% [markdown]
# ## 3. Attention layers
#
# A layer is a score, the softmax and the mean. It is called as
# `keras.layers.Attention` is: `[query, value]`, where the value is the
# memory. `LuongAttention` takes the name of a score:

# %%
layer = keras_attention.LuongAttention("dot")
context, attention_scores = layer(
    [query[None, None], memory[None]], return_attention_scores=True
)
assert_same(softmax(dot), attention_scores)
assert_same(softmax(dot) @ memory, context)

# %% [markdown]
# `BahdanauAttention` has the additive score:

# %%
bahdanau = keras_attention.BahdanauAttention(units=2)
bahdanau.build([(1, None, 2), (1, None, 2)])
bahdanau.score.query_layer.kernel.assign(w_a.T)
bahdanau.score.memory_layer.kernel.assign(u_a.T)
bahdanau.score.direction.assign(v_a)
context, attention_scores = bahdanau(
    [query[None, None], memory[None]], return_attention_scores=True
)
assert_same(softmax(additive), attention_scores)
assert_same(softmax(additive) @ memory, context)

# %% [markdown]
# Many queries make a picture, one row for each. Here the source words have
# directions of their own, and a query points to what it asks for: "assis"
# asks for "sat" alone, "s'est" for "sat" with some of "cat".

# %%
sources, targets = ["The", "cat", "sat"], ["Le", "chat", "s'est", "assis"]
directions = np.eye(3, dtype="float32")
queries = numbers([3, 0.5, 0], [1, 3, 0], [0, 1, 2], [0, 0.5, 3.5])
_, looked = keras_attention.LuongAttention("dot")(
    [queries[None], directions[None]], return_attention_scores=True
)
looked = keras.ops.convert_to_numpy(looked)[0]  # target source
ax = keras_attention.plot_attention(looked, sources, targets)
ax.set_xlabel("source word")
ax.set_ylabel("word to be written")
plt.show()
by_hand = numbers(*[softmax(directions @ one) for one in queries])
assert_same(by_hand, looked)

# %% [markdown]
# ## 4. Bahdanau's step: look, then step
#
# A decoder state comes out of a recurrent step. Bahdanau (section 3.1) asks
# with the state *before* the step, and gives the context to the step:
#
# $$c_t = \mathrm{attention}(s_{t-1}, h), \qquad
# s_t = f(s_{t-1}, [y_{t-1}; c_t])$$
#
# The paper's $f$ is a gated unit. Here it is the plainest one,
# $\tanh(W x + U s)$, so that all of it fits in a line.

# %%
target = numbers([0.3, -0.6], [0.8, 0.1])  # y: two words, two units
kernel = numbers([0.4, -0.2, 0.6, 0.1], [0.5, 0.3, -0.7, 0.2])  # for [y; c]
recurrent = numbers([0.2, -0.5], [0.4, 0.3])


def recurrent_step(inputs, state, kernel):
    return np.tanh(kernel @ inputs + recurrent @ state)


# %% [markdown]
# Two steps from the state zero:

# %%
state, bahdanau_states = np.zeros(2, "float32"), []
for word in target:
    scores = numbers(*[v_a @ np.tanh(w_a @ state + u_a @ h) for h in memory])
    context = softmax(scores) @ memory
    state = recurrent_step(np.concatenate([word, context]), state, kernel)
    bahdanau_states.append(state)
print(np.array(bahdanau_states))

# %% [markdown]
# In the library: `BahdanauRNNCell` takes such a step around any Keras cell,
# `AttentionRNN` is the loop, and the memory is an argument of it.

# %%
cell = keras_attention.BahdanauRNNCell(
    keras.layers.SimpleRNNCell(2, use_bias=False), bahdanau
)
decoder = keras_attention.AttentionRNN(cell, return_sequences=True)
decoder.build((1, 2, 2), (1, 3, 2))
cell.cell.set_weights([kernel.T, recurrent.T])
assert_same(np.array(bahdanau_states), decoder(target[None], memory[None]))

# %% [markdown]
# ## 5. Luong's step: step, then look
#
# Luong (section 3, eq. 5) asks with the state *after* the step, and joins
# state and context to what is put out, the attentional state:
#
# $$s_t = f(s_{t-1}, y_{t-1}), \quad c_t = \mathrm{attention}(s_t, h), \quad
# \tilde s_t = \tanh(W_c [c_t; s_t])$$
#
# His $h_t$ is our $s_t$, his $\bar h$ our $h$. Some write $[s_t; c_t]$: the
# same but for the order of the columns of $W_c$.

# %%
w_c = numbers([0.7, -0.3, 0.2, 0.5], [-0.1, 0.6, 0.9, -0.4])  # for [c; s]
narrow = kernel[:, :2]  # for y alone
state, luong_outputs = np.zeros(2, "float32"), []
for word in target:
    state = recurrent_step(word, state, narrow)
    context = softmax(memory @ state) @ memory
    attentional_state = np.tanh(w_c @ np.concatenate([context, state]))
    luong_outputs.append(attentional_state)
print(np.array(luong_outputs))

# %% [markdown]
# `LuongRNNCell` takes this step.


# %%
def luong_decoder(attention, kernel, input_feeding=False):
    cell = keras_attention.LuongRNNCell(
        keras.layers.SimpleRNNCell(2, use_bias=False),
        attention,
        input_feeding=input_feeding,
    )
    decoder = keras_attention.AttentionRNN(cell, return_sequences=True)
    decoder.build((1, 2, 2), (1, 3, 2))
    cell.cell.set_weights([kernel.T, recurrent.T])
    cell.attentional_state.dense.kernel.assign(w_c.T)
    return decoder


dot_attention = keras_attention.LuongAttention("dot")
decoder = luong_decoder(dot_attention, narrow)
assert_same(np.array(luong_outputs), decoder(target[None], memory[None]))

# %% [markdown]
# The next word comes from a last layer, $\mathrm{softmax}(W_o \tilde s_t)$;
# for a vocabulary of three words see below. (Bahdanau's is deeper, appendix
# A.2.2, and sees the context too: `BahdanauRNNCell(output_context=True)`.)

# %%
w_o = numbers([1.0, -0.5], [0.2, 0.8], [-0.6, 0.4])
output_layer = keras.layers.Dense(3, activation="softmax", use_bias=False)
output_layer.build((1, 2))
output_layer.kernel.assign(w_o.T)
words = numbers(*[softmax(w_o @ one) for one in luong_outputs])
print(words)
assert_same(words, output_layer(np.array(luong_outputs)))

# %% [markdown]
# ## 6. Input feeding
#
# In both papers the attention can enter the recurrence, in two ways that are
# often mixed up. Bahdanau feeds the *context* of this very step, always; it
# is what the step needs. Luong feeds the *attentional state of the step
# before*, if wanted: "input feeding" is his name for it (section 3.3). So
# that Luong's attention has no input feeding is a common claim and wrong.
#
# $$s_t = f(s_{t-1}, [y_{t-1}; \tilde s_{t-1}])$$

# %%
state, attentional_state = np.zeros((2, 2), "float32")
fed_outputs = []
for word in target:
    fed = np.concatenate([word, attentional_state])
    state = recurrent_step(fed, state, kernel)
    context = softmax(memory @ state) @ memory
    attentional_state = np.tanh(w_c @ np.concatenate([context, state]))
    fed_outputs.append(attentional_state)
print(np.array(fed_outputs))
decoder = luong_decoder(dot_attention, kernel, input_feeding=True)
assert_same(np.array(fed_outputs), decoder(target[None], memory[None]))

# %% [markdown]
# Without input feeding nothing of the attention enters the recurrence, so
# `AttentionRNN` runs the cell alone and then attends from all steps in one
# product, with the same numbers. One sees the difference in the states with
# another memory: they stay as they are, or do not.

# %%
for input_feeding in (False, True):
    wide = kernel if input_feeding else narrow
    cell = luong_decoder(dot_attention, wide, input_feeding).cell
    decoder = keras_attention.AttentionRNN(cell, return_state=True)
    states = [
        keras.ops.convert_to_numpy(decoder(target[None], value)[1])
        for value in (memory[None], 2 * memory[None])
    ]
    stays = np.array_equal(*states)
    print(f"input_feeding={input_feeding}: the state stays as it is: {stays}")
    assert stays is not input_feeding

# %% [markdown]
# **Score and step are independent.** Another common claim is that an additive
# score must ask before the step, a multiplicative one after it. Luong's own
# concat score is additive and asks after it. What differs is the query alone,
# $s_{t-1}$ or $s_t$:

# %%
additive_attention = keras_attention.LuongAttention("additive", units=2)
decoder = luong_decoder(additive_attention, narrow)
additive_attention.score.set_weights(bahdanau.score.get_weights())
state, outputs = np.zeros(2, "float32"), []
for word in target:
    state = recurrent_step(word, state, narrow)
    scores = numbers(*[v_a @ np.tanh(w_a @ state + u_a @ h) for h in memory])
    context = softmax(scores) @ memory
    outputs.append(np.tanh(w_c @ np.concatenate([context, state])))
assert_same(np.array(outputs), decoder(target[None], memory[None]))

# %% [markdown]
# ## 7. What can be computed once
#
# **Worked example 3.** $T = 50$ source words, $d_s = d_h = 512$, and
# $d_a = 256$ for the additive score. How many multiplications does one step
# of the decoder take? In the additive score only the sum, the tanh and the
# product with $v_a$ belong to a pair of step and position; $W_a s$ belongs to
# the step, $U_a h_i$ to the position. The latter are the keys: what `project`
# returns is computed once for all steps. The same holds for $W_a h_i$ of the
# general score.

# %%
T, d_s, d_h, d_a = 50, 512, 512, 256
keys_of = {"additive": T * d_a * d_h, "general": T * d_s * d_h}
per_step = {"additive": d_a * d_s + T * d_a, "general": T * d_s}
print(f"{'multiplications':20} {'additive':>12} {'general':>12}")
for label, count in [
    ("keys, once", keys_of),
    ("scores, every step", per_step),
]:
    row = f"{count['additive']:12,} {count['general']:12,}"
    print(f"{label:20} {row}")
assert keys_of == {"additive": 6_553_600, "general": 13_107_200}
assert per_step == {"additive": 143_872, "general": 25_600}

# %% [markdown]
# What remains of a step: the context, $T d_h$; for Luong $W_c$; for Bahdanau
# the context on its way into the recurrent cell, in a GRU three matrices
# $d_s \times d_h$. With input feeding Luong's step has such matrices, too,
# for $\tilde s_{t-1}$.

# %%
context, join, feed = T * d_h, d_s * (d_s + d_h), 3 * d_s * d_h
every_step = {
    "Bahdanau": per_step["additive"] + context + feed,
    "Luong": per_step["general"] + context + join,
    "Luong, input feeding": per_step["general"] + context + join + feed,
}
for name, count in every_step.items():
    print(f"{name:20} {count:12,} multiplications a step")
assert list(every_step.values()) == [955_904, 575_488, 1_361_920]

# %% [markdown]
# That Luong's attention is 20 times faster is a common claim. It compares a
# general score with keys and an additive one without them, which computes
# even $W_a s$ anew for every position. The additive score costs 12,800 tanh a
# step besides. What takes how many seconds, is measured in
# `04_bahdanau_or_luong`.

# %%
nothing_once = T * (d_a * d_s + d_a * d_h + d_a)
ratio = every_step["Bahdanau"] / every_step["Luong"]
print(f"claimed: {nothing_once:,} / {every_step['Luong']:,}")
print(f"       = {nothing_once / every_step['Luong']:.1f}")
print(f"keys computed once in both: {ratio:.1f}")
assert nothing_once == 13_120_000

# %% [markdown]
# A layer does this by `prepare_memory`, once for a memory; then `step` takes
# the query of every step. The numbers are those of the whole-sequence call.

# %%
prepared = bahdanau.prepare_memory(memory[None])
assert_same(memory @ u_a.T, prepared.keys)
for one in (query, -query):
    by_step, *_ = bahdanau.step(one[None], prepared, state=[])
    at_once = bahdanau([one[None, None], memory[None]])
    assert_same(keras.ops.convert_to_numpy(by_step)[0], at_once)

# %% [markdown]
# The weights are $d_a (d_s + d_h + 1)$ for the additive score and $d_s d_h$
# for the general one; $W_c$ has $d_s (d_s + d_h)$, whichever the score.

# %%
for score, formula in [
    (keras_attention.AdditiveScore(d_a), d_a * (d_s + d_h + 1)),
    (keras_attention.GeneralScore(), d_s * d_h),
    (keras_attention.DotScore(), 0),
]:
    score.build((1, None, d_s), (1, None, d_h))
    print(f"{type(score).__name__:14} {score.count_params():8,}")
    assert score.count_params() == formula

# %% [markdown]
# ## 8. Masks
#
# Sentences in a batch are padded to one length. Here "The cat sat" has two
# positions of padding. Padding does not get small scores by itself: with the
# dot score, rows of zeros score 0, which is more than "sat" gets.

# %%
padded = np.concatenate([memory, np.zeros((2, 2), "float32")])
is_real = np.array([True, True, True, False, False])
unmasked = softmax(padded @ query)
print("without a mask:", unmasked, "padding:", unmasked[~is_real].sum())

# %% [markdown]
# With a mask the softmax is taken over the real positions only, and padding
# changes nothing: not the attention scores, not the context. In the library a
# mask is True where a token is real. Even NaN in the padding stays inside.

# %%
layer = keras_attention.LuongAttention("dot")
garbage = np.where(is_real[:, None], padded, np.nan)
for value in (padded, garbage):
    context, attention_scores = layer(
        [query[None, None], value[None]],
        mask=[None, is_real[None]],
        return_attention_scores=True,
    )
    attention_scores = keras.ops.convert_to_numpy(attention_scores)[0, 0]
    print("with a mask:   ", attention_scores)
    assert not attention_scores[~is_real].any()  # exactly 0
    assert_same(softmax(dot), attention_scores[is_real])
    assert_same(softmax(dot) @ memory, context)

# %% [markdown]
# The usual recipe puts $-\infty$ in place of the scores of padding. That
# fails for a row without any real position, an empty sentence in a batch:
# $\exp(-\infty) / 0$ is NaN, in the gradients too. A large negative number
# avoids the NaN and is worse, because nobody notices: the empty row attends to
# its padding, as if it were real.

# %%
all_padding = np.full(5, -np.inf, "float32")
with np.errstate(invalid="ignore"):
    print("-inf:  ", softmax(all_padding))
print("-1e9:  ", softmax(np.full(5, -1e9, "float32")))
empty = layer.normalize(
    np.zeros((1, 1, 5), "float32"), np.zeros((1, 1, 5), bool)
)
print("masked:", keras.ops.convert_to_numpy(empty)[0, 0])
assert not keras.ops.convert_to_numpy(empty).any()

# %% [markdown]
# In half precision -1e9 is out of range: it becomes $-\infty$, and the NaN is
# back. This library computes the softmax in float32 whatever the model
# computes in, multiplies by the mask afterwards, and gives 0 to a row that
# has nothing: attention scores, context and gradients.

# %%
with np.errstate(over="ignore"):
    print("-1e9 in float16:", np.float16(-1e9))
half = keras_attention.LuongAttention("dot", dtype="mixed_float16")
context, attention_scores = half(
    [query[None, None], padded[None]],
    mask=[None, np.zeros((1, 5), bool)],
    return_attention_scores=True,
)
print(keras.ops.convert_to_numpy(context)[0, 0])
assert not keras.ops.convert_to_numpy(context).any()
assert not keras.ops.convert_to_numpy(attention_scores).any()

# %% [markdown]
# ## 9. When dimensions do not fit
#
# A bidirectional encoder of 256 units puts out 512, a decoder of 256 asks
# with 256. There is no dot product between them. NumPy says which numbers
# differ; this library says also what to do, when the layer is built.


# %%
def error_of(call):
    try:
        call()
    except ValueError as error:
        return str(error)


asking = np.ones((1, 1, 256), "float32")
encoded = np.ones((1, 50, 512), "float32")
print("NumPy:", error_of(lambda: asking[0, 0] @ encoded[0].T), end="\n\n")
layer = keras_attention.LuongAttention("dot")
message = error_of(lambda: layer([asking, encoded]))
print("keras_attention:", message)
assert "256 units" in message
assert "GeneralScore" in message

# %% [markdown]
# Taking the first 256 units of the memory would throw half of it away, all
# that was read backwards. The remedies are the general score, a projection of
# the query ($W_d s$, which is the general score with $W_a = W_d^\top$), or a
# decoder of 512 units.

# %%
context = keras_attention.LuongAttention("general")([asking, encoded])
print(context.shape)
w_d = numbers([0.5, -0.3, 0.1], [0.2, 0.8, 0.4])  # 3 units to 2
assert_same(
    memory @ (w_d @ wide_query),
    numbers(*[wide_query @ w_d.T @ row for row in memory]),
)

# %% [markdown]
# Another frequent slip is the last state of an encoder in place of all its
# states:

# %%
layer = keras_attention.BahdanauAttention(64)
message = error_of(lambda: layer([asking, encoded[:, -1]]))
print(message)
assert "return_sequences=True" in message

# %% [markdown]
# ## 10. Local attention
#
# Global attention scores all $T$ positions at every step. Local attention
# (Luong, section 3.2) predicts a place $p_t$ and looks at the $2 D + 1$
# positions around it; a Gaussian with $\sigma = D / 2$ favours those near to
# $p_t$. $S$ is the length of the source:
#
# $$p_t = S\, \sigma(v_p^\top \tanh(W_p s_t)), \qquad
# \alpha_t(i) = \mathrm{softmax}_{|i - p_t| \le D}(e_i)\,
# \exp\left(-\frac{(i - p_t)^2}{2 \sigma^2}\right)$$
#
# Eight words, $D = 2$. Positions count from 0; the window lies around the
# position that $p_t$ falls in.

# %%
long_memory = numbers(*[[np.sin(i), np.cos(i)] for i in range(8)])
half_width, length = 2, len(long_memory)
w_p, v_p = numbers([0.6, -0.2], [0.1, 0.9]), numbers(0.8, -0.3)
place = length / (1 + np.exp(-v_p @ np.tanh(w_p @ query)))
center = int(place)
window = np.arange(center - half_width, center + half_width + 1)
window = window[(window >= 0) & (window < length)]
print(f"p = {place:.4f}, window {window}")

# %% [markdown]
# The attention scores sum to less than 1, for the Gaussian is multiplied on
# after the softmax, and the window is cut at the ends of the sentence.

# %%
gaussian = np.exp(-((window - place) ** 2) / (2 * (half_width / 2) ** 2))
in_window = softmax(long_memory[window] @ query)
local = np.zeros(length, "float32")
local[window] = in_window * gaussian
print("softmax ", in_window)
print("Gaussian", gaussian)
print("product ", local, "sum", local.sum())

# %% [markdown]
# `LocalAttention` with `window="predictive"` is this, Luong's local-p. It
# gathers the keys of the window, so a step costs the same for a source of
# any length. `window="monotonic"` is his local-m: $p_t = t$, no Gaussian.

# %%
layer = keras_attention.LocalAttention("dot", "predictive", half_width)
layer.build([(1, None, 2), (1, None, 2)])
layer.position_hidden.kernel.assign(w_p.T)
layer.position_output.kernel.assign(v_p[:, None])
context, attention_scores = layer(
    [query[None, None], long_memory[None]], return_attention_scores=True
)
assert_same(local, attention_scores)
assert_same(local @ long_memory, context)
layer = keras_attention.LocalAttention("dot", "monotonic", half_width)
_, first_step = layer(
    [query[None, None], long_memory[None]], return_attention_scores=True
)
assert_same(softmax(long_memory[:3] @ query), first_step[..., :3])  # t = 0

# %% [markdown]
# ## 11. Try it yourself
#
# Five encoder states and a decoder state, four units each. With a pencil or
# NumPy: (1) the additive scores and their softmax, with these weights; (2)
# the same for the dot product; (3) both contexts. Then read on.

# %%
states = numbers(
    [0.1, 0.3, -0.2, 0.5],
    [0.8, 0.1, 0.4, -0.3],
    [0.2, -0.6, 0.7, 0.1],
    [0.9, 0.4, 0.6, 0.2],
    [-0.5, 0.2, 0.1, 0.4],
)
decoder_state = numbers(1.0, 0.0, 1.0, -0.5)
w_1 = numbers([0.5, 0.0, -0.5, 1.0], [1.0, 0.5, 0.0, 0.0])  # for h
w_2 = numbers([0.2, 0.4, 0.0, 0.6], [-0.4, 0.0, 0.8, 0.2])  # for s
v = numbers(1.0, 2.0)

# %% [markdown]
# One score of each in explicit arithmetic. First $W_2 s$, once for all
# positions; then the hidden layer of the first position, one line for each
# of its two units:

# %%
asked = numbers(
    0.2 * 1.0 + 0.4 * 0.0 + 0.0 * 1.0 + 0.6 * -0.5,
    -0.4 * 1.0 + 0.0 * 0.0 + 0.8 * 1.0 + 0.2 * -0.5,
)
hidden = numbers(
    np.tanh(asked[0] + 0.5 * 0.1 + 0.0 * 0.3 - 0.5 * -0.2 + 1.0 * 0.5),
    np.tanh(asked[1] + 1.0 * 0.1 + 0.5 * 0.3 + 0.0 * -0.2 + 0.0 * 0.5),
)
first_additive = 1.0 * hidden[0] + 2.0 * hidden[1]
first_dot = 1.0 * 0.1 + 0.0 * 0.3 + 1.0 * -0.2 - 0.5 * 0.5
print(f"additive {first_additive:.4f}, dot {first_dot:.4f}")

# %% [markdown]
# All positions, both ways:

# %%
additive = np.tanh(states @ w_1.T + w_2 @ decoder_state) @ v
dot = states @ decoder_state
np.testing.assert_allclose(additive[0], first_additive, atol=1e-6)
np.testing.assert_allclose(dot[0], first_dot, atol=1e-6)
results = {}
for name, scores in {"additive": additive, "dot": dot}.items():
    results[name] = softmax(scores), softmax(scores) @ states
    print(f"{name:8} scores          ", scores)
    print(f"{name:8} attention scores", results[name][0])
    print(f"{name:8} context         ", results[name][1])

# %% [markdown]
# Both put the fourth state first. They disagree on the first state, which the
# additive score puts second and the dot product fourth: its units 1 and 3,
# which the query asks for, are small. The tanh bounds the additive score: none
# can exceed $|v_1| + |v_2| = 3$. Ten times the states give ten times the dot
# product, and three positions lose all their attention.

# %%
for factor in (1, 10):
    scores = np.tanh(factor * states @ w_1.T + w_2 @ decoder_state) @ v
    print(f"{factor:2} times: additive", softmax(scores))
    print("          dot     ", softmax(factor * dot))
    assert np.abs(scores).max() <= 3
assert np.sort(softmax(10 * dot))[:3].sum() < 0.01

# %% [markdown]
# The layers of the library agree, in both ways and to the end.

# %%
for name, layer in {
    "additive": keras_attention.BahdanauAttention(units=2),
    "dot": keras_attention.LuongAttention("dot"),
}.items():
    layer.build([(1, None, 4), (1, None, 4)])
    if name == "additive":
        layer.score.query_layer.kernel.assign(w_2.T)
        layer.score.memory_layer.kernel.assign(w_1.T)
        layer.score.direction.assign(v)
    context, attention_scores = layer(
        [decoder_state[None, None], states[None]], return_attention_scores=True
    )
    assert_same(results[name][0], attention_scores)
    assert_same(results[name][1], context)
print("The same by hand and by the library.")
