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
# # Decoding and serving
#
# A trained decoder gives a probability to every next word. This tutorial
# makes sentences of them: greedily, by sampling, by beam search with its
# penalties, and under constraints; it looks at what each hypothesis attended
# to, and decodes with a step function of its own. Then it puts the translator
# of tutorial 03 to use: as a SavedModel, over a file, and as a web page.
#
# In a clone of the repository:
#
# ```
# pip install ".[tutorials]" jupyter
# jupyter lab tutorials/05_decoding_and_serving.ipynb
# ```
#
# In Colab, `!git clone` the repository, go to its folder with `%cd`, `%pip
# install ".[tutorials]"`, and go on to its folder `tutorials` with `%cd`.

# %% [markdown]
# What Python brings along. Where there is a GPU, the processes that are
# started below need some of its memory, too.

# %%
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.request import Request
from urllib.request import urlopen


os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_FORCE_GPU_ALLOW_GROWTH="true")

# %% [markdown]
# The decoder and the strategies come from this library, the rest from Keras
# and TensorFlow.

# %%
import keras
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  registers what the SavedModel consists of
from keras import layers
from keras import ops

import keras_attention
from keras_attention import BeamSearch
from keras_attention import GreedySearch
from keras_attention import RandomSampling
from keras_attention.datasets import spanish_english


# %% [markdown]
# The settings. `run` is the folder of a finished run of tutorial 03, made
# below if it is not there. To only try things out, `num_pairs = 2000`,
# `epochs = 1` and `units = 16` are enough.

# %% tags=["parameters"]
run = "runs/phrases"
num_pairs = 27_900
epochs = 2
units = 64

# %% [markdown]
# ## A small translator
#
# From English to Spanish, for there one sentence has several right
# translations: "they" is "ellos" or "ellas", "read them" is "leerlos" or
# "leerlas". Every word and every mark is a token.

# %%
keras.utils.set_random_seed(1)
parts = spanish_english.load_data("phrases")
train, _, test = ([pair[::-1] for pair in part] for part in parts)
train = train[:num_pairs]
PADDING, START, END, UNKNOWN = range(4)


def split(sentence):
    return re.findall(r"[\w':]+|[^\w\s]", sentence)


def make_vocabulary(sentences):
    words = {word for sentence in sentences for word in split(sentence)}
    return ["<pad>", "<s>", "</s>", "<unk>", *sorted(words)]


english, spanish = (make_vocabulary(side) for side in zip(*train, strict=True))
print(f"{len(english):,} English, {len(spanish):,} Spanish words")

# %% [markdown]
# Sentences as rows of ids, each with the end token behind it.


# %%
def as_ids(sentences, vocabulary):
    ids = {word: index for index, word in enumerate(vocabulary)}
    rows = [[ids.get(w, UNKNOWN) for w in split(s)] for s in sentences]
    length = 1 + max(map(len, rows))
    rows = [[*row, END] + [PADDING] * (length - len(row)) for row in rows]
    return np.array(rows, "int32")[:, :length]  # batch length


sources = as_ids([pair[0] for pair in train], english)
targets = as_ids([pair[1] for pair in train], spanish)
written = np.pad(targets[:, :-1], ((0, 0), (1, 0)), constant_values=START)
print(sources[0], [english[index] for index in sources[0]], sep="\n")

# %% [markdown]
# A bidirectional GRU reads; its outputs are the memory, and a bridge makes
# the decoder's first state of its last ones.

# %%
source_embedding = layers.Embedding(len(english), units)
reader = layers.Bidirectional(
    layers.GRU(units, return_sequences=True, return_state=True)
)
bridge = keras_attention.StateBridge("dense", units=units)


def encode(source):
    """What a decoder needs of a source: memory, mask, initial state."""
    mask = ops.not_equal(source, PADDING)  # True marks a real token
    memory, *states = reader(source_embedding(source), mask=mask)
    return memory, mask, bridge(states)


# %% [markdown]
# The decoder has Luong's order: step, attend, attentional state. One layer
# holds all that is needed to train and to decode.

