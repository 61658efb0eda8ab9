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
# What Python brings along:

# %%
import argparse
import contextlib
import dataclasses
import fcntl
import io
import json
import math
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path


# %% [markdown]
# The rest comes from TensorFlow, Keras and this library; SentencePiece
# splits sentences into pieces. `evaluation.py`, beside this file, measures
# translations with sacreBLEU and draws the curves.

# %%
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # only what concerns us

import evaluation
import keras
import numpy as np
import sentencepiece
import tensorflow as tf
import tensorflow_text as tf_text
from tqdm import tqdm

import keras_attention
from keras_attention.datasets import spanish_english


# %% [markdown]
# ## Settings
#
# As a script it takes the options below. In a notebook write them here, as on
# a command line, for example `["--corpus", "tatoeba", "--minutes", "20"]`.

# %% tags=["parameters"]
arguments = ["--overwrite"] if "ipykernel" in sys.modules else sys.argv[1:]

# %% [markdown]
# A training ends after `--epochs` or after `--minutes`, whichever comes first.
# Given a time alone, it goes through the corpus as often as it can.


# %%
def make_parser():
    parser = argparse.ArgumentParser(description="Trains a translator.")
    add = parser.add_argument
    add("--corpus", choices=["phrases", "tatoeba"], default="phrases")
    add("--data", metavar="FILE", help="the Tatoeba zip, text or folder")
    add("--sentences", type=int, metavar="N", help="train on N pairs only")
    add("--attention", choices=["bahdanau", "luong"], default="luong")
    add("--minutes", type=float, help="longest time to train")
    add("--epochs", type=int, help="most passes over the corpus")
    add("--units", type=int, help="width of the layers")
    add("--dropout", type=float, default=0.2)
    add("--seed", type=int, default=1)
    add("--output", metavar="DIR", help="folder for all results")
    add("--overwrite", action="store_true", help="replace an older run")
    add("--checkpoint-seconds", type=float, default=20, metavar="N")
    add_options_of_devices(add)
    add("--evaluate", metavar="DIR", help="measure a finished run, no more")
    add(
        "--align",
        metavar="FILE",
        help="with --evaluate: sentences with links, or phrases",
    )
    return parser


# %% [markdown]
# What it runs on: the precision is chosen by the device unless given, and one
# device is used unless a strategy is named. `mirrored` takes all GPUs, or as
# many parts of the CPU as `--cpu-devices` says; `multiworker` takes the
# processes that the variable `TF_CONFIG` lists, started with the same options.

# %%
PRECISIONS = ["float32", "bfloat16", "float16"]


def add_options_of_devices(add):
    add("--precision", choices=PRECISIONS, help="of the layers' arithmetic")
    add("--jit-compile", action="store_true", help="compile the step with XLA")
    add("--strategy", choices=["one", "mirrored", "multiworker"], default="one")
    add("--cpu-devices", type=int, default=1, help="to try mirrored on a CPU")


# %% [markdown]
# The built-in corpus is small, and a small model learns it in minutes.

# %%
EPOCHS = {"phrases": 4, "tatoeba": 8}
UNITS = {"phrases": 128, "tatoeba": 256}


def parse_settings():
    parser = make_parser()
    settings = parser.parse_args(arguments)
    if settings.epochs is None:
        settings.epochs = 1000 if settings.minutes else EPOCHS[settings.corpus]
    if settings.units is None:
        settings.units = UNITS[settings.corpus]
    check(settings, parser.error)
    settings.output = Path(settings.output or f"runs/{settings.corpus}")
    return settings


# %% [markdown]
# Settings that cannot be meant are refused.


