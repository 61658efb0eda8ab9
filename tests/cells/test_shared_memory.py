"""One memory for several rows, held against a copy for each."""

import keras
import numpy as np
import pytest
from backends import TWO_MODES
from backends import in_mode
from layer_catalogue import ATTENTIONS
from layer_catalogue import BATCH
from layer_catalogue import CELL_UNITS
from layer_catalogue import INPUT_UNITS
from layer_catalogue import MEMORY_MASK
from layer_catalogue import draw
from layer_catalogue import draw_memory
from layer_catalogue import randomize

import keras_attention
from keras_attention import BahdanauRNNCell
from keras_attention import BeamSearch
from keras_attention import LuongRNNCell
from keras_attention.cells.shared_memory import SharedMemory


NUM_ROWS = 5


@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize("parent", [BahdanauRNNCell, LuongRNNCell])
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_rows_see_what_they_would_see_in_copies(attention, parent, mode, rng):
    cell = parent(keras.layers.GRUCell(CELL_UNITS), ATTENTIONS[attention]())
    memory = draw_memory(rng, attention)
    cell.build_attention(memory.shape)
    cell.build((BATCH, INPUT_UNITS))
    randomize(cell, rng)
    inputs = draw(rng, 2, BATCH * NUM_ROWS, INPUT_UNITS)
    copies = memory.repeat(NUM_ROWS, axis=0)
    mask_of_copies = MEMORY_MASK.repeat(NUM_ROWS, axis=0)

    def run(memory, mask, num_rows):
        prepared = cell.prepare_memory(memory, mask)
        states = cell.get_initial_state(BATCH, prepared)
        if num_rows == 1:
            states = cell.get_initial_state(BATCH * NUM_ROWS, prepared)
        else:
            states = [keras.ops.repeat(one, num_rows, 0) for one in states]
        prepared = cell.share_memory(prepared, num_rows)
        results = []
        for now in inputs:
            output, states, scores = cell(now, states, prepared)
            results += [output, *states, *scores]
        return results

    shared = in_mode(lambda m, v: run(m, v, NUM_ROWS), mode)(
        memory, MEMORY_MASK
    )
    expected = in_mode(lambda m, v: run(m, v, 1), mode)(copies, mask_of_copies)
    assert len(shared) == len(expected) >= 6
    for one, other in zip(shared, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-6)


def test_memory_without_a_state_is_not_copied(rng):
    attentions = [
        keras_attention.LuongAttention(),
        keras_attention.BahdanauAttention(7, coverage=True),
    ]
    cell = LuongRNNCell(keras.layers.GRUCell(CELL_UNITS), attentions)
    memory = draw_memory(rng)
    prepared = cell.prepare_memory(memory, MEMORY_MASK)
    shared, copied = cell.share_memory(prepared, NUM_ROWS)
    assert isinstance(shared, SharedMemory)
    assert shared.memory.values.shape == memory.shape
    np.testing.assert_allclose(
        copied.keys, np.repeat(prepared[1].keys, NUM_ROWS, axis=0)
    )
    assert cell.share_memory(prepared, 1) is prepared


@pytest.mark.parametrize("parent", [BahdanauRNNCell, LuongRNNCell])
@pytest.mark.parametrize("method", ["call", "attend"])
def test_cell_of_a_user_gets_a_row_of_memory_for_each_of_its_own(
    parent, method, rng
):
    """It may do with the memory what it likes, as in scheduled sampling."""
    rows = set()

    class Watching(parent):
        pass

    def watch(self, inputs, states_or_memory, *rest, **kwargs):
        memory = states_or_memory if method == "attend" else rest[0]
        rows.add((inputs.shape[0], memory[0].values.shape[0]))
        own = getattr(parent, method)
        return own(self, inputs, states_or_memory, *rest, **kwargs)

    setattr(Watching, method, watch)
    decoder = keras_attention.AttentionDecoder(
        keras.layers.Embedding(11, INPUT_UNITS),
        keras_attention.AttentionRNN(
            Watching(
                keras.layers.GRUCell(CELL_UNITS),
                keras_attention.LuongAttention(),
            ),
            return_sequences=True,
        ),
        keras.layers.Dense(11),
    )
    decoder.generate(
        draw_memory(rng),
        start_token=1,
        end_token=2,
        max_length=3,
        strategy=BeamSearch(NUM_ROWS),
    )
    count = BATCH * NUM_ROWS
    assert rows - {(None, None)} == {(count, count)}


def test_rows_that_do_not_fit_the_memory_raise(rng):
    cell = LuongRNNCell(
        keras.layers.GRUCell(CELL_UNITS), keras_attention.LuongAttention()
    )
    prepared = cell.prepare_memory(draw_memory(rng))
    shared = cell.share_memory(prepared, NUM_ROWS)
    states = cell.get_initial_state(BATCH, prepared)
    with pytest.raises(ValueError, match="inputs.*3.*memory.*15"):
        cell(draw(rng, BATCH, INPUT_UNITS), states, shared)