# %%
cell = keras_attention.LuongRNNCell(
    layers.GRUCell(units),
    keras_attention.LuongAttention("general", scale="sqrt"),
    attentional_state="residual",
)
decoder = keras_attention.AttentionDecoder(
    embedding=layers.Embedding(len(spanish), units),
    rnn=keras_attention.AttentionRNN(cell, return_sequences=True),
    output_layer=layers.Dense(len(spanish)),
)

# %% [markdown]
# In training it is given the right words before each word. Two passes over
# the corpus leave some mistakes, so that there is something to see below.
# (XLA would take longer to compile than it saves here.)

# %%
source, target = keras.Input([None], dtype="int32"), keras.Input([None])
memory, memory_mask, state = encode(source)
logits = decoder(target, memory, initial_state=state, memory_mask=memory_mask)
model = keras.Model([source, target], logits)
model.compile(
    keras.optimizers.Adam(3e-3),
    keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, ignore_class=PADDING
    ),
    jit_compile=False,
)
fitted = model.fit(
    [sources, written], targets, batch_size=128, epochs=epochs, verbose=2
)

# %% [markdown]
# ## One line
#
# `generate` decodes a batch. All calls below share these options; ids that
# stand for no word are never put out.

# %%
OPTIONS = {
    "start_token": START,
    "end_token": END,
    "max_length": 25,
    "forbidden_tokens": [PADDING, START, UNKNOWN],
}


def read(*sentences):
    return encode(as_ids(sentences, english))


def words_of(tokens):
    return [spanish[token] for token in np.array(tokens) if token > END]


SENTENCE = "They do not want to read them."
result = decoder.generate(*read(SENTENCE), **OPTIONS)
print(" ".join(words_of(result.tokens[0, 0])))

# %% [markdown]
# Without a strategy the search is greedy: it takes the most probable token at
# every step. The axes of a result are the sentence, the hypothesis, and what
# follows. A score is the natural logarithm of the probability of the whole
# sequence, its end token included.

# %%
for name, value in result._asdict().items():
    print(f"{name:>16} {tuple(value.shape)}")
print(result.tokens[0, 0])
print("length", int(result.lengths[0, 0]), "score", float(result.scores[0, 0]))

# %% [markdown]
# Many sentences make one batch. Their padding changes nothing: each gives
# what it gives alone.

# %%
SENTENCES = [
    SENTENCE,
    "Where is the red house?",
    "The teacher is not going to buy the expensive shoes tomorrow.",
]
together = decoder.generate(*read(*SENTENCES), **OPTIONS)
for sentence, tokens in zip(SENTENCES, together.tokens[:, 0], strict=True):
    alone = decoder.generate(*read(sentence), **OPTIONS)
    assert words_of(tokens) == words_of(alone.tokens[0, 0])
    print(sentence, "->", " ".join(words_of(tokens)))

# %% [markdown]
# ## Sampling
#
# `RandomSampling` draws every token. A temperature $T$ takes probabilities to
# the power of $1/T$: below 1 the probable becomes more so. `top_k` leaves the
# $k$ most probable tokens, `top_p` the fewest whose probabilities add up to
# $p$ (Holtzman et al. 2020, section 3.1). Here are 2,000 first words for each
# setting, of a sentence at which the model hesitates.

# %%
SETTINGS = [
    {"temperature": 1.0},
    {"temperature": 0.5},
    {"temperature": 2.0},
    {"top_k": 3},
    {"top_p": 0.5},
]
HURRY = "I was in a hurry."
many = encode(np.repeat(as_ids([HURRY], english), 2000, axis=0))
first_words = OPTIONS | {"max_length": 1, "return_attention_scores": False}
shares = []
for settings in SETTINGS:
    sampling = RandomSampling(**settings, seed=1)
    drawn = decoder.generate(*many, strategy=sampling, **first_words).tokens
    shares.append(np.bincount(np.ravel(drawn), minlength=len(spanish)) / 2000)