# %%
def check(settings, refuse):
    numbers = settings.epochs, settings.units, settings.cpu_devices
    if min(*numbers, settings.minutes or 1) <= 0:
        refuse(
            "--epochs, --minutes, --units and --cpu-devices must be more than 0"
        )
    if settings.sentences is not None and settings.sentences < 1000:
        refuse("--sentences must be at least 1000: pieces are made of them")
    if not 0 <= settings.dropout < 1:
        refuse("--dropout must be at least 0 and less than 1")
    if settings.align and not settings.evaluate:
        refuse("--align needs --evaluate DIR, a finished run")
    if settings.jit_compile and settings.strategy != "one":
        refuse("--jit-compile works with --strategy one only")


# %% [markdown]
# The seed fixes the weights, the dropout and the order of the sentences. A
# run that is finished can be measured again, without training.

# %%
settings = parse_settings()
if settings.evaluate:
    raise SystemExit(
        evaluation.report(settings.evaluate, settings.data, settings.align)
    )
keras.utils.set_random_seed(settings.seed)

# %% [markdown]
# ## Devices
#
# With several devices each takes its share of every batch, and the gradients
# are added: the same training, only faster.


# %%
def make_strategy():
    if settings.strategy == "multiworker":
        if "TF_CONFIG" not in os.environ:
            raise SystemExit(
                "--strategy multiworker needs the variable TF_CONFIG: a JSON "
                'object with "cluster" and "task" (see the guide to '
                "tf.distribute). It is not set."
            )
        return tf.distribute.MultiWorkerMirroredStrategy()
    if settings.strategy == "mirrored":
        if gpus:
            return tf.distribute.MirroredStrategy()
        parts = [tf.config.LogicalDeviceConfiguration()] * settings.cpu_devices
        (cpu,) = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(cpu, parts)
        names = [
            device.name for device in tf.config.list_logical_devices("CPU")
        ]
        return tf.distribute.MirroredStrategy(names)
    return tf.distribute.get_strategy()


# %% [markdown]
# On a GPU, mixed precision halves the memory and doubles the speed; masks
# and the softmax of this library stay exact in it.

# %%
gpus = tf.config.list_physical_devices("GPU")
strategy = make_strategy()
if settings.precision is None:
    settings.precision = "float16" if gpus else "float32"
if settings.precision != "float32":
    keras.config.set_dtype_policy(f"mixed_{settings.precision}")
