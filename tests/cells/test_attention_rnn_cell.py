import copy

import keras
import numpy as np
import pytest
import reference_recurrent
from layer_catalogue import ATTENTIONS
from layer_catalogue import BATCH
from layer_catalogue import CELL_UNITS
from layer_catalogue import CELLS
from layer_catalogue import INNER_CELLS
from layer_catalogue import INPUT_UNITS
from layer_catalogue import MEMORY_LENGTH
from layer_catalogue import MEMORY_MASK
from layer_catalogue import MEMORY_UNITS
from layer_catalogue import draw
from layer_catalogue import draw_memory
from layer_catalogue import make_cell
from layer_catalogue import randomize

import keras_attention


KINDS = ["bahdanau", "luong", "luong_feeding"]


def several(cell, rng):
    """A cell of two attentions over memories of their own, built."""
    cell = CELLS[cell](
        INNER_CELLS["gru"](), [ATTENTIONS["additive"](), ATTENTIONS["dot"]()]
    )
    cell.build_attention([(None, None, MEMORY_UNITS), (None, 3, CELL_UNITS)])
    cell.build((None, INPUT_UNITS))
    randomize(cell, rng)
    return cell


def test_contexts_of_several_attentions_stand_side_by_side(rng):
    cell = several("bahdanau_context", rng)
    memories = [draw_memory(rng), draw(rng, BATCH, 3, CELL_UNITS)]
    prepared = cell.prepare_memory(memories, [MEMORY_MASK, None])
    states = [draw(rng, BATCH, CELL_UNITS)]
    inputs = draw(rng, BATCH, INPUT_UNITS)
    output, [state], scores = cell(inputs, states, prepared)
    results = [
        reference_recurrent.look(attention, states[0], memory, mask)
        for attention, memory, mask in zip(
            cell.attentions, memories, [MEMORY_MASK, None], strict=True
        )
    ]
    contexts = np.concatenate([context for context, _ in results], axis=-1)
    hidden, _ = reference_recurrent.step(
        cell.cell, np.concatenate([inputs, contexts], axis=-1), states
    )
    np.testing.assert_allclose(
        output, np.concatenate([hidden, contexts], axis=-1), atol=1e-5
    )
    np.testing.assert_allclose(state, hidden, atol=1e-5)
    for one, (_, other) in zip(scores, results, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_one_memory_serves_all_attentions(kind, rng):
    cell = CELLS[kind](
        INNER_CELLS["gru"](), [ATTENTIONS["additive"](), ATTENTIONS["concat"]()]
    )
    prepared = cell.prepare_memory(draw_memory(rng), MEMORY_MASK)
    states = cell.get_initial_state(BATCH, prepared)
    _, _, scores = cell(draw(rng, BATCH, INPUT_UNITS), states, prepared)
    for part in map(np.array, scores):
        np.testing.assert_allclose(np.sum(part, axis=-1), 1.0, atol=1e-6)
        assert np.all(part[~MEMORY_MASK] == 0)


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("inner", INNER_CELLS)
def test_configuration_makes_an_equal_cell(kind, inner):
    cell = make_cell(kind, inner, "concat")
    config = cell.get_config()
    untouched = copy.deepcopy(config)
    assert type(cell).from_config(config).get_config() == untouched
    assert config == untouched


def test_several_attentions_are_in_the_configuration(rng):
    cell = several("luong", rng)
    config = cell.get_config()
    copy = type(cell).from_config(config)
    assert [type(layer) for layer in copy.attentions] == [
        keras_attention.BahdanauAttention,
        keras_attention.LuongAttention,
    ]
    assert copy.get_config() == config


@pytest.mark.parametrize("kind", KINDS)
def test_cell_and_attention_are_made_before_any_memory_exists(kind):
    """Reported as tensorflow/addons#670 and tensorflow/addons#461."""
    cell = make_cell(kind)
    assert cell.weights == []


@pytest.mark.parametrize("kind", KINDS)
def test_memory_is_projected_once_and_not_at_every_step(kind, rng):
    calls = []

    @keras.saving.register_keras_serializable(package="tests")
    class CountingScore(keras_attention.DotScore):
        def project(self, memory):
            calls.append(memory.shape)
            return memory

    attention = keras_attention.LuongAttention(CountingScore())
    layer = keras_attention.AttentionRNN(
        CELLS[kind](INNER_CELLS["gru"](), attention)
    )
    layer(draw(rng, BATCH, 5, INPUT_UNITS), draw_memory(rng, "dot"))
    assert calls == [(BATCH, MEMORY_LENGTH, CELL_UNITS)]


def test_what_is_no_attention_raises():
    cell = keras.layers.GRUCell(3)
    expected = r"Expected an attention layer of this library"
    for wrong in (keras.layers.AdditiveAttention(), "general", None):
        with pytest.raises(ValueError, match=expected):
            keras_attention.BahdanauRNNCell(cell, wrong)
    with pytest.raises(ValueError, match=expected):
        keras_attention.LuongRNNCell(cell, [ATTENTIONS["general"](), cell])


def test_no_attention_at_all_raises():
    expected = r"Expected an attention layer of this library"
    with pytest.raises(ValueError, match=expected):
        keras_attention.BahdanauRNNCell(keras.layers.GRUCell(3), [])


def test_what_is_no_cell_raises():
    with pytest.raises(ValueError, match="Expected a Keras RNN cell"):
        keras_attention.LuongRNNCell("gru", ATTENTIONS["general"]())


@pytest.mark.parametrize("kind", KINDS)
def test_cell_built_before_its_attention_raises(kind):
    cell = make_cell(kind)
    with pytest.raises(ValueError, match=r"Call `prepare_memory\(memory\)` or"):
        cell.build((BATCH, INPUT_UNITS))


@pytest.mark.parametrize("kind", KINDS)
def test_step_of_another_batch_raises(kind, rng):
    cell = make_cell(kind)
    prepared = cell.prepare_memory(draw_memory(rng)[:2])
    states = cell.get_initial_state(BATCH, prepared)
    with pytest.raises(ValueError, match=r"\(inputs: 3, memory: 2\). Expected"):
        cell(draw(rng, BATCH, INPUT_UNITS), states, prepared)


def test_wrong_number_of_memories_or_masks_raises(rng):
    cell = several("luong", rng)
    memory = draw_memory(rng)
    expected = "3 memories or memory masks for 2 attention .*Expected one for"
    with pytest.raises(ValueError, match=expected):
        cell.prepare_memory([memory] * 3)
    with pytest.raises(ValueError, match=expected):
        cell.prepare_memory(
            [memory, draw(rng, BATCH, 3, CELL_UNITS)], [MEMORY_MASK] * 3
        )


def test_memory_of_rank_2_raises(rng):
    """Reported as tensorflow/addons#1153: the encoder's state as memory."""
    with pytest.raises(ValueError, match=r"Expected.*\(batch, time, depth\)"):
        make_cell().prepare_memory(draw(rng, BATCH, MEMORY_UNITS))


def test_abstract_cell_says_what_to_define():
    cell = keras_attention.AttentionRNNCell(
        keras.layers.GRUCell(3), ATTENTIONS["general"]()
    )
    with pytest.raises(NotImplementedError, match=r"must define `call\(inputs"):
        cell.call(None, None, None)
