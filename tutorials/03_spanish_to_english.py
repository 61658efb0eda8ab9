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
# # Spanish to English: train a translator and export it
#
# This tutorial trains a recurrent translator with attention, looks at what
# it attends to, measures it, and exports it as a SavedModel that takes
# strings and returns strings. It is a script and a notebook at once. In a
# clone of the repository:
#
# ```
# pip install ".[tutorials]"
# python tutorials/03_spanish_to_english.py                   # built-in corpus
# python tutorials/03_spanish_to_english.py --corpus tatoeba  # real sentences
# ```
#
# In Colab, choose a GPU runtime and install in the same way; nothing else
# changes.

# %% [markdown]
# Everything comes from TensorFlow, Keras and this library; SentencePiece
# splits sentences into pieces, sacreBLEU measures translations.

# %%
import argparse
import io
import json
import math
import os
import shutil
import sys
import time
from pathlib import Path


os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # only what concerns us

import keras
import numpy as np
import sentencepiece
import tensorflow as tf
import tensorflow_text as tf_text
from sacrebleu.metrics import BLEU
from sacrebleu.metrics import CHRF
from tqdm import tqdm

import keras_attention
from keras_attention.datasets import spanish_english


# %% [markdown]
# ## Settings
#
# As a script it takes these options; in a notebook the defaults hold. A
# training ends after `--epochs` or after `--minutes`, whichever comes first.
# Given a time alone, it goes through the corpus as often as it can.

# %%
IN_NOTEBOOK = "ipykernel" in sys.modules


def make_parser():
    parser = argparse.ArgumentParser(description="Trains a translator.")
    add = parser.add_argument
    add("--corpus", choices=["phrases", "tatoeba"], default="phrases")
    add("--data", metavar="FILE", help="the Tatoeba zip, text or folder")
    add("--attention", choices=["bahdanau", "luong"], default="luong")
    add("--minutes", type=float, help="longest time to train")
    add("--epochs", type=int, help="most passes over the corpus")
    add("--units", type=int, help="width of the layers")
    add("--output", metavar="DIR", help="folder for all results")
    add("--overwrite", action="store_true", help="replace an older run")
    add("--seed", type=int, default=1)
    return parser


# %% [markdown]
# The built-in corpus is small, and a small model learns it in minutes.

# %%
EPOCHS = {"phrases": 4, "tatoeba": 8}
UNITS = {"phrases": 128, "tatoeba": 256}


def parse_settings():
    parser = make_parser()
    settings = parser.parse_args(["--overwrite"] if IN_NOTEBOOK else None)
    if settings.epochs is None:
        settings.epochs = 1000 if settings.minutes else EPOCHS[settings.corpus]
    if settings.units is None:
        settings.units = UNITS[settings.corpus]
    if min(settings.epochs, settings.units, settings.minutes or 1) <= 0:
        parser.error("--epochs, --minutes and --units must be more than 0")
    settings.output = Path(settings.output or f"runs/{settings.corpus}")
    return settings


# %% [markdown]
# A folder holds one run. An unfinished run with the same settings is taken
# up where it stopped; any other is kept unless `--overwrite` is given.


# %%
def open_output_folder(settings):
    def refuse(reason):
        raise SystemExit(f"The folder {folder} {reason}")

    folder = settings.output
    wanted = {k: str(v) for k, v in vars(settings).items() if k != "overwrite"}
    if folder.exists() and not folder.is_dir():
        refuse("is a file. Choose another --output.")
    if folder.exists() and any(folder.iterdir()):
        if not (folder / "settings.json").exists():
            refuse("holds other files. Choose a new one with --output.")
        found = json.loads((folder / "settings.json").read_text())
        finished = (folder / "results.json").exists()
        if found == wanted and not finished:
            return
        if not settings.overwrite:
            kind = "a finished run" if finished else "a run of other settings"
            refuse(f"holds {kind}. Use --overwrite, or another --output.")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(wanted, indent=2))


# %% [markdown]
# The seed fixes the weights, the dropout and the order of the sentences.

# %%
settings = parse_settings()
keras.utils.set_random_seed(settings.seed)

# %% [markdown]
# On a GPU, mixed precision halves the memory and doubles the speed; masks
# and the softmax of this library stay exact in it.

# %%
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    keras.config.set_dtype_policy("mixed_float16")
print(f"TensorFlow {tf.__version__}, Keras {keras.__version__}, GPUs: {gpus}")

# %% [markdown]
# ## The corpus
#
# `load_data` returns lists of (Spanish, English) pairs. No sentence of the
# test part, in either language, occurs in the training part.