print(f"TensorFlow {tf.__version__}, Keras {keras.__version__}")
kind = "GPU" if gpus else "CPU"
devices = [device.name for device in tf.config.list_logical_devices(kind)]
print(
    f"{settings.precision} on {', '.join(devices)}; "
    f"{strategy.num_replicas_in_sync} share a batch"
)

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
if settings.sentences:  # to try things out
    train_pairs = train_pairs[: settings.sentences]
    validation_pairs = validation_pairs[: settings.sentences // 40]
    test_pairs = test_pairs[: settings.sentences // 40]
for name, part in [
    ("train", train_pairs),
    ("validation", validation_pairs),
    ("test", test_pairs),
]:
    print(f"{name:>10}: {len(part):7,} pairs, for example {part[0]}")

# %% [markdown]
# ## The folder of the run
#
# Whatever is written can fail, for a disk may be full. Then training ends
# with a word about it, and its last checkpoint is whole.


# %%
@contextlib.contextmanager
def writing(what):
    try:
        yield
    except (OSError, tf.errors.OpError) as error:
        raise SystemExit(
            f"{what} could not be written to {settings.output}: {error}\n"
            "What was written before is kept. When the reason is mended, the "
            "same command goes on from the last checkpoint."
        ) from error


def write_text(name, text):
    """Writes a whole file or none."""
    with writing(name):
        path = settings.output / name
        path.with_suffix(".part").write_text(text, encoding="utf-8")
        path.with_suffix(".part").replace(path)


# %% [markdown]
# A folder holds one run. An unfinished run with the same settings is taken
# up where it stopped; any other is kept unless `--overwrite` is given. While
# a run goes on, its folder is locked.


# %%
def open_output_folder(folder):
    def refuse(reason):
        raise SystemExit(f"The folder {folder} {reason}")

    wanted = {k: str(v) for k, v in vars(settings).items()}
    for name in ("output", "overwrite", "checkpoint_seconds"):
        del wanted[name]  # may change from one start to the next
    if folder.exists() and not folder.is_dir():
        refuse("is a file. Choose another --output.")
    with writing("The folder"):
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY)  # held until the process ends
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        refuse("is in use by another run. Choose another --output.")
    found = [path for path in folder.iterdir() if path.suffix != ".part"]
    if found and not is_unfinished(folder, wanted, refuse):
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    write_text("settings.json", json.dumps(wanted, indent=2))


# %% [markdown]
# What was found in a folder decides: go on, begin anew, or leave it alone.


# %%
def is_unfinished(folder, wanted, refuse):
    if not (folder / "settings.json").exists():
        refuse("holds other files. Choose a new one with --output.")
    found = json.loads((folder / "settings.json").read_text())
    finished = (folder / "results.json").exists()
    if found == wanted and not finished:
        return True
    if not settings.overwrite:
        kind = "a finished run" if finished else "a run of other settings"
        refuse(f"holds {kind}. Use --overwrite, or another --output.")
    return False


# %% [markdown]
# Of several processes only the first one's results are kept: what the others
# write goes to a folder that is removed in the end.

# %%
checkpoints_from = settings.output
resolver = strategy.cluster_resolver
if resolver and resolver.task_id > 0:
    others_folder = tempfile.TemporaryDirectory()
    settings.output = Path(others_folder.name) / "run"
open_output_folder(settings.output)

# %% [markdown]
# ## Pieces
#
# SentencePiece learns pieces from the training part, one vocabulary for each
# language. Nothing is normalised away: case, accents and punctuation come
# back exactly as they were. Ids 0 to 3 are padding, start, end, unknown.

# %%
PADDING, START, END, UNKNOWN = range(4)
VOCABULARY_SIZE = {"phrases": 1000, "tatoeba": 4000}[settings.corpus]

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
# sources are cut at `MAX_SOURCE` pieces; no piece has more than 16 letters of
# four bytes, so what is beyond `MAX_BYTES` need not even be looked at.

# %%
MAX_SOURCE, MAX_TARGET = 250, 200
MAX_BYTES = MAX_SOURCE * 16 * 4


def tokens_of_sources(sentences):
    sentences = tf.strings.substr(sentences, 0, MAX_BYTES)
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


def rows_of_batches(epoch):
    random = np.random.default_rng([settings.seed, epoch])
    left_out = random.integers(len(train_pairs) % BATCH_SIZE + 1)
    order = np.lexsort((random.random(len(train_pairs)), *lengths))
    order = order[left_out : left_out + BATCHES * BATCH_SIZE]
    order = order.reshape(BATCHES, BATCH_SIZE)
    random.shuffle(order)  # shuffles the batches, not what is in them
    return order


# %% [markdown]
# XLA compiles anew for every shape, so with it lengths are rounded up to a
# multiple of `BUCKET`. Each row brings the share of a token in its batch: the
# sum over all tokens, on whichever device they lie, is then the mean.

# %%
BUCKET = 8 if settings.jit_compile else 1


def pad(tokens):
    length = -(-tf.reduce_max(tokens.row_lengths()) // BUCKET) * BUCKET
    return tokens.to_tensor(PADDING, shape=tf.stack([BATCH_SIZE, length]))


def read_batch(rows):
    source, target = pad(tf.gather(sources, rows)), tf.gather(targets, rows)
    tokens = tf.reduce_sum(target.row_lengths() - 1)  # none for the start
    share = tf.fill(tf.shape(rows), 1 / tf.cast(tokens, tf.float32))
    return source, pad(target), share  # batch length, batch length, batch


# %% [markdown]
# One stream of batches serves the whole training, made while the step before
# is computed. (A new iterator for each epoch can hold a process up for half a
# minute when the old one is taken down.)


# %%
def batches(step):
    def rows():
        epoch, first = divmod(step, BATCHES)
        while True:
            yield from rows_of_batches(epoch)[first:]
            epoch, first = epoch + 1, 0

    signature = tf.TensorSpec([BATCH_SIZE], tf.int64)
    dataset = tf.data.Dataset.from_generator(rows, output_signature=signature)
    dataset = dataset.map(read_batch, tf.data.AUTOTUNE).prefetch(4)
    return iter(strategy.experimental_distribute_dataset(dataset))


# %% [markdown]
# ## The model
#
# A bidirectional GRU reads the source; its outputs are the memory. Its last
# states become, through a bridge, the decoder's first. The mask goes along
# by hand: True marks a real token.


# %%
def make_embedding(vocabulary_size, units):
    return keras.Sequential(
        [
            keras.Input([None], dtype="int32"),  # half precision has no 257
            keras.layers.Embedding(vocabulary_size, units),
            keras.layers.Dropout(settings.dropout),
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
        output_layer=keras.layers.Dense(vocabulary_size),
        dropout=settings.dropout,
    )


# %% [markdown]
# In training the decoder is given the true words before each word; in use
# `generate` gives it its own, from the start token to the end token. A model
# may come to repeat itself without end: no translation becomes longer than
# twice its source and ten pieces, whatever shares its batch.


# %%
def limits(source):
    source_lengths = tf.math.count_nonzero(source != PADDING, axis=1)
    return {
        "start_token": START,
        "end_token": END,
        "forbidden_tokens": (PADDING, START, UNKNOWN),
        "max_length": MAX_TARGET,
        "length_limits": 2 * source_lengths + 10,
    }


# %% [markdown]
# The whole model reads a source and a target, and predicts every next piece.


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

    def generate(self, source, search, with_attention):
        return self.decoder.generate(
            *self.encoder(source),
            strategy=search,
            return_attention_scores=with_attention,
            **limits(source),
        )


# %% [markdown]
# The vocabularies came out as large as asked for, or smaller.

# %%
spanish_size = int(spanish_pieces.vocab_size())
english_size = int(english_pieces.vocab_size())
with strategy.scope():
    model = Translator(
        Encoder(spanish_size, settings.units),
        make_decoder(english_size, settings.units),
    )
    ones = tf.ones([1, 2], tf.int32)
    model((ones, ones))  # makes the weights
print(f"{spanish_size:,} Spanish and {english_size:,} English pieces")
print(f"{model.count_params():,} weights, {BATCHES:,} batches an epoch")

# %% [markdown]
# ## Strings in, strings out
#
# What is exported later is used from the start: functions that take any
# number of strings of any length and any bytes. A line without a word gives
# an empty line.

# %%
STRINGS = tf.TensorSpec([None], tf.string)


def make_translate(search, with_attention):
    @tf.function(input_signature=[STRINGS])
    def translate(sentences):
        source = tokens_of_sources(sentences).to_tensor(PADDING)
        result = model.generate(source, search, with_attention)
        tokens = result.tokens[:, 0]  # batch target_length
        words = tf.ragged.boolean_mask(tokens, tokens > UNKNOWN)
        translations = english_pieces.detokenize(words)
        is_empty = tf.strings.strip(sentences) == ""
        results = {"translations": tf.where(is_empty, "", translations)}
        if with_attention:
            results["source_pieces"] = spanish_pieces.id_to_string(source)
            results["target_pieces"] = english_pieces.id_to_string(tokens)
            results["attention_scores"] = result.attention_scores[:, 0]
        return results

    return translate


# %% [markdown]
# Greedy search takes the most probable piece at every step; beam search
# follows several hypotheses at once. A length penalty keeps it from liking
# short sentences too well.

# %%
LENGTH_PENALTY = 1.0
greedy_search = keras_attention.GreedySearch()
beam_search = keras_attention.BeamSearch(5, length_penalty=LENGTH_PENALTY)
functions = {
    "serving_default": make_translate(greedy_search, False),
    "beam_search": make_translate(beam_search, False),
    "translate_with_attention": make_translate(greedy_search, True),
    "beam_search_with_attention": make_translate(beam_search, True),
}

# %% [markdown]
# Given both sentences, the model can tell what it looks at for each piece of
# the translation. The same layers again, now with their attention scores:

# %%
looking_rnn = keras_attention.AttentionRNN(
    model.decoder.rnn.cell, return_sequences=True, return_attention_scores=True
)


@tf.function(input_signature=[STRINGS, STRINGS])
def align(sources, targets):
    source = tokens_of_sources(sources).to_tensor(PADDING)
    target = tokens_of_targets(targets).to_tensor(PADDING)
    memory, memory_mask, state = model.encoder(source)
    _, attention_scores = looking_rnn(
        model.decoder.embedding(target[:, :-1]),
        memory,
        initial_state=state,
        mask=target[:, 1:] != PADDING,
        memory_mask=memory_mask,
    )
    return {
        "source_pieces": spanish_pieces.id_to_string(source),
        "target_pieces": english_pieces.id_to_string(target[:, 1:]),
        "attention_scores": attention_scores,
    }


functions["align"] = align

# %% [markdown]
# A batch takes as long as its longest sentence. Who translates a whole file
# sorts it by the number of pieces first; this is what counts them.


# %%
@tf.function(input_signature=[STRINGS])
def count_pieces(sentences):
    return {"pieces": tokens_of_sources(sentences).row_lengths()}


functions["count_pieces"] = count_pieces

# %% [markdown]
# ## Training
#
# The loss is the mean cross-entropy per token, padding left out. Label
# smoothing keeps the model from staking everything on one word.

# %%
LABEL_SMOOTHING = 0.1


def smoothed_loss(logits, labels, share):
    weights = tf.cast(labels != PADDING, tf.float32) * share[:, None]
    every = LABEL_SMOOTHING / english_size  # what each word gets
    wanted = tf.one_hot(
        labels, english_size, 1 - LABEL_SMOOTHING + every, every
    )
    logits = tf.cast(logits, tf.float32)
    losses = tf.nn.softmax_cross_entropy_with_logits(wanted, logits)
    return tf.reduce_sum(losses * weights)


# %% [markdown]
# One step. Every device computes the gradient of its own rows; the optimizer
# adds them up.

# %%
with strategy.scope():
    optimizer = keras.optimizers.Adam()
    if settings.precision == "float16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    optimizer.build(model.trainable_variables)


def train_on_rows(source, target, share):
    with tf.GradientTape() as tape:
        logits = model((source, target[:, :-1]), training=True)
        loss = smoothed_loss(logits, target[:, 1:], share)
        scaled = optimizer.scale_loss(loss)
    variables = model.trainable_variables
    optimizer.apply(tape.gradient(scaled, variables), variables)
    return loss


# %% [markdown]
# What a run has come to, beside its weights. It is kept in the checkpoints.


# %%
@dataclasses.dataclass(eq=False)
class Run(tf.train.experimental.PythonState):
    step: int = 0
    seconds: float = 0.0
    best_bleu: float = -1.0
    worse_validations: int = 0
    history: list = dataclasses.field(default_factory=list)

    def serialize(self):
        return json.dumps(dataclasses.asdict(self))

    def deserialize(self, text):
        vars(self).update(json.loads(text))


run = Run()

# %% [markdown]
# The learning rate rises for the first steps and then falls to zero by the
# end of the training, be that end a time or a number of epochs.

# %%
PEAK_RATE, WARM_UP = 3e-3, 300


def progress():
    share = run.step / (settings.epochs * BATCHES)
    if settings.minutes:
        share = max(share, run.seconds / (60 * settings.minutes))
    return min(share, 1.0)


def learning_rate():
    warm_up = min(1.0, (run.step + 1) / WARM_UP)
    return PEAK_RATE * warm_up * (1 - progress())


# %% [markdown]
# A checkpoint holds weights, optimizer, the state of the dropout, and the
# run. The last one is where an interrupted training goes on; the best one, by
# BLEU on the validation part, is what is kept in the end.

# %%
parts = {
    "model": model,
    "optimizer": optimizer,
    "dropout": [seed.value for seed in model.non_trainable_variables],
    "run": run,
}
last, best = (
    tf.train.CheckpointManager(
        tf.train.Checkpoint(**parts), settings.output / name, max_to_keep=1
    )
    for name in ("last", "best")
)
found = tf.train.latest_checkpoint(checkpoints_from / "last")
if found:
    last.checkpoint.restore(found).assert_consumed()
    print(f"Going on from the checkpoint at step {run.step:,}.")


def save(manager):
    with writing("A checkpoint"):
        manager.save()


# %% [markdown]
# The step is traced to a graph once, for batches of every shape.

# %%
stream = batches(run.step)


@tf.function(
    input_signature=[stream.element_spec],
    jit_compile=settings.jit_compile or None,
)
def train_step(batch):
    losses = strategy.run(train_on_rows, args=batch)
    return strategy.reduce("sum", losses, axis=None)


# %% [markdown]
# Validation translates a part of the validation pairs, as in use. When BLEU
# has not risen for `PATIENCE` validations, training stops.

# %%
VALIDATE_EVERY, PATIENCE = 1000, 4
validation = evaluation.group(validation_pairs[:1000])


def record(**values):
    now = {"step": run.step, "seconds": round(run.seconds, 1)}
    run.history.append(now | values)


def validate():
    translations = evaluation.translate_all(
        functions["serving_default"], validation[0]
    )
    bleu = evaluation.bleu(translations, validation[1])
    tqdm.write(f"step {run.step:,}: validation BLEU {bleu:.1f}")
    record(bleu=bleu)
    run.worse_validations += 1
    if bleu > run.best_bleu:
        run.best_bleu, run.worse_validations = bleu, 0
        save(best)


# %% [markdown]
# Training shows a bar, and stops when its time is over or it gets no better.
# Several processes must stop at the same step, so they agree on the time.

# %%
REPORT_EVERY = 20


def make_bar():
    return tqdm(
        total=100,
        initial=100 * progress(),
        bar_format="{l_bar}{bar}| {remaining} left{postfix}",
        mininterval=0.5 if sys.stderr.isatty() else 15,
    )


def is_over():
    return progress() >= 1 or run.worse_validations >= PATIENCE


@tf.function(input_signature=[tf.TensorSpec([])])
def agree(seconds):
    return strategy.reduce("mean", strategy.run(lambda: seconds), axis=None)


# %% [markdown]
# Between two reports the steps follow each other without waiting for a
# result, so that a GPU always has work.


# %%
def take_steps():
    losses = []
    while not losses or (run.step % REPORT_EVERY and progress() < 1):
        optimizer.learning_rate = learning_rate()
        losses.append(train_step(next(stream)))
        run.step += 1
    return losses


# %% [markdown]
# The loop itself. Killed at any moment, it loses the steps since the last
# checkpoint, some seconds of work.


# %%
def train():
    bar, clock, saved = make_bar(), time.time(), time.time()
    while not is_over():
        losses = take_steps()
        loss = float(tf.reduce_mean(losses))  # waits for the last step
        seconds, clock = time.time() - clock, time.time()
        run.seconds += float(agree(seconds))
        record(loss=loss)
        speed = len(losses) / seconds
        text = f"loss {loss:.2f}, {speed:.1f} steps/s"
        bar.set_postfix_str(text, refresh=False)
        bar.update(100 * progress() - bar.n)
        if run.step % VALIDATE_EVERY == 0 or progress() >= 1:
            validate()
        if time.time() - saved > settings.checkpoint_seconds:
            save(last)
            saved = time.time()


# %% [markdown]
# In the end the weights of the best validation are back in the model.

# %%
train()
history, seconds = run.history, run.seconds
best.restore_or_initialize()
print(f"kept: step {run.step:,}, BLEU {run.best_bleu:.1f}")
lines = [json.dumps(entry) for entry in history]
write_text("history.jsonl", "\n".join(lines) + "\n")
with writing("A picture"):
    evaluation.plot_history(history, settings.output / "history.png")

# %% [markdown]
# ## Results
#
# BLEU and chrF on the test part, which nothing has looked at so far. A source
# may have several right translations: a translation is compared with all of
# them, as whole sentences, cased and with punctuation; no piece is left.

# %%
test_sources, test_references = evaluation.group(test_pairs)
pieces = count_pieces(tf.constant(test_sources))["pieces"]
test_order = evaluation.longest_first(pieces)
results = {"steps": run.step, "seconds": seconds}
for search in ("serving_default", "beam_search"):
    test_translations, speed = evaluation.translate_timed(
        functions[search], test_sources, test_order
    )
    scores = evaluation.measure(test_translations, test_references)
    results[search] = {name: score for name, (score, _) in scores.items()}
    results[search]["sentences_per_second"] = speed
    print(f"{search}: {speed:,.0f} sentences/s, one batch after the other")
    for name, (score, signature) in scores.items():
        print(f"{name} {score:.2f}  {signature}")

# %% [markdown]
# All translations by beam search are kept, one line each: source,
# translation, references.

# %%
rows = zip(test_sources, test_translations, test_references, strict=True)
rows = ["\t".join([one, other, *more]) for one, other, more in rows]
write_text("test.tsv", "\n".join(rows) + "\n")
for index in np.linspace(0, len(test_sources) - 1, 10, dtype=int):
    print(f"{test_sources[index]}\n    -> {test_translations[index]}")
    print(f"     ( {test_references[index][0]} )")

# %% [markdown]
# Long sentences are harder than short ones.

# %%
by_length = evaluation.bleu_by_length(
    test_sources, test_translations, test_references
)
for label, count, bleu in by_length:
    print(f"{label:>12} words: BLEU {bleu:5.1f} ({count:,} sentences)")
with writing("A picture"):
    path = settings.output / "bleu_by_length.png"
    evaluation.plot_bleu_by_length(by_length, path)

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
looked = functions["beam_search_with_attention"](tf.constant([SENTENCE]))
source_pieces, target_pieces = (
    [p.decode() for p in looked[name][0].numpy() if p != b"<pad>"]
    for name in ("source_pieces", "target_pieces")
)
ax = keras_attention.plot_attention(
    looked["attention_scores"][0], source_pieces, target_pieces
)
with writing("A picture"):
    ax.figure.savefig(settings.output / "attention.png", dpi=150)
print(looked["translations"][0].numpy().decode())
print(f"attention plot: {settings.output / 'attention.png'}")

# %% [markdown]
# ## Export
#
# The SavedModel needs TensorFlow and `tensorflow_text` to run, and nothing
# of this library. Its default signature takes strings and returns strings.

# %%
exported = tf.Module()
exported.model = model
exported.pieces = [spanish_pieces, english_pieces]
export_path = settings.output / "saved_model"
with writing("The SavedModel"):
    tf.saved_model.save(exported, str(export_path), signatures=functions)

# %% [markdown]
# The reloaded model gives the same strings, also for what is not Spanish.

# %%
reloaded = tf.saved_model.load(str(export_path))
odd = ["", " ", "¿" * 300, "😀 ok", "árbol " * 200]
lines = tf.constant([*odd, *test_sources[:59]])
for search in ("serving_default", "beam_search"):
    again = reloaded.signatures[search](sentences=lines)["translations"]
    now = functions[search](lines)["translations"]
    assert list(again.numpy()) == list(now.numpy())
    assert list(again.numpy()[:2]) == [b"", b""]
print(f"SavedModel: {export_path}")

# %% [markdown]
# The results mark the run as finished.

# %%
text = json.dumps(results, indent=2)
write_text("results.json", text)
print(text)
assert all(math.isfinite(score) for score in results["beam_search"].values())
