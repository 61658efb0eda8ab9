"""The nouns, adjectives, determiners and verbs of the corpus."""

from typing import NamedTuple

from keras_attention.datasets.grammar.inflection import with_s


class Noun(NamedTuple):
    """A noun; English as a singular and a plural."""

    spanish: str
    gender: str  # "m" or "f"
    english: str
    english_plural: str


class Verb(NamedTuple):
    """A verb; the English particle follows each form ("look" "for")."""

    infinitive: str
    base: str
    past: str
    participle: str
    particle: str = ""


def entries(text):
    """Splits at commas, then each entry at spaces."""
    return [entry.split() for entry in text.split(",")]


ADJECTIVES = dict(
    entries(
        """rojo red, blanco white, negro black, azul blue, verde green,
        amarillo yellow, gris gray, nuevo new, viejo old, bonito pretty,
        barato cheap, caro expensive, largo long, corto short,
        interesante interesting, aburrido boring, difícil difficult,
        fácil easy, pequeño small, grande big, fresco fresh, dulce sweet,
        frío cold, caliente hot, pesado heavy, rápido fast, moderno modern,
        alto tall, joven young, simpático nice, inteligente intelligent,
        amable kind, famoso famous, tranquilo quiet, limpio clean, sucio dirty,
        antiguo ancient, primero first, segundo second, tercero third,
        último last, mejor best, cansado tired, contento happy, triste sad,
        enfermo sick, ocupado busy, listo ready, preocupado worried,
        abierto open, cerrado closed, vacío empty, único only"""
    )
)
PRENOMINAL = ("primero", "segundo", "tercero", "último", "mejor", "único")

_COLOURS = "rojo blanco negro azul verde amarillo gris "
# Each group: nouns "spanish gender english (english_plural)", adjectives.
GROUPS = {
    "clothes": (
        "camisa f shirt, vestido m dress, falda f skirt, chaqueta f jacket, "
        "sombrero m hat, abrigo m coat",
        _COLOURS + "nuevo viejo bonito barato caro",
    ),
    "writings": (
        "libro m book, carta f letter, novela f novel, poema m poem, "
        "historia f story",
        "largo corto interesante aburrido nuevo viejo difícil",
    ),
    "print": (
        "revista f magazine, periódico m newspaper",
        "nuevo viejo interesante aburrido",
    ),
    "fruit": (
        "manzana f apple, naranja f orange, tomate m tomato, pera f pear, "
        "fresa f strawberry",
        "pequeño grande fresco dulce",
    ),
    "openable": (
        "puerta f door, ventana f window, caja f box, maleta f suitcase",
        _COLOURS + "pequeño grande viejo pesado",
    ),
    "vehicles": (
        "coche m car, bicicleta f bicycle, barco m boat, camión m truck",
        _COLOURS + "nuevo viejo rápido barato caro",
    ),
    "furniture": (
        "mesa f table, silla f chair, cama f bed, lámpara f lamp",
        _COLOURS + "nuevo viejo bonito barato pequeño grande",
    ),
    "house": ("casa f house", _COLOURS + "nuevo viejo bonito pequeño grande"),
    "objects": (
        "llave f key, teléfono m phone, reloj m watch, bolígrafo m pen, "
        "flor f flower, regalo m gift",
        "nuevo viejo bonito barato caro pequeño",
    ),
    "lessons": (
        "lección f lesson, pregunta f question, palabra f word, "
        "problema m problem, respuesta f answer",
        "difícil fácil nuevo interesante",
    ),
    "animals": (
        "gato m cat, perro m dog, caballo m horse, pájaro m bird, vaca f cow",
        "negro blanco pequeño grande viejo joven bonito",
    ),
    "places": (
        "ciudad f city, museo m museum, pueblo m village, iglesia f church, "
        "playa f beach",
        "antiguo moderno bonito famoso tranquilo pequeño",
    ),
    "people": (
        "amigo m friend, vecina f neighbor, profesor m teacher, "
        "médica f doctor, estudiante m student, mujer f woman women, "
        "hombre m man men, chico m boy, chica f girl",
        "alto joven simpático inteligente amable famoso",
    ),
    "food": (
        "pan m bread, arroz m rice, carne f meat, sopa f soup, queso m cheese, "
        "pescado m fish",
        "fresco frío caliente caro barato",
    ),
    "drinks": (
        "agua f water, leche f milk, café m coffee, té m tea, zumo m juice",
        "frío caliente fresco",
    ),
    "languages": (
        "español m Spanish, inglés m English, francés m French, "
        "alemán m German, italiano m Italian, japonés m Japanese",
        "",
    ),
}
MASS_GROUPS = ("food", "drinks")


