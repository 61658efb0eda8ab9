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
# # A classifier by `model.add`
#
# A long text, a label that a few of its words decide: a recurrent network
# must carry those words to its end, unless it can look back. This tutorial
# adds attention to a `keras.Sequential` by one line. You learn
#
# - how `AttentionPooling` makes one vector of a sequence;
# - what it gains over the last state of an LSTM, measured;
# - how to see which words it looked at;
# - what `mask_zero` does to padding, and how to hand a mask on yourself;
# - how to save such a model and load it.
#
# It takes about a minute on two cores with TensorFlow. It runs with JAX and
# PyTorch, too; PyTorch needs far longer, for there Keras takes the steps of an
# LSTM one by one. To install, in a clone of the repository:
#
# ```
# pip install ".[tutorials]"
# ```
#
# In Colab, clone the repository, and run `%pip install ".[tutorials]"` in its
# folder.

# %% [markdown]
# Keras, this library, and its built-in corpus of short sentences:

# %%
import os
import tempfile
from pathlib import Path


os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # only what concerns us

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import layers

from keras_attention import AttentionPooling
from keras_attention import BahdanauAttention
from keras_attention.datasets import phrases


# %% [markdown]
# Settings to play with. More sentences in a text make the task harder for
# the last state, and hardly for attention.

# %% tags=["parameters"]
num_texts = 3000
num_sentences = 14  # at most, in a text
epochs = 4
units = 32

# %% [markdown]
# ## The task
#
# Somebody reports how everybody feels, among much else, and we ask after one
# of them: which feeling does the sentence about Marta speak of? Other people's
# feelings are in the text as well, so no word decides by itself: a feeling
# counts in Marta's sentence only, and that may be anywhere.

# %%
FEELINGS = [
    *("hungry", "thirsty", "sleepy", "tired"),
    *("happy", "sad", "worried", "afraid"),
]
keras.utils.set_random_seed(1)
random = np.random.default_rng(1)
ours, others, rest = [], [], []
for phrase in phrases.load_phrases():
    words = [word.lower() for word in phrase.english_words]
    if "marta" not in words:
        feels = set(FEELINGS).intersection(words)
        (others if feels else rest).append(words)
    elif set(FEELINGS).intersection(words):
        ours.append(words)
for name, part in [("Marta", ours), ("others", others), ("the rest", rest)]:
    random.shuffle(part)
    print(f"{name:>8}: {len(part):6,} sentences, {' '.join(part[0])}")

# %% [markdown]
# In a text a third of the sentences is about the rest. Where Marta's sentence
# is, is kept, so that the attention can be checked later.


# %%
def draw(sentences, count):
    return [sentences[i] for i in random.integers(len(sentences), size=count)]