# %% [markdown]
# Beside them, what the decoder says itself: its call with the start token
# gives the logits for the first word.

# %%
memory, memory_mask, state = read(HURRY)
logits = decoder(
    np.array([[START]]), memory, initial_state=state, memory_mask=memory_mask
)
probabilities = ops.convert_to_numpy(ops.softmax(logits[0, 0]))
likely = np.argsort(-probabilities)[:8]
for index in likely[:4]:
    print(f"{probabilities[index]:.3f} {spanish[index]}")

# %% [markdown]
# The eight most probable first words; the black lines are the model's
# probabilities, the bars what was drawn.

# %%
figure, axes = plt.subplots(
    1, len(SETTINGS), figsize=(13, 3.2), sharey=True, layout="constrained"
)
for ax, settings, share in zip(axes, SETTINGS, shares, strict=True):
    ax.bar(range(8), share[likely], color="tab:blue", label="drawn")
    ax.plot(range(8), probabilities[likely], "k_", ms=14, label="model")
    ax.set_xticks(range(8), [spanish[index] for index in likely], rotation=60)
    ax.set_title(", ".join(f"{k}={v}" for k, v in settings.items()))
axes[0].set_ylabel("share of first words")
axes[0].legend()
plt.show()

# %% [markdown]
# An integer seed gives the same sentences at every call; a `SeedGenerator`
# goes on, and begins anew with its seed. Scores are those of the model, as
# with every strategy, without temperature and top-k.


# %%
def show(result, row=0):
    for tokens, score in zip(
        result.tokens[row], result.scores[row], strict=True
    ):
        print(f"{float(score):7.2f}  {' '.join(words_of(tokens))}")


def sample(seed):
    strategy = RandomSampling(temperature=1.2, seed=seed)
    return decoder.generate(*read(SENTENCE), strategy=strategy, **OPTIONS)


generator = keras.random.SeedGenerator(3)
for seed in (3, 3, generator, generator, generator):
    show(sample(seed))

# %% [markdown]
# ## Beam search
#
# Beam search keeps the best `num_beams` hypotheses at every step, and returns
# the best `num_return` of them at the end: an n-best list. Here several are
# right, for English does not say who "they" and "them" are.

# %%
beams = decoder.generate(
    *read(SENTENCE), strategy=BeamSearch(num_beams=6, num_return=6), **OPTIONS
)
show(beams)

# %% [markdown]
# `decoder.score` gives the log-probability of any sequence. Of what decoding
# returns it gives what decoding reported.

# %%
ends = {"start_token": START, "end_token": END}
scores = decoder.score(beams.tokens, *read(SENTENCE), **ends)
print(np.array(scores).round(4), np.array(beams.scores).round(4), sep="\n")
np.testing.assert_allclose(scores, beams.scores, atol=1e-4)

# %% [markdown]
# So it can also say how probable a sentence of somebody else is, and rank the
# hypotheses of another model.

# %%
others = ["Ellas no quieren leerlos.", "No quieren leerlos.", "Ellos leen."]
scores = decoder.score(as_ids(others, spanish), *read(*[SENTENCE] * 3), **ends)
for sentence, score in zip(others, scores, strict=True):
    print(f"{float(score):7.2f}  {sentence}")

# %% [markdown]
# Is it worth its time? Over the test part: how often beam search finds a more
# probable sequence than greedy search, how often a less probable one (it may
# lose the greedy sequence early), and how often each is a translation that the
# corpus has.

# %%
references = {}
for one, other in test:
    references.setdefault(one, []).append(split(other))
test_sources = list(references)
encoded = read(*test_sources)
greedy, beam = (
    decoder.generate(*encoded, strategy=strategy, **OPTIONS)
    for strategy in (GreedySearch(), BeamSearch(5))
)
gains = np.array(beam.scores - greedy.scores)[:, 0]
print(f"of {len(gains)} sentences, {np.sum(gains > 1e-4)} more probable,")
print(f"{np.sum(gains < -1e-4)} less probable by beam search")
for name, found in (("greedy", greedy), ("5 beams", beam)):
    right = [
        words_of(tokens) in references[sentence]
        for sentence, tokens in zip(
            test_sources, found.tokens[:, 0], strict=True
        )
    ]
    print(f"{name:>8}: {np.mean(right):.1%} right")

