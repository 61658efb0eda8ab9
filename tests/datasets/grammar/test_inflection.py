import pytest

from keras_attention.datasets.grammar import inflection


@pytest.mark.parametrize(
    ("infinitive", "tense", "forms"),
    [
        ("comprar", "present", "compro compras compra compramos compran"),
        ("beber", "past", "bebí bebiste bebió bebimos bebieron"),
        ("buscar", "past", "busqué buscaste buscó buscamos buscaron"),
        ("llegar", "past", "llegué llegaste llegó llegamos llegaron"),
        ("empezar", "past", "empecé empezaste empezó empezamos empezaron"),
        ("traer", "past", "traje trajiste trajo trajimos trajeron"),
        ("salir", "future", "saldré saldrás saldrá saldremos saldrán"),
        ("ser", "imperfect", "era eras era éramos eran"),
        ("estar", "imperfect", "estaba estabas estaba estábamos estaban"),
        ("tener", "imperfect", "tenía tenías tenía teníamos tenían"),
        ("dormir", "present", "duermo duermes duerme dormimos duermen"),
    ],
)
def test_verbs_are_conjugated(infinitive, tense, forms):
    assert inflection.conjugate(infinitive, tense) == tuple(forms.split())


def test_reflexive_verbs_bring_their_pronoun():
    assert inflection.conjugate("levantarse", "present") == (
        "me levanto",
        "te levantas",
        "se levanta",
        "nos levantamos",
        "se levantan",
    )


@pytest.mark.parametrize(
    ("adjective", "gender", "plural", "form"),
    [
        ("rojo", "f", True, "rojas"),
        ("azul", "m", True, "azules"),
        ("grande", "f", False, "grande"),
        ("joven", "m", True, "jóvenes"),
        ("fácil", "f", True, "fáciles"),
    ],
)
def test_adjectives_agree(adjective, gender, plural, form):
    assert inflection.agree(adjective, gender, plural) == form


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("buy", "buys"),
        ("play", "plays"),
        ("study", "studies"),
        ("watch", "watches"),
        ("key", "keys"),
        ("boy", "boys"),
        ("go", "goes"),
        ("have", "has"),
    ],
)
def test_english_words_get_their_s(word, form):
    assert inflection.with_s(word) == form