def make_text():
    count = random.integers(num_sentences // 2, num_sentences)
    chosen = draw(others, count - count // 3) + draw(rest, count // 3)
    random.shuffle(chosen)
    (sentence,) = draw(ours, 1)
    place = random.integers(count + 1)
    before, after = sum(chosen[:place], []), sum(chosen[place:], [])
    where = slice(len(before), len(before) + len(sentence))
    (feeling,) = set(FEELINGS).intersection(sentence)
    return before + sentence + after, FEELINGS.index(feeling), where


# %% [markdown]
# Test texts are put together anew; the sentences in them are those of the
# training texts. The task is to find, not to understand new words.


# %%
def make_texts(count):
    return zip(*[make_text() for _ in range(count)], strict=True)


train_texts, train_labels, _ = make_texts(num_texts)
test_texts, test_labels, test_places = make_texts(500)
print(" ".join(test_texts[0]))
print("label:", FEELINGS[test_labels[0]])

# %% [markdown]
# ## Padding
#
# A batch is a rectangle, so shorter texts are padded. Id 0 is kept for that,
# and given to no word.

# %%
vocabulary = sorted({word for text in ours + others + rest for word in text})
ids = {word: number for number, word in enumerate(vocabulary, start=1)}


def to_array(texts):
    rows = [[ids[word] for word in text] for text in texts]
    return keras.utils.pad_sequences(rows, padding="post")  # batch length


train_x, train_y = to_array(train_texts), np.array(train_labels)
test_x, test_y = to_array(test_texts), np.array(test_labels)
print(train_x.shape, f"of which {np.mean(train_x == 0):.0%} are padding")

# %% [markdown]
# ## The model
#
# `Embedding(mask_zero=True)` makes a mask, True where the id is not 0, and
# Keras hands it from layer to layer. The LSTM skips padding by it, and the
# attention gives padding a weight of exactly 0.
#
# `AttentionPooling` puts a question to all states $h_j$ of the LSTM and
# returns the context $c = \sum_j \alpha_j h_j$, one vector for a text. What
# asks is either the last state (`query="last"`) or a weight that is learned
# (`query="learned"`). Every text here is asked the same, so it is learned.
# `BahdanauAttention` compares by $v_a^\top \tanh(W_a s + U_a h_j)$; any other
# attention of the library would do.


# %%
def make_model(with_attention):
    lstm = layers.LSTM(units, return_sequences=with_attention)
    model = keras.Sequential()
    model.add(layers.Embedding(len(ids) + 1, units, mask_zero=True))
    model.add(layers.Bidirectional(lstm))
    if with_attention:
        attention = BahdanauAttention(units)
        model.add(AttentionPooling(attention, query="learned"))
    model.add(layers.Dense(len(FEELINGS), activation="softmax"))
    model.compile(
        keras.optimizers.Adam(5e-3),
        "sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    return model


# %% [markdown]
# The model with attention, and the same one that sees only the last states of
# the LSTM, forwards and backwards; the same data, the same number of epochs:

# %%
histories, models = {}, {}
for name, with_attention in [("attention", True), ("last state", False)]:
    keras.utils.set_random_seed(1)
    models[name] = make_model(with_attention)
    histories[name] = models[name].fit(
        train_x,
        train_y,
        batch_size=64,
        epochs=epochs,
        validation_data=(test_x, test_y),
        verbose=0,
    )
model = models["attention"]
model.summary()

# %% [markdown]
# Accuracy on the test texts after every epoch. The last state can learn the
# task, too: given enough epochs it carries the two words to the end. Attention
# has a shorter way to them, forwards and for the gradient.

# %%
accuracies = {
    name: history.history["val_accuracy"] for name, history in histories.items()
}
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, accuracy in accuracies.items():
    print(f"{name:10}", " ".join(f"{value:.3f}" for value in accuracy))
    ax.plot(range(1, epochs + 1), accuracy, marker="o", label=name)
ax.axhline(1 / len(FEELINGS), color="gray", linestyle=":", label="chance")
ax.set_xlabel("epoch")
ax.set_ylabel("accuracy on the test texts")
ax.set_xticks(range(1, epochs + 1))
ax.set_ylim(0, 1.02)
ax.legend()
plt.show()

# %% [markdown]
# ## What it looked at
#
# The layers of the model, called one after another, give the attention scores
# too. Here the mask is handed on by hand. A `Sequential` leaves that to Keras,
# and Keras 3.16 will hand no mask on through a recurrent layer: from then on,
# call the layers like this, or make a functional model, where padding counts.


# %%
embedding, reader, pooling, output_layer = model.layers


def look(tokens):
    mask = tokens != 0  # True marks a real word
    states = reader(embedding(tokens), mask=mask)  # batch length 2*units
    context, attention_scores = pooling(
        states, mask=mask, return_attention_scores=True
    )
    results = output_layer(context), attention_scores
    return [keras.ops.convert_to_numpy(result) for result in results]


probabilities, looked = look(test_x)
print(probabilities.shape, looked.shape)  # texts feelings, texts length

# %% [markdown]
# How much of the attention falls on Marta's sentence, and how much would if
# all words got the same?

# %%
rows = list(zip(looked, test_texts, test_places, strict=True))
share = np.mean([scores[place].sum() for scores, _, place in rows])
even_share = np.mean([len(text[place]) / len(text) for _, text, place in rows])
print(f"{share:.2f} of the attention, {even_share:.2f} of the words")

# %% [markdown]
# The words, from white for an attention score of 0 to dark blue for 1. What is
# looked at is a state of the LSTM, which has read in both directions: at the
# feeling it knows whose it is, at "marta" what she feels, and either may be
# looked at. Attention over states is not quite attention over words.


# %%
def draw_text(ax, words, scores, width=84):
    column, row = 0, 0
    for word, score in zip(words, scores, strict=False):
        if column + len(word) > width:
            column, row = 0, row + 1
        ax.text(
            *(column, row, word),
            family="monospace",
            fontsize=12,
            color="white" if score > 0.5 else "black",
            bbox={"facecolor": plt.cm.Blues(score), "lw": 0, "pad": 1.5},
        )
        column += len(word) + 1
    ax.set_xlim(0, width)
    ax.set_ylim(row + 1, -1)
    ax.set_axis_off()


# %% [markdown]
# Two texts, and what the model predicts, with its probability:

# %%
figure, axes = plt.subplots(2, figsize=(9, 5), layout="constrained")
for index, ax in enumerate(axes):
    draw_text(ax, test_texts[index], looked[index])
    best = int(np.argmax(probabilities[index]))
    probability = probabilities[index, best]
    ax.set_title(f"of Marta: {FEELINGS[best]}, {probability:.2f}", loc="left")
plt.show()

# %% [markdown]
# ## What padding changes
#
# Nothing: thirty more columns of zeros, and the attention scores there are
# exactly 0, all others and the probabilities what they were. The second number
# is that of the `Sequential`, which is as small as long as Keras hands the
# mask on.

# %%
wider = np.pad(test_x, [(0, 0), (0, 30)])
wider_probabilities, wider_looked = look(wider)
assert not wider_looked[wider == 0].any()
by_hand = np.abs(wider_probabilities - probabilities).max()
predicted = model.predict(wider, verbose=0)
by_keras = np.abs(predicted - probabilities).max()
print(f"Keras {keras.__version__}: {by_hand:.0e} by hand, {by_keras:.0e}")
assert by_hand < 1e-4

# %% [markdown]
# ## Save and load
#
# One file holds layers, weights and optimizer. Loading it needs no
# `custom_objects`: importing `keras_attention` is enough.

# %%
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "classifier.keras"
    model.save(path)
    print(f"{path.stat().st_size / 1024:.0f} KiB")
    loaded = keras.models.load_model(path)
print(loaded.evaluate(test_x, test_y, verbose=0, return_dict=True))

# %% [markdown]
# The loaded model gives the same numbers; the attention is on Marta's
# sentence.

# %%
np.testing.assert_allclose(
    loaded.predict(test_x, verbose=0),
    model.predict(test_x, verbose=0),
    atol=1e-6,
)
assert share > 2 * even_share
assert accuracies["attention"][-1] > accuracies["last state"][-1] - 0.02