def adjectives(group):
    """The Spanish adjectives that go with the nouns of a group."""
    return GROUPS[group][1].split()


def nouns(*groups):
    """The nouns of the groups, as a list of `Noun`."""
    return [
        Noun(*entry[:3], (entry[3:] or [with_s(entry[2])])[0])
        for group in groups
        for entry in entries(GROUPS[group][0])
    ]


# Spanish masculine, feminine, then both plurals; English singular and plural.
# A plus sign stands for a space.
DETERMINERS = {
    "the": ("el la los las", "the", "the"),
    "a": ("un una unos unas", "a", "some"),
    "this": ("este esta estos estas", "this", "these"),
    "that": ("ese esa esos esas", "that", "those"),
    "my": ("mi mi mis mis", "my", "my"),
    "your": ("tu tu tus tus", "your", "your"),
    "our": ("nuestro nuestra nuestros nuestras", "our", "our"),
    "his": ("su su sus sus", "his", "his"),
    "her": ("su su sus sus", "her", "her"),
    "their": ("su su sus sus", "their", "their"),
    "how many": ("cuánto cuánta cuántos cuántas", "how much", "how many"),
    "many": ("mucho mucha muchos muchas", "a lot of", "many"),
    "two": ("dos dos dos dos", "two", "two"),
    "three": ("tres tres tres tres", "three", "three"),
    "ten": ("diez diez diez diez", "ten", "ten"),
    "all": ("todos+los todas+las todos+los todas+las", "all+the", "all+the"),
    "generic": ("el la los las", "", ""),
    "bare": ("", "", ""),
}
PLURAL_ONLY = ("many", "two", "three", "ten", "all")


def verbs(text):
    """Reads lines "infinitive | base past participle particle | groups".

    Returns:
        A dict from `Verb` to the tuple of its groups.
    """
    rows = [line.split("|") for line in text.strip().splitlines()]
    return {
        Verb(infinitive.strip(), *_forms(english)): tuple(groups.split())
        for infinitive, english, groups in rows
    }


def _forms(english):
    base, past, participle, *particle = english.split()
    return base, past, participle, " ".join(particle)


ACTIONS = verbs(
    """
    comprar | buy bought bought | clothes print fruit vehicles furniture house
    vender | sell sold sold | clothes fruit vehicles furniture house animals
    ver | see saw seen | house vehicles animals places
    leer | read read read | writings print
    escribir | write wrote written | writings
    comer | eat ate eaten | fruit food
    beber | drink drank drunk | drinks
    preparar | prepare prepared prepared | food
    servir | serve served served | food drinks
    traer | bring brought brought | food drinks objects
    abrir | open opened opened | openable
    cerrar | close closed closed | openable
    limpiar | clean cleaned cleaned | furniture house vehicles
    pintar | paint painted painted | openable furniture house
    visitar | visit visited visited | places
    explicar | explain explained explained | lessons
    aprender | learn learned learned | languages
    hablar | speak spoke spoken | languages
    usar | use used used | objects vehicles
    buscar | look looked looked for | objects clothes animals
    encontrar | find found found | objects clothes animals
    perder | lose lost lost | objects clothes
    olvidar | forget forgot forgotten | lessons
    """
)
STATES = verbs(
    """
    necesitar | need needed needed | clothes objects furniture vehicles
    querer | want wanted wanted | objects clothes vehicles animals
    tener | have had had | animals objects vehicles house clothes
    entender | understand understood understood | lessons
    recordar | remember remembered remembered | lessons
    """
)
MEETINGS = verbs(
    """
    ayudar | help helped helped | people
    esperar | wait waited waited for | people
    llamar | call called called | people
    invitar | invite invited invited | people
    """
)