# %%
try:
    train_pairs, validation_pairs, test_pairs = spanish_english.load_data(
        settings.corpus, path=settings.data
    )
except (OSError, ValueError) as error:
    raise SystemExit(f"The corpus could not be loaded. {error}") from error
open_output_folder(settings)
for name, part in [
    ("train", train_pairs),
    ("validation", validation_pairs),
    ("test", test_pairs),
]:
    print(f"{name:>10}: {len(part):7,} pairs, for example {part[0]}")

# %% [markdown]
# ## Pieces
#
# SentencePiece learns pieces from the training part, one vocabulary for each
# language. Nothing is normalised away: case, accents and punctuation come
# back exactly as they were. Ids 0 to 3 are padding, start, end, unknown.

# %%
PADDING, START, END, UNKNOWN = range(4)
VOCABULARY_SIZE = {"phrases": 1000, "tatoeba": 6000}[settings.corpus]

# %% [markdown]
# `tensorflow_text` runs the pieces inside the graph, there and back. Without
# names of their own, two tokenizers get mixed up when a SavedModel is loaded
# again (tensorflow/text#1304).


# %%
def train_pieces(sentences, name):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=model,
        vocab_size=VOCABULARY_SIZE,
        hard_vocab_limit=False,  # a small corpus may not have as many
        character_coverage=1.0,
        normalization_rule_name="identity",
        pad_id=PADDING,
        bos_id=START,
        eos_id=END,
        unk_id=UNKNOWN,
        minloglevel=2,
    )
    return tf_text.SentencepieceTokenizer(model.getvalue(), name=name)


spanish_pieces = train_pieces([pair[0] for pair in train_pairs], "spanish")
english_pieces = train_pieces([pair[1] for pair in train_pairs], "english")

# %% [markdown]
# A sentence as ids, as pieces, and put together again:

# %%
example = english_pieces.tokenize("The red house isn't mine.")
print(example.numpy())
print([p.decode() for p in english_pieces.id_to_string(example).numpy()])
print(english_pieces.detokenize(example).numpy().decode())

# %% [markdown]
# Every source ends with the end token, so that even an empty one has
# something to read; every target has the start token before it, too. Longer
# sources are cut at `MAX_SOURCE` pieces.

# %%
MAX_SOURCE, MAX_TARGET = 250, 200


def tokens_of_sources(sentences):
    pieces = spanish_pieces.tokenize(sentences)[:, :MAX_SOURCE]
    end = tf.fill([tf.shape(sentences)[0], 1], END)
    return tf.concat([pieces, end], axis=1)  # batch (source_length)


def tokens_of_targets(sentences):
    pieces = english_pieces.tokenize(sentences)[:, : MAX_TARGET - 1]
    start = tf.fill([tf.shape(sentences)[0], 1], START)
    end = tf.fill([tf.shape(sentences)[0], 1], END)
    return tf.concat([start, pieces, end], axis=1)  # batch (target_length)


sources = tokens_of_sources(tf.constant([pair[0] for pair in train_pairs]))
targets = tokens_of_targets(tf.constant([pair[1] for pair in train_pairs]))

# %% [markdown]
# ## Batches
#
# Sentences of similar length share a batch, so that little of it is padding.
# The order is drawn anew for every epoch, from seed and epoch alone: a run
# that was interrupted goes on with the very same batches.

# %%
BATCH_SIZE = 64
BATCHES = len(train_pairs) // BATCH_SIZE
lengths = sources.row_lengths().numpy(), targets.row_lengths().numpy()


def batches(epoch, first=0):
    random = np.random.default_rng([settings.seed, epoch])
    left_out = random.integers(len(train_pairs) % BATCH_SIZE + 1)
    order = np.lexsort((random.random(len(train_pairs)), *lengths))
    order = order[left_out : left_out + BATCHES * BATCH_SIZE]
    order = order.reshape(BATCHES, BATCH_SIZE)
    random.shuffle(order)  # shuffles the batches, not what is in them
    dataset = tf.data.Dataset.from_tensor_slices(order[first:])
    return dataset.map(read_batch, tf.data.AUTOTUNE).prefetch(4)


def read_batch(rows):
    source = tf.gather(sources, rows).to_tensor(PADDING)
    target = tf.gather(targets, rows).to_tensor(PADDING)
    return source, target  # batch source_length, batch target_length


# %% [markdown]
# ## The model
#
# A bidirectional GRU reads the source; its outputs are the memory. Its last
# states become, through a bridge, the decoder's first. The mask goes along
# by hand: True marks a real token.

# %%
DROPOUT = 0.2


