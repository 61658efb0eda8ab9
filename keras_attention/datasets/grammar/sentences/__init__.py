"""The kinds of sentences in the built-in corpus."""

from keras_attention.datasets.grammar.sentences import acting
from keras_attention.datasets.grammar.sentences import asking
from keras_attention.datasets.grammar.sentences import being
from keras_attention.datasets.grammar.sentences import combining
from keras_attention.datasets.grammar.sentences import counting
from keras_attention.datasets.grammar.sentences import liking
from keras_attention.datasets.grammar.sentences import naming
from keras_attention.datasets.grammar.sentences import telling_time


# In corpus order; each is called without arguments and yields pieces.
FAMILIES = (
    naming.naming,
    naming.exclaiming,
    being.describing,
    being.feeling_tired,
    acting.doing,
    acting.meeting,
    acting.having,
    acting.acting_on_ones_own,
    acting.acting_on_it,
    acting.giving,
    acting.moving,
    being.locating,
    being.existing,
    being.feeling_hungry,
    counting.telling_age,
    liking.liking,
    telling_time.telling_time,
    telling_time.timing,
    asking.asking,
    asking.asking_how_many,
    asking.asking_about,
    counting.asking_price,
    counting.telling_price,
    combining.thinking,
    combining.giving_reasons,
)