# %% [markdown]
# ## Penalties
#
# A longer sequence multiplies more probabilities, so the search for the most
# probable one prefers what is short. Hypotheses are therefore ordered by
#
# $$s(y, x) = \frac{\log p(y \mid x)}{\left(\frac{5 + |y|}{6}\right)^{w}}
# + \beta \sum_j \log \min\Bigl(\sum_i \alpha_{ij}, 1\Bigr)$$
#
# (Wu et al. 2016, section 7, eq. 14): $w$ is `length_penalty`; $\beta$,
# `coverage_penalty`, costs what left source words unattended; $\alpha_{ij}$
# are the attention scores. The formula in NumPy, on the n-best list:

# %%
w, beta = 1.0, 0.2
penalized = decoder.generate(
    *read(SENTENCE), strategy=BeamSearch(6, w, beta, num_return=6), **OPTIONS
)
log_probabilities = decoder.score(penalized.tokens, *read(SENTENCE), **ends)
length_penalty = ((5 + np.array(penalized.lengths)) / 6) ** w
coverage = np.sum(penalized.attention_scores, axis=2)  # batch beams source
coverage_penalty = np.sum(np.log(np.clip(coverage, 1e-9, 1)), axis=-1)
expected = log_probabilities / length_penalty + beta * coverage_penalty
np.testing.assert_allclose(penalized.scores, expected, atol=1e-4)
show(penalized)

# %% [markdown]
# What they are good for shows where a model is unsure. This one has learnt
# single sentences; it is given two at once, and leaves out much. The more
# beams, the more probable and the shorter is what is found; the penalties work
# against it.

# %%
doubled, expected = (
    [f"{one} {other}" for one, other in zip(side[:60], side[60:], strict=True)]
    for side in zip(*test[:120], strict=True)
)
encoded = read(*doubled)
strategies = {
    "greedy": GreedySearch(),
    "5 beams": BeamSearch(5),
    "20 beams": BeamSearch(20),
    "5 beams, length_penalty=1": BeamSearch(5, length_penalty=1.0),
    "5 beams, coverage_penalty=0.2": BeamSearch(5, coverage_penalty=0.2),
}
tokens = {
    name: decoder.generate(*encoded, strategy=strategy, **OPTIONS).tokens[:, 0]
    for name, strategy in strategies.items()
}
print(f"{np.mean([len(split(one)) for one in expected]):.1f} words are right")
for name, found in tokens.items():
    length = np.mean([len(words_of(row)) for row in found])
    score = np.mean(decoder.score(found, *encoded, **ends))
    print(f"{name:>30}: {length:4.1f} words, log-probability {score:5.2f}")

# %% [markdown]
# The first sentences where the coverage penalty chose another translation:

# %%
plain, covering = tokens["5 beams"], tokens["5 beams, coverage_penalty=0.2"]
changed = np.flatnonzero(np.any(plain != covering, axis=1))
for row in changed[:3]:
    print(doubled[row])
    print("  without:", " ".join(words_of(plain[row])))
    print("  with:   ", " ".join(words_of(covering[row])))

# %% [markdown]
# ## What may not be said
#
# Constraints belong to decoding, so every strategy keeps to them. A score
# stays the probability that the model gives: what is forbidden makes the rest
# no more probable. Nor does it make the model wiser: where it would have ended,
# it must say something.

# %%
pronouns = [i for i, word in enumerate(spanish) if word in ("Ellos", "Ellas")]
CONSTRAINTS = [
    {"min_length": 9},  # the end token counts
    {"forbidden_tokens": [*OPTIONS["forbidden_tokens"], *pronouns]},
    {"min_length": 15, "max_length": 15},
    {"min_length": 15, "max_length": 15, "no_repeat_ngram_size": 2},
]
for constraint in CONSTRAINTS:
    print(constraint)
    options = OPTIONS | constraint
    constrained = decoder.generate(
        *read(SENTENCE), strategy=BeamSearch(5), **options
    )
    show(constrained)