def make_embedding(vocabulary_size, units):
    return keras.Sequential(
        [
            keras.layers.Embedding(vocabulary_size, units),
            keras.layers.Dropout(DROPOUT),
        ]
    )


class Encoder(keras.layers.Layer):
    def __init__(self, vocabulary_size, units):
        super().__init__()
        self.embedding = make_embedding(vocabulary_size, units)
        gru = keras.layers.GRU(units, return_sequences=True, return_state=True)
        self.reader = keras.layers.Bidirectional(gru)
        self.bridge = keras_attention.StateBridge("dense", units=units)

    def call(self, source, training=False):
        mask = source != PADDING  # batch source_length
        embedded = self.embedding(source, training=training)
        memory, *states = self.reader(embedded, mask=mask, training=training)
        return memory, mask, self.bridge(states)


# %% [markdown]
# A GRU with attention writes the target: Bahdanau's looks at the memory
# before each step, Luong's after it.


# %%
def make_decoder(vocabulary_size, units):
    step = keras.layers.GRUCell(units)
    if settings.attention == "bahdanau":
        attention = keras_attention.BahdanauAttention(units)
        cell = keras_attention.BahdanauRNNCell(
            step, attention, output_context="residual"
        )
    else:
        attention = keras_attention.LuongAttention("general", scale="sqrt")
        cell = keras_attention.LuongRNNCell(
            step, attention, attentional_state="residual"
        )
    return keras_attention.AttentionDecoder(
        embedding=make_embedding(vocabulary_size, units),
        rnn=keras_attention.AttentionRNN(cell, return_sequences=True),
        output_layer=keras.Sequential(
            [
                keras.layers.Dropout(DROPOUT),
                keras.layers.Dense(vocabulary_size),
            ]
        ),
    )


# %% [markdown]
# In training the decoder is given the true words before each word; in use
# `generate` gives it its own.


# %%
class Translator(keras.Model):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def call(self, inputs, training=False):
        source, target = inputs
        memory, memory_mask, state = self.encoder(source, training=training)
        return self.decoder(
            target,
            memory,
            initial_state=state,
            mask=target != PADDING,
            memory_mask=memory_mask,
            training=training,
        )  # batch target_length vocabulary_size

    def generate(self, source):
        limits = {"end_token": END, "max_length": MAX_TARGET}
        return self.decoder.generate(
            *self.encoder(source), start_token=START, **limits
        )


# %% [markdown]
# The vocabularies came out as large as asked for, or smaller.

# %%
spanish_size = int(spanish_pieces.vocab_size())
english_size = int(english_pieces.vocab_size())
model = Translator(
    Encoder(spanish_size, settings.units),
    make_decoder(english_size, settings.units),
)
print(f"{spanish_size:,} Spanish and {english_size:,} English pieces")

# %% [markdown]
# ## Strings in, strings out
#
# What is exported later is used from the start: a module that holds pieces
# and model, and whose function takes any number of strings of any length. A
# line without a word gives an empty line.


# %%
class StringTranslator(tf.Module):
    def __init__(self):
        super().__init__()
        self.model = model
        self.pieces = spanish_pieces, english_pieces

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def translate(self, sentences):
        source = tokens_of_sources(sentences).to_tensor(PADDING)
        result = self.model.generate(source)
        tokens = result.tokens[:, 0]  # batch target_length
        words = tf.ragged.boolean_mask(tokens, tokens > UNKNOWN)
        translations = english_pieces.detokenize(words)
        is_empty = tf.strings.strip(sentences) == ""
        return {
            "translations": tf.where(is_empty, "", translations),
            "source_pieces": spanish_pieces.id_to_string(source),
            "target_pieces": english_pieces.id_to_string(tokens),
            "attention_scores": result.attention_scores[:, 0],
        }


translator = StringTranslator()

# %% [markdown]
# ## Measuring
#
# A source may have several right translations: pairs with the same source
# are grouped, and sacreBLEU compares a translation with all of them. It
# compares whole sentences, cased and with punctuation; no piece is left.


# %%
def translate_all(sentences, batch_size=128):
    order = np.argsort([len(sentence) for sentence in sentences])
    translations = np.empty(len(sentences), dtype=object)
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        results = translator.translate(
            tf.constant([sentences[i] for i in rows])
        )
        results = results["translations"].numpy()
        translations[rows] = [line.decode() for line in results]
    return list(translations)


# %% [markdown]
# sacreBLEU wants the first references of all sources in one list, the second
# ones in another, and None where a source has no more.


# %%
def group(pairs):
    grouped = {}
    for source, target in pairs:
        references = grouped.setdefault(source, [])
        if target not in references:
            references.append(target)
    return list(grouped), list(grouped.values())


