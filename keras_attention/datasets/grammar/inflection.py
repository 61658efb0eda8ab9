"""How the words of the corpus inflect, in Spanish and in English."""

import functools


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
    if word.endswith("y") and word[-2] not in "aeou":
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


def a_or_an(word):
    """The English indefinite article before a word.

    "u" is not among the vowels: it sounds as in "used".
    """
    return "an" if word[0] in "aeio" else "a"