# %% [markdown]
# ## What each hypothesis looked at
#
# The attention scores of a result follow its hypotheses through all beams:
# each picture belongs to the sentence beside it.

# %%
sentence = "Does she want to buy the red house?"
looked = decoder.generate(
    *read(sentence), strategy=BeamSearch(6, num_return=3), **OPTIONS
)
show(looked)
figure, axes = plt.subplots(1, 3, figsize=(15, 4), layout="constrained")
for ax, scores, tokens in zip(
    axes, looked.attention_scores[0], looked.tokens[0], strict=True
):
    keras_attention.plot_attention(
        scores, [*split(sentence), "</s>"], words_of(tokens), ax=ax
    )
    ax.set_ylabel("written")
    ax.set_xlabel("read")
plt.show()

# %% [markdown]
# ## A step of your own
#
# `decode` is the loop behind `generate`, for any model that takes one step:
# from the last tokens and a state to logits, the next state, and attention
# scores or None. The smallest such model: which Spanish word follows which,
# counted.

# %%
counts = np.full((len(spanish), len(spanish)), 1e-3)
real = targets != PADDING
np.add.at(counts, (written[real], targets[real]), 1)
follows = ops.log(counts / counts.sum(axis=1, keepdims=True))
follows = ops.cast(follows, "float32")


def next_word(tokens, state):
    return ops.take(follows, tokens, axis=0), state, None


for strategy in (RandomSampling(seed=2), RandomSampling(seed=3), BeamSearch(5)):
    show(
        keras_attention.decode(
            next_word, [], batch_size=1, strategy=strategy, **OPTIONS
        )
    )

# %% [markdown]
# The decoder's own step is `decoder.take_step`. So two models can write
# together: the translator says what is meant, and the counts, with a weight,
# what is Spanish (shallow fusion, Gulcehre et al. 2015, section 4.1). Counts
# prefer frequent words; a weight is tuned on the validation part. With
# `num_beams` beams there are so many rows for each sentence, and the source
# is repeated. Without a weight the result is that of `generate`.


# %%
def translate_together(sentence, weight, num_beams=5):
    rows = np.repeat(as_ids([sentence], english), num_beams, axis=0)
    memory, memory_mask, state = encode(rows)
    prepared = decoder.rnn.cell.prepare_memory(memory, memory_mask)

    def step(tokens, states):
        logits, states, scores = decoder.take_step(tokens, states, prepared)
        logits = ops.log_softmax(logits)
        logits += weight * ops.take(follows, tokens, axis=0)
        return logits, states, scores[0]

    strategy = BeamSearch(num_beams, num_return=2)
    return keras_attention.decode(
        step, state, batch_size=1, strategy=strategy, **OPTIONS
    )


show(translate_together(SENTENCE, weight=0.2))
alone = decoder.generate(
    *read(SENTENCE), strategy=BeamSearch(5, num_return=2), **OPTIONS
)
np.testing.assert_array_equal(
    translate_together(SENTENCE, weight=0.0).tokens, alone.tokens
)

# %% [markdown]
# ## In a graph
#
# The loop runs in the graph, and stops when all sentences have ended. One
# trace serves all batches and all lengths.


# %%
@tf.function(input_signature=[tf.TensorSpec([None, None], "int32")])
def translate(source):
    return decoder.generate(
        *encode(source), strategy=BeamSearch(6, num_return=6), **OPTIONS
    )


in_graph = translate(as_ids([SENTENCE], english))
np.testing.assert_array_equal(in_graph.tokens, beams.tokens)
np.testing.assert_allclose(in_graph.scores, beams.scores, atol=1e-4)
print(f"{translate.experimental_get_tracing_count()} trace")

# %% [markdown]
# ## Serving
#
# From here on the translator is that of tutorial 03, from Spanish to English.
# It has been exported with decoding inside. If there is no such run yet, it
# is made now; in a terminal the command is
# `python 03_spanish_to_english.py` in this folder.