def measure(metric, translations, references):
    columns = range(max(map(len, references)))
    streams = [
        [row[i] if i < len(row) else None for row in references]
        for i in columns
    ]
    return metric.corpus_score(translations, streams)


# %% [markdown]
# ## Training
#
# The loss is the mean cross-entropy per token, padding left out. Label
# smoothing keeps the model from staking everything on one word.

# %%
LABEL_SMOOTHING = 0.1


def smoothed_loss(logits, labels):
    logits = tf.cast(logits, tf.float32)
    weights = tf.cast(labels != PADDING, tf.float32)
    right = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    total = tf.reduce_logsumexp(logits, axis=-1)
    every = total - tf.reduce_mean(logits, axis=-1)  # mean over all words
    loss = (1 - LABEL_SMOOTHING) * right + LABEL_SMOOTHING * every
    return tf.reduce_sum(loss * weights) / tf.reduce_sum(weights)


# %% [markdown]
# One step, compiled to a graph once for batches of every shape.

# %%
optimizer = keras.optimizers.Adam(global_clipnorm=1.0)
if gpus:
    optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
batch_signature = [tf.TensorSpec([None, None], tf.int32)] * 2


@tf.function(input_signature=batch_signature)
def train_step(source, target):
    with tf.GradientTape() as tape:
        logits = model((source, target[:, :-1]), training=True)
        loss = smoothed_loss(logits, target[:, 1:])
        scaled = optimizer.scale_loss(loss)
    variables = model.trainable_variables
    optimizer.apply(tape.gradient(scaled, variables), variables)
    return loss


# %% [markdown]
# The learning rate rises for the first steps and then falls to zero by the
# end of the training, be that end a time or a number of epochs.

# %%
PEAK_RATE, WARM_UP = 3e-3, 300


def progress():
    share = int(run.step) / (settings.epochs * BATCHES)
    if settings.minutes:
        share = max(share, float(run.seconds) / (60 * settings.minutes))
    return min(share, 1.0)


def learning_rate():
    warm_up = min(1.0, (int(run.step) + 1) / WARM_UP)
    return PEAK_RATE * warm_up * (1 - progress())


# %% [markdown]
# A checkpoint holds weights, optimizer and counters. The last one is where
# an interrupted training goes on; the best one, by BLEU on the validation
# part, is what is kept in the end.


# %%
class Run(tf.Module):
    def __init__(self):
        super().__init__()
        self.step = tf.Variable(0)
        self.seconds = tf.Variable(0.0)
        self.best_bleu = tf.Variable(-1.0)
        self.worse_validations = tf.Variable(0)


run = Run()
model((tf.ones([1, 2], tf.int32), tf.ones([1, 2], tf.int32)))  # makes weights
optimizer.build(model.trainable_variables)
parts = {"model": model, "optimizer": optimizer, "run": run}
last, best = (
    tf.train.CheckpointManager(
        tf.train.Checkpoint(**parts), settings.output / name, max_to_keep=1
    )
    for name in ("last", "best")
)
if last.restore_or_initialize():
    print(f"Going on from the checkpoint at step {int(run.step):,}.")
print(f"{model.count_params():,} weights, {BATCHES:,} batches an epoch")

# %% [markdown]
# Validation translates a part of the validation pairs, as in use. When BLEU
# has not risen for `PATIENCE` validations, training stops.

# %%
VALIDATE_EVERY, PATIENCE = 1000, 4
validation = group(validation_pairs[:1000])


def validate():
    translations = translate_all(validation[0])
    bleu = measure(BLEU(), translations, validation[1]).score
    tqdm.write(f"step {int(run.step):,}: validation BLEU {bleu:.1f}")
    if bleu > run.best_bleu:
        run.best_bleu.assign(bleu)
        run.worse_validations.assign(0)
        best.save()
    else:
        run.worse_validations.assign_add(1)


# %% [markdown]
# Training shows a bar, and stops when its time is over or it gets no better.

# %%
CHECKPOINT_SECONDS = 20


def make_bar():
    return tqdm(
        total=100,
        initial=100 * progress(),
        bar_format="{l_bar}{bar}| {remaining} left{postfix}",
        mininterval=0.5 if sys.stderr.isatty() else 15,
    )


def is_over():
    return progress() >= 1 or int(run.worse_validations) >= PATIENCE


# %% [markdown]
# The loop itself. Killed at any moment, it loses the steps since the last
# checkpoint, some seconds of work.


