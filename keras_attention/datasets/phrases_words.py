"""Words of the built-in corpus, and how they inflect."""

import functools
from typing import NamedTuple


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


_REGULAR = {
    ("present", "ar"): "o as a amos an",
    ("present", "er"): "o es e emos en",
    ("present", "ir"): "o es e imos en",
    ("past", "ar"): "é aste ó amos aron",
    ("past", "er"): "í iste ió imos ieron",
    ("past", "ir"): "í iste ió imos ieron",
    ("imperfect", "ar"): "aba abas aba ábamos aban",
    ("imperfect", "er"): "ía ías ía íamos ían",
    ("imperfect", "ir"): "ía ías ía íamos ían",
}
_FUTURE = "é ás á emos án"
_FUTURE_STEMS = {
    "salir": "saldr",
    "tener": "tendr",
    "venir": "vendr",
}
_IRREGULAR_LINES = {
    "present": """
        acostar acuesto acuestas acuesta acostamos acuestan
        cerrar cierro cierras cierra cerramos cierran
        costar cuesto cuestas cuesta costamos cuestan
        creer creo crees cree creemos creen
        dar doy das da damos dan
        despertar despierto despiertas despierta despertamos despiertan
        dormir duermo duermes duerme dormimos duermen
        empezar empiezo empiezas empieza empezamos empiezan
        encontrar encuentro encuentras encuentra encontramos encuentran
        entender entiendo entiendes entiende entendemos entienden
        estar estoy estás está estamos están
        haber he has ha hemos han
        ir voy vas va vamos van
        jugar juego juegas juega jugamos juegan
        perder pierdo pierdes pierde perdemos pierden
        poder puedo puedes puede podemos pueden
        querer quiero quieres quiere queremos quieren
        recordar recuerdo recuerdas recuerda recordamos recuerdan
        salir salgo sales sale salimos salen
        ser soy eres es somos son
        servir sirvo sirves sirve servimos sirven
        tener tengo tienes tiene tenemos tienen
        traer traigo traes trae traemos traen
        venir vengo vienes viene venimos vienen
        ver veo ves ve vemos ven
        volver vuelvo vuelves vuelve volvemos vuelven""",
    "past": """
        dar di diste dio dimos dieron
        dormir dormí dormiste durmió dormimos durmieron
        ir fui fuiste fue fuimos fueron
        leer leí leíste leyó leímos leyeron
        servir serví serviste sirvió servimos sirvieron
        traer traje trajiste trajo trajimos trajeron
        venir vine viniste vino vinimos vinieron
        ver vi viste vio vimos vieron""",
    "imperfect": "ser era eras era éramos eran",
}
_IRREGULAR = {
    (tense, line.split()[0]): tuple(line.split()[1:])
    for tense, lines in _IRREGULAR_LINES.items()
    for line in lines.strip().splitlines()
}
_GERUNDS = {
    "dormir": "durmiendo",
    "ir": "yendo",
    "leer": "leyendo",
    "servir": "sirviendo",
    "traer": "trayendo",
    "venir": "viniendo",
}
_PARTICIPLES = {
    "abrir": "abierto",
    "escribir": "escrito",
    "leer": "leído",
    "traer": "traído",
    "ver": "visto",
    "volver": "vuelto",
}


@functools.cache
def conjugate(infinitive, tense):
    """Conjugates a Spanish verb of the corpus.

    Args:
        infinitive: As in a dictionary, reflexive verbs with their "se".
        tense: `"present"`, `"past"` (preterite), `"imperfect"`
            or `"future"`.

    Returns:
        The five forms for yo, tú, él, nosotros, ellos.

    Example:
        >>> conjugate("dormir", "past")
        ('dormí', 'dormiste', 'durmió', 'dormimos', 'durmieron')
    """
    if infinitive.endswith("se"):
        forms = conjugate(infinitive.removesuffix("se"), tense)
        pronouns = ("me", "te", "se", "nos", "se")
        return tuple(map(" ".join, zip(pronouns, forms, strict=True)))
    if (tense, infinitive) in _IRREGULAR:
        return _IRREGULAR[tense, infinitive]
    stem, ending = infinitive[:-2], infinitive[-2:]
    if tense == "future":
        stem = _FUTURE_STEMS.get(infinitive, infinitive)
        return tuple(stem + suffix for suffix in _FUTURE.split())
    forms = [stem + suffix for suffix in _REGULAR[tense, ending].split()]
    respelled = {"c": "qu", "g": "gu", "z": "c"}
    if tense == "past" and ending == "ar" and stem[-1] in respelled:
        # The sound of c, g and z before "é" needs another letter.
        forms[0] = stem[:-1] + respelled[stem[-1]] + "é"
    return tuple(forms)


def gerund(infinitive):
    """`leyendo` of `leer`."""
    ending = "ando" if infinitive.endswith("ar") else "iendo"
    return _GERUNDS.get(infinitive, infinitive[:-2] + ending)


def participle(infinitive):
    """`leído` of `leer`."""
    ending = "ado" if infinitive.endswith("ar") else "ido"
    return _PARTICIPLES.get(infinitive, infinitive[:-2] + ending)


def with_s(word):
    """The English plural, and just so the third person of a verb."""
    if word == "have":
        return "has"
    if word.endswith(("s", "sh", "ch", "x", "o")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeo":
        return word[:-1] + "ies"
    return word + "s"


def ing(base):
    """`writing` of `write`."""
    if base in {"get", "run", "swim", "forget"}:
        return base + base[-1] + "ing"
    if base.endswith("e") and not base.endswith("ee"):
        return base[:-1] + "ing"
    return base + "ing"


def spanish_plural(word):
    """`lecciones` of `lección`."""
    if word == "joven":
        return "jóvenes"
    if word.endswith("z"):
        return word[:-1] + "ces"
    if word[-1] in "aeioué":
        return word + "s"
    # The accent marks stress on the last syllable, which the plural moves on.
    unaccented = word[-2].translate(str.maketrans("áéíóú", "aeiou"))
    return word[:-2] + unaccented + word[-1] + "es"


def agree(adjective, gender, plural):
    """`rojas` of `rojo`, "f" and True."""
    if gender == "f" and adjective.endswith("o"):
        adjective = adjective[:-1] + "a"
    return spanish_plural(adjective) if plural else adjective


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
CONTRACTIONS = {("a", ("el",)): "al", ("de", ("el",)): "del"}
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


UNITS = (
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece "
    "catorce quince dieciséis diecisiete dieciocho diecinueve veinte veintiuno "
    "veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete "
    "veintiocho veintinueve"
).split()
_TENS = "treinta cuarenta cincuenta sesenta setenta ochenta noventa".split()
ENGLISH_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve "
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
).split()
_ENGLISH_TENS = (
    "twenty thirty forty fifty sixty seventy eighty ninety"
).split()


def number_words(number):
    """The words of 1 to 99, as before a masculine noun: "veintiún"."""
    if number < len(UNITS):
        spanish = UNITS[number]
    else:
        tens, unit = divmod(number - 30, 10)
        spanish = _TENS[tens] + (f" y {UNITS[unit]}" if unit else "")
    if spanish.endswith("veintiuno"):
        spanish = "veintiún"
    elif spanish.endswith("uno"):
        spanish = spanish.removesuffix("o")
    if number < len(ENGLISH_UNITS):
        return spanish, ENGLISH_UNITS[number]
    tens, unit = divmod(number - 20, 10)
    english = _ENGLISH_TENS[tens]
    return spanish, f"{english}-{ENGLISH_UNITS[unit]}" if unit else english