# %%
if not Path(run, "results.json").exists():
    command = [sys.executable, "03_spanish_to_english.py", "--output", run]
    subprocess.run(command, check=True)
saved_model = tf.saved_model.load(str(Path(run, "saved_model")))
for name, function in saved_model.signatures.items():
    outputs = ", ".join(function.structured_outputs)
    print(f"{name:>26}: {outputs}")

# %% [markdown]
# The SavedModel takes strings and gives strings. This program is all that is
# needed to use it: TensorFlow and `tensorflow_text`, which splits sentences
# into pieces, and nothing of this library. It runs in a process of its own.


# %%
def run_python(*arguments):
    process = subprocess.run(
        [sys.executable, *arguments], capture_output=True, encoding="utf-8"
    )
    if process.returncode:
        raise RuntimeError(process.stderr)
    return process


PROGRAM = """
import sys
import tensorflow as tf
import tensorflow_text
model = tf.saved_model.load(sys.argv[1]).signatures["beam_search"]
results = model(sentences=tf.constant(sys.argv[2:]))
print(*[line.decode() for line in results["translations"].numpy()], sep="\\n")
print("keras_attention" in sys.modules)
"""
spanish_sentences = ["¿Dónde está la casa roja?", "Ella no quiere leerlas."]
process = run_python(
    "-c", PROGRAM, Path(run, "saved_model"), *spanish_sentences
)
*translations, uses_library = process.stdout.splitlines()
print(*translations, sep="\n")
print("uses keras_attention:", uses_library)

# %% [markdown]
# A whole file goes through `translate.py`: one translation a line, in the
# same order, in batches of similar length. Without `--input` and `--output`
# it reads and writes pipes.

# %%
with tempfile.TemporaryDirectory() as folder:
    given, made = Path(folder, "spanish.txt"), Path(folder, "english.txt")
    given_lines = [pair[1] for pair in test]
    given.write_text("\n".join(given_lines) + "\n", encoding="utf-8")
    files = ["--input", given, "--output", made]
    process = run_python("translate.py", run, *files, "--beam-search")
    made_lines = made.read_text(encoding="utf-8").splitlines()
print(process.stderr.splitlines()[-1])
for one, other in zip(given_lines[:5], made_lines[:5], strict=True):
    print(f"{one} -> {other}")

# %% [markdown]
# `serve.py` shows a page. In a terminal, `python serve.py runs/phrases`, then
# open the address that it prints. Programs ask the same server with JSON. Here
# it is started on a free port, asked, and stopped.


# %%
def ask(address, **request):
    body = json.dumps(request).encode()
    with urlopen(Request(f"{address}/translate", body)) as response:
        return json.load(response)


command = [sys.executable, "serve.py", run, "--port", "0"]
with subprocess.Popen(
    command,
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,  # its log
    encoding="utf-8",
) as server:
    try:
        address = server.stdout.readline().split()[1]
        with urlopen(address) as response:
            page = response.read().decode()
        answer = ask(address, sentence=spanish_sentences[0], beam_search=True)
    finally:
        server.terminate()
print(address, re.search("<title>(.*)</title>", page).group(1))
print(json.dumps(answer, ensure_ascii=False))

# %% [markdown]
# The attention scores in the answer are those between whole words, as the
# page shows them: the pieces of a word are put together.

# %%
ax = keras_attention.plot_attention(
    answer["attention_scores"],
    answer["source_words"],
    answer["target_words"],
)
ax.set_ylabel("written")
ax.set_xlabel("read")
plt.show()
# %% [markdown]
# All ways to ask give the same translation, and a file has a line for each
# line.

# %%
strings = tf.constant(spanish_sentences)
here = saved_model.signatures["beam_search"](sentences=strings)["translations"]
assert [line.decode() for line in here.numpy()] == translations
assert answer["translation"] == translations[0]
assert uses_library == "False"
assert len(made_lines) == len(given_lines)