# %%
def train():
    bar, clock, saved = make_bar(), time.time(), time.time()
    while not is_over():
        epoch, first = divmod(int(run.step), BATCHES)
        for source, target in batches(epoch, first):
            optimizer.learning_rate = learning_rate()
            loss = float(train_step(source, target))
            tokens = np.count_nonzero(target) / (time.time() - clock)
            text = f"loss {loss:.2f}, {tokens:,.0f} tokens/s"
            bar.set_postfix_str(text, refresh=False)
            run.step.assign_add(1)
            if int(run.step) % VALIDATE_EVERY == 0:
                validate()
            if time.time() - saved > CHECKPOINT_SECONDS:
                last.save()
                saved = time.time()
            run.seconds.assign_add(time.time() - clock)
            clock = time.time()
            bar.update(100 * progress() - bar.n)
            if is_over():
                break


# %% [markdown]
# In the end the weights of the best validation are back in the model.

# %%
train()
validate()
best.restore_or_initialize()
print(f"kept: step {int(run.step):,}, BLEU {float(run.best_bleu):.1f}")

# %% [markdown]
# ## Results
#
# BLEU and chrF on the test part, which nothing has looked at so far.

# %%
test_sources, test_references = group(test_pairs)
started = time.time()
test_translations = translate_all(test_sources)
speed = len(test_sources) / (time.time() - started)
metrics = {"BLEU": BLEU(), "chrF": CHRF()}
scores = {
    name: measure(metric, test_translations, test_references).score
    for name, metric in metrics.items()
}
for name, metric in metrics.items():
    print(f"{name} {scores[name]:.2f}  {metric.get_signature()}")
print(f"{len(test_sources):,} sentences, {speed:,.0f} a second")

# %% [markdown]
# All translations are kept beside the scores, one line each: source,
# translation, references.

# %%
with open(settings.output / "test.tsv", "w", encoding="utf-8") as file:
    for index, translation in enumerate(test_translations):
        row = [test_sources[index], translation, *test_references[index]]
        file.write("\t".join(row) + "\n")
for index in np.linspace(0, len(test_sources) - 1, 10, dtype=int):
    print(f"{test_sources[index]}\n    -> {test_translations[index]}")
    print(f"     ( {test_references[index][0]} )")

# %% [markdown]
# ## What it looks at
#
# Every row is a piece of the translation, every column a piece of the
# source. Spanish puts the adjective after the noun, English before it: the
# dark cells cross there.

# %%
SENTENCE = {
    "phrases": "¿Dónde está la casa roja?",
    "tatoeba": "Todavía no he visto la casa blanca de mi hermana.",
}[settings.corpus]
looked = translator.translate(tf.constant([SENTENCE]))
source_pieces, target_pieces = (
    [piece.decode() for piece in looked[name][0].numpy()]
    for name in ("source_pieces", "target_pieces")
)
target_pieces = target_pieces[: target_pieces.index("</s>") + 1]
ax = keras_attention.plot_attention(
    looked["attention_scores"][0], source_pieces, target_pieces
)
plot_path = settings.output / "attention.png"
ax.figure.savefig(plot_path, dpi=150)
print(looked["translations"][0].numpy().decode())
print(f"attention plot: {plot_path}")

# %% [markdown]
# ## Export
#
# The SavedModel needs TensorFlow and `tensorflow_text` to run, and nothing
# of this library. Its default signature takes strings and returns strings.


# %%
class Exported(tf.Module):
    def __init__(self):
        super().__init__()
        self.translator = translator

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def serve(self, sentences):
        results = self.translator.translate(sentences)
        return {"translations": results["translations"]}


exported = Exported()
export_path = settings.output / "saved_model"
tf.saved_model.save(
    exported,
    str(export_path),
    signatures={
        "serving_default": exported.serve,
        "translate_with_attention": translator.translate,
    },
)

# %% [markdown]
# The reloaded model gives the same strings, also for what is not Spanish.

# %%
reloaded = tf.saved_model.load(str(export_path))
serve = reloaded.signatures["serving_default"]
odd = ["", " ", "¿" * 300, "😀 ok", "árbol " * 200]
lines = tf.constant([*test_sources[:59], *odd])
again = serve(sentences=lines)["translations"].numpy()
assert list(again) == list(translator.translate(lines)["translations"].numpy())
assert again[59] == again[60] == b""
print(f"SavedModel: {export_path}")

# %% [markdown]
# The results mark the run as finished.

# %%
results = {
    **scores,
    "signatures": {k: str(m.get_signature()) for k, m in metrics.items()},
    "steps": int(run.step),
    "seconds": float(run.seconds),
    "sentences_per_second": speed,
}
text = json.dumps(results, indent=2)
(settings.output / "results.json").write_text(text)
print(text)
assert all(math.isfinite(score) for score in scores.values())
