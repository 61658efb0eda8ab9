"""Type hints: public functions and methods have all that CONTRIBUTING says."""

import inspect
import typing
from importlib import resources

import pytest
from public_names import METHODS
from public_names import PUBLIC
from public_names import parameters


FUNCTIONS = PUBLIC | METHODS

# Neither Python nor Keras has a type for tensors, for numbers that may be
# scalar tensors, and for shapes; a Keras cell may be any object with the right
# methods; and matplotlib, whose `Axes` is meant, is imported by drawing alone.
WITHOUT_HINT = set(
    """
    attention_scores finished forbidden hidden initial_state inputs key keys
    length_limits logits mask memory memory_mask noise query scores sequences
    state states tokens value weights
    batch_size max_length num_steps query_length rows sampling_probability step
    input_shape inputs_shape keys_shape memory_shape query_shape
    sequences_shape shape states_shape tokens_shape
    cell
    ax
    """.split()
)
# Likewise, and what Keras calls alone.
WITHOUT_HINT_OF_RESULT = set(
    """
    attend attend_from_all call coverage_loss draw_dropout draw_noise drop
    final_scores get_initial_state initial_attention_states initial_scores
    initial_state is_settled is_vacant log_probabilities most_probable
    normalize project project_inputs sampling_probability score select step
    take_step weigh
    build compute_mask compute_output_shape compute_output_spec
    plot_attention
    """.split()
)


def unhinted_arguments(function):
    return {
        name
        for name, parameter in parameters(function).items()
        if parameter.annotation is parameter.empty
    }


def lacks_hint_of_result(function):
    result = inspect.signature(function).return_annotation
    return not inspect.isclass(function) and result is inspect.Signature.empty


@pytest.mark.parametrize("name", FUNCTIONS)
def test_hints_are_there(name):
    function = FUNCTIONS[name]
    assert unhinted_arguments(function) <= WITHOUT_HINT
    if lacks_hint_of_result(function):
        assert name.rpartition(".")[-1] in WITHOUT_HINT_OF_RESULT


@pytest.mark.parametrize("name", FUNCTIONS)
def test_hint_allows_the_default(name):
    function = FUNCTIONS[name]
    holder = function.__init__ if inspect.isclass(function) else function
    hints = typing.get_type_hints(holder)
    for argument, parameter in parameters(function).items():
        if argument in hints and parameter.default is None:
            assert type(None) in typing.get_args(hints[argument])


def test_nothing_is_excused_in_vain():
    functions = FUNCTIONS.values()
    assert WITHOUT_HINT == set().union(*map(unhinted_arguments, functions))
    assert WITHOUT_HINT_OF_RESULT == {
        name.rpartition(".")[-1]
        for name, function in FUNCTIONS.items()
        if lacks_hint_of_result(function)
    }


def test_type_checkers_are_told_of_the_hints():
    assert resources.files("keras_attention").joinpath("py.typed").is_file()
