"""The trainings that `papers.py` compares; one thing differs at a time."""

from typing import NamedTuple


class Row(NamedTuple):
    """One translator.

    Attributes:
        attention: "none", "dot", "general", "concat", "additive", "local-m",
            "local-p", or "local-p-scaled", the same with
            `position_scale="sqrt"`.
        order: "luong" attends with the new state, "bahdanau" with the one
            before the step.
        input_feeding: Whether the attentional state joins the next input;
            for "luong" alone, since "bahdanau" always feeds the context.
        state: What joins hidden state and context: "residual" or "tanh".
        embedding_std: What the embeddings begin with, a normal distribution
            of this standard deviation; None for the default of Keras, uniform
            from -0.05 to 0.05.
        masks: Whether encoder, attention and decoder are told what is padding.
        corpus: "tatoeba", or "phrases", the built-in corpus.
        most_joined: Of how many sentences the longest sources of "tatoeba"
            are made in training.
        share: What it takes of the time given for a row.
    """

    attention: str
    order: str = "luong"
    input_feeding: bool = False
    state: str = "residual"
    embedding_std: float | None = None
    masks: bool = True
    corpus: str = "tatoeba"
    most_joined: int = 4
    share: float = 1.0


LUONG = ("dot", "general", "concat", "local-m", "local-p", "local-p-scaled")

ROWS = {
    "bahdanau": Row("additive", "bahdanau"),
    "bahdanau-fixed": Row("none", "bahdanau"),
    "general-fixed": Row("none"),
    **{name: Row(name) for name in LUONG},
    **{f"{name}-fed": Row(name, input_feeding=True) for name in LUONG},
    "general-tanh": Row("general", state="tanh"),
    "general-tanh-fed": Row("general", state="tanh", input_feeding=True),
    "general-wide": Row("general", embedding_std=1.0),
    "general-wide-fed": Row("general", input_feeding=True, embedding_std=1.0),
    "bahdanau-unmasked": Row("additive", "bahdanau", masks=False),
    "general-unmasked": Row("general", masks=False),
    "bahdanau-long": Row("additive", "bahdanau", most_joined=8),
    "bahdanau-fixed-long": Row("none", "bahdanau", most_joined=8),
    "general-long": Row("general", most_joined=8),
    "general-fixed-long": Row("none", most_joined=8),
    # The built-in corpus is learned in a fraction of the time.
    "phrases-bahdanau": Row(
        "additive", "bahdanau", corpus="phrases", share=0.25
    ),
    **{
        f"phrases-{name}": Row(name, corpus="phrases", share=0.25)
        for name in ("general", "local-m", "local-p", "local-p-scaled")
    },
}
