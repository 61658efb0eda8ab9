"""A Spanish-English corpus from a small grammar, with word alignment."""

import functools
import itertools
import math
from typing import NamedTuple

from keras_attention.datasets import phrases_words as lexicon


class Phrase(NamedTuple):
    """A Spanish sentence, its English translation and their alignment.

    Args:
        spanish: The Spanish sentence, cased and punctuated.
        english: The English sentence, cased and punctuated.
        spanish_words: Words of `spanish` in order; each punctuation mark is
            a word of its own.
        english_words: Words of `english`, likewise.
        links: `(english_index, spanish_index)` pairs, 0-based positions in
            `english_words` and `spanish_words`, sorted. English comes first,
            as in files of hand-made alignments. Every word has a link.

    Example:
        >>> from keras_attention.datasets import phrases
        >>> house = next(
        ...     phrase for phrase in phrases.load_phrases()
        ...     if phrase.spanish == "La casa roja."
        ... )
        >>> house.english_words
        ('The', 'red', 'house', '.')
        >>> house.links
        ((0, 0), (1, 2), (2, 1), (3, 3))
    """

    spanish: str
    english: str
    spanish_words: tuple[str, ...]
    english_words: tuple[str, ...]
    links: tuple[tuple[int, int], ...]


class _Piece(NamedTuple):
    """Part of a sentence in both languages; links are [English, Spanish]."""

    spanish: tuple[str, ...] = ()
    english: tuple[str, ...] = ()
    links: tuple[tuple[int, int], ...] = ()


class _NounPhrase(NamedTuple):
    piece: _Piece
    gender: str
    plural: bool


class _Subject(NamedTuple):
    piece: _Piece
    person: int  # 0 I, 1 you, 2 he or she, 3 we, 4 they
    gender: str


class _VerbGroup(NamedTuple):
    """The words of a conjugated verb, by their place in the sentence.

    `finite` is Spanish only; `auxiliary` (the English word that moves in
    questions) and `head` are English only and belong to `finite`; `main`
    is whatever follows in both languages.
    """

    finite: str
    auxiliary: str = ""
    head: str = ""
    main: _Piece = _Piece()


@functools.cache
def _piece(spanish="", english="", links=None):
    """Links as in "0-0 1-2"; left out, every word links to every word."""
    spanish, english = spanish.split(), english.split()
    if links is None:
        pairs = itertools.product(range(len(english)), range(len(spanish)))
    else:
        pairs = (map(int, link.split("-")) for link in links.split())
    return _Piece(tuple(spanish), tuple(english), tuple(map(tuple, pairs)))


def _join(spanish, english, ties=(), **parts):
    """Puts parts together in an order of their own for each language.

    Args:
        spanish: Names of the parts in Spanish order.
        english: Names of the parts in English order.
        ties: "x y" links each Spanish word of part x to each English word
            of part y, besides the links inside the parts.
        **parts: The pieces, by name.
    """
    spanish_words, english_words = [], []
    spanish_start, english_start = {}, {}
    for name in spanish.split():
        spanish_start[name] = len(spanish_words)
        spanish_words += parts[name].spanish
    for name in english.split():
        english_start[name] = len(english_words)
        english_words += parts[name].english
    links = [
        (english_start[name] + i, spanish_start[name] + j)
        for name, part in parts.items()
        for i, j in part.links
    ]
    for tie in ties:
        x, y = tie.split()
        links += itertools.product(
            range(english_start[y], english_start[y] + len(parts[y].english)),
            range(spanish_start[x], spanish_start[x] + len(parts[x].spanish)),
        )
    return _Piece(tuple(spanish_words), tuple(english_words), tuple(links))


def _chain(*pieces):
    """Joins pieces whose order is the same in both languages."""
    names = [f"piece{i}" for i in range(len(pieces))]
    order = " ".join(names)
    return _join(order, order, **dict(zip(names, pieces, strict=True)))


_MARKS = {
    "statement": ("", "."),
    "negative": ("", "."),
    "question": ("¿", "?"),
    "exclamation": ("¡", "!"),
}


def _sentence(piece, mood="statement"):
    """Adds capitals and the punctuation of both languages."""
    opening, closing = _MARKS[mood]
    piece = _join(
        "opening body closing",
        "body closing",
        ties=["opening closing"],
        opening=_piece(opening),
        body=_Piece(
            _capitalised(piece.spanish),
            _capitalised(piece.english),
            piece.links,
        ),
        closing=_piece(closing, closing),
    )
    return Phrase(
        _detokenise(piece.spanish),
        _detokenise(piece.english),
        piece.spanish,
        piece.english,
        tuple(sorted(set(piece.links))),
    )


def _capitalised(words):
    return (words[0][0].upper() + words[0][1:], *words[1:])


def _detokenise(words):
    text = " ".join(words)
    for mark in ".,?!":
        text = text.replace(f" {mark}", mark)
    return text.replace("¿ ", "¿").replace("¡ ", "¡")


def _spread(count, *tables):
    """Takes `count` combinations, spread evenly over the whole product.

    Steps of about the golden ratio of the product, coprime to it, so that no
    combination comes twice and each row of each table gets its share.
    """
    tables = [tuple(table) for table in tables]
    total = math.prod(map(len, tables))
    step = total * 618034 // 1000000
    while math.gcd(step, total) != 1:
        step += 1
    for i in range(min(count, total)):
        index = i * step % total
        chosen = []
        for table in tables:
            index, row = divmod(index, len(table))
            chosen.append(table[row])
        yield chosen


def _noun_phrase(noun, plural=False, determiner="the", adjective=None):
    """`el libro rojo` and `el primer libro`, with article and agreement."""
    spanish_forms, *english_forms = lexicon.DETERMINERS[determiner]
    spanish_article = ""
    if spanish_forms:
        row = 2 * plural + (noun.gender == "f")
        if noun.spanish == "agua" and determiner in ("the", "generic"):
            # Feminine, but "la" gives way before a stressed "a".
            row = 0
        spanish_article = spanish_forms.split()[row].replace("+", " ")
    parts = {
        "noun": _piece(
            lexicon.spanish_plural(noun.spanish) if plural else noun.spanish,
            noun.english_plural if plural else noun.english,
        ),
        "adjective": _piece(),
    }
    if adjective:
        form = lexicon.agree(adjective, noun.gender, plural)
        if form in ("primero", "tercero"):
            form = form[:-1]
        parts["adjective"] = _piece(form, lexicon.ADJECTIVES[adjective])
    english_article = english_forms[plural].replace("+", " ")
    following = parts["adjective"].english + parts["noun"].english
    if english_article == "a" and following[0][0] in "aeio":
        english_article = "an"
    before = adjective in lexicon.PRENOMINAL
    piece = _join(
        "article adjective noun" if before else "article noun adjective",
        "article adjective noun",
        ties=[] if english_article else ["article noun"],
        article=_piece(spanish_article, english_article),
        **parts,
    )
    return _NounPhrase(piece, noun.gender, plural)


@functools.cache
def _noun_phrases(group):
    """All noun phrases of a group, each determiner with each adjective."""
    adjectives = (None, *lexicon.GROUPS[group][1].split())
    if group == "languages":
        return [
            _noun_phrase(noun, False, "bare") for noun in lexicon.nouns(group)
        ]
    if group in lexicon.MASS_GROUPS:
        forms = [(False, name) for name in ("the", "bare", "my", "this")]
        forms.append((False, "many"))
    else:
        singular = ("the", "a", "this", "that", "my", "your", "our")
        forms = [(False, name) for name in singular]
        forms += [(True, name) for name in (*singular, *lexicon.PLURAL_ONLY)]
    phrases = [
        _noun_phrase(noun, plural, determiner, adjective)
        for noun in lexicon.nouns(group)
        for plural, determiner in forms
        for adjective in adjectives
        if not (
            adjective and determiner == "many" and group in lexicon.MASS_GROUPS
        )
    ]
    if group not in lexicon.MASS_GROUPS:
        phrases += [
            _noun_phrase(noun, plural, determiner, adjective)
            for noun in lexicon.nouns(group)
            for adjective in lexicon.PRENOMINAL
            for plural in (False, True)
            for determiner in ("the", "my")
            if not (plural and adjective in ("segundo", "tercero"))
        ]
    return phrases


def _governed(spanish, english, piece):
    """Puts a preposition before a piece: "al parque", "veo a Ana".

    Without an English preposition the Spanish one goes with the first word.
    """
    preposition, words = spanish.split(), tuple(english.split())
    rest = piece.spanish
    shift = len(preposition)
    contraction = lexicon.CONTRACTIONS.get((preposition[-1], rest[:1]))
    if contraction:
        preposition[-1], rest, shift = contraction, rest[1:], shift - 1
    links = itertools.product(range(len(words) or 1), range(len(preposition)))
    moved = [(len(words) + i, shift + j) for i, j in piece.links]
    return _Piece(
        (*preposition, *rest), words + piece.english, (*links, *moved)
    )


_I, _YOU, _WE = (
    _Subject(_piece("", english), person, "m")
    for english, person in (("I", 0), ("you", 1), ("we", 3))
)
# As many words in both languages, which correspond one by one.
_OTHERS = [
    _Subject(
        _chain(*map(_piece, spanish.split(), english.split())), person, gender
    )
    for spanish, english, person, gender in (
        ("él", "he", 2, "m"),
        ("Ana", "Ana", 2, "f"),
        ("mi hermano", "my brother", 2, "m"),
        ("ellos", "they", 4, "m"),
        ("Pedro", "Pedro", 2, "m"),
        ("la profesora", "the teacher", 2, "f"),
        ("mis padres", "my parents", 4, "m"),
        ("ella", "she", 2, "f"),
        ("Marta", "Marta", 2, "f"),
        ("tu primo", "your cousin", 2, "m"),
        ("los niños", "the children", 4, "m"),
        ("nuestra abuela", "our grandmother", 2, "f"),
        ("Luis y Clara", "Luis and Clara", 4, "m"),
        ("ellas", "they", 4, "f"),
        ("el médico", "the doctor", 2, "m"),
    )
]
_SUBJECTS = [_I, _YOU, _WE, *_OTHERS]

_BE = ("am", "are", "is", "are", "are")
_WAS = ("was", "were", "was", "were", "were")
_HAVE = ("have", "have", "has", "have", "have")
_DO = ("do", "do", "does", "do", "do")
_MOODS = ("statement", "negative", "question")
# When something happens, by tense. The first form of nosotros in -ar and -ir
# is present and past alike, so the past always says when.
_WHEN = {
    "present": [
        _piece("todos los días", "every day", "0-0 0-1 1-2"),
        _piece("los lunes", "on Mondays", "0-0 1-1"),
        _piece("por la mañana", "in the morning", "0-0 1-1 2-2"),
        _piece("cada semana", "every week", "0-0 1-1"),
        _piece("en verano", "in summer", "0-0 1-1"),
    ],
    "past": [
        _piece("ayer", "yesterday"),
        _piece("anoche", "last night"),
        _piece("la semana pasada", "last week", "0-2 1-0 1-1"),
        _piece("el sábado pasado", "last Saturday", "0-2 1-0 1-1"),
        _piece("hace dos años", "two years ago", "0-1 1-2 2-0"),
    ],
    "future": [
        _piece("mañana", "tomorrow"),
        _piece("esta noche", "tonight"),
        _piece("la próxima semana", "next week", "0-1 1-0 1-2"),
        _piece("el viernes", "on Friday", "0-0 1-1"),
        _piece("dentro de dos días", "in two days", "0-0 0-1 1-2 2-3"),
    ],
    "progressive": [_piece("ahora", "now"), _piece("hoy", "today")],
    "perfect": [
        _piece("hoy", "today"),
        _piece("esta semana", "this week", "0-0 1-1"),
    ],
}
_WHEN["going"] = _WHEN["future"]
_WHEN["want"] = _WHEN["can"] = _WHEN["must"] = [
    *_WHEN["future"][:2],
    *_WHEN["progressive"],
]
_TENSES = tuple(_WHEN)
# The tenses whose last word in Spanish is an infinitive.
_INFINITIVE_TENSES = ("going", "want", "can", "must")


def _verb_group(verb, tense, person, operator=False, enclitic=("", "")):
    """Conjugates a verb in both languages.

    Args:
        verb: A `lexicon.Verb`.
        tense: A key of `_WHEN`.
        person: 0 to 4, as in `_Subject`.
        operator: Whether English needs an auxiliary ("do"), for a negation
            or question.
        enclitic: Object pronoun in both languages, for the infinitive.
    """
    infinitive = verb.infinitive + enclitic[0]
    base = f"{verb.base} {verb.particle} {enclitic[1]}"
    do = _DO[person] if operator else ""
    third = person == 2 and not operator

    def present(helper):
        return lexicon.conjugate(helper, "present")[person]

    match tense:
        case "present":
            head = lexicon.with_s(verb.base) if third else verb.base
            head = f"{head} {verb.particle}"
            return _VerbGroup(present(verb.infinitive), do, head)
        case "past":
            finite = lexicon.conjugate(verb.infinitive, "past")[person]
            if operator:
                return _VerbGroup(finite, "did", base)
            return _VerbGroup(finite, "", f"{verb.past} {verb.particle}")
        case "future":
            finite = lexicon.conjugate(verb.infinitive, "future")[person]
            return _VerbGroup(finite, "will", base)
        case "progressive":
            english = f"{lexicon.ing(verb.base)} {verb.particle}"
            main = _piece(lexicon.gerund(verb.infinitive), english)
            return _VerbGroup(present("estar"), _BE[person], "", main)
        case "perfect":
            english = f"{verb.participle} {verb.particle}"
            main = _piece(lexicon.participle(verb.infinitive), english)
            return _VerbGroup(present("haber"), _HAVE[person], "", main)
        case "going":
            main = _chain(_piece("a", "going to"), _piece(infinitive, base))
            return _VerbGroup(present("ir"), _BE[person], "", main)
        case "can":
            main = _piece(infinitive, base)
            return _VerbGroup(present("poder"), "can", "", main)
        case "want":
            head = "wants" if third else "want"
            main = _piece(infinitive, f"to {base}")
            return _VerbGroup(present("querer"), do, head, main)
        case "must":
            head = "has" if third else "have"
            main = _chain(_piece("que", "to"), _piece(infinitive, base))
            return _VerbGroup(present("tener"), do, head, main)


def _to_be(infinitive, tense, person):
    """The verbs that English has "be" for: ser, estar and some of tener."""
    finite = lexicon.conjugate(infinitive, tense)[person]
    if tense == "future":
        return _VerbGroup(finite, "will", "be")
    return _VerbGroup(finite, (_BE if tense == "present" else _WAS)[person])


_NOTHING = _Piece()
_SLOTS = ("opening", "clitic", "predicate", "rest", "recipient", "when")


def _clause(subject, group, mood="statement", said_by="finite", **slots):
    """Puts a clause together in the order of each language.

    Args:
        subject: A `_Subject`; a pronoun without Spanish words is dropped
            there, and the verb says it.
        group: A `_VerbGroup`.
        mood: `"statement"`, `"negative"` or `"question"`.
        said_by: The part that stands for a dropped subject pronoun.
        **slots: Pieces by name, all optional: `opening` (question word),
            `clitic`, `predicate` (stays with the Spanish verb in questions),
            `rest` (follows the subject there), `recipient` (whom a clitic
            repeats) and `when`.
    """
    no, auxiliary = _NOTHING, group.auxiliary
    ties = ["finite auxiliary", "finite head", "clitic recipient"]
    if not subject.piece.spanish or said_by == "clitic":
        ties.append(f"{said_by} subject")
    if mood == "negative" and auxiliary == "can":
        no, auxiliary = _piece("no"), "cannot"
        ties.append("no auxiliary")
    elif mood == "negative":
        no = _piece("no", "not")
    if mood == "question":
        spanish = "clitic finite main predicate subject"
        english = "auxiliary subject"
    else:
        spanish = "subject no clitic finite main predicate"
        english = "subject auxiliary no"
    return _join(
        f"opening {spanish} rest recipient when",
        f"opening {english} head main clitic predicate rest recipient when",
        ties=ties,
        subject=subject.piece,
        no=no,
        finite=_piece(group.finite),
        auxiliary=_piece("", auxiliary),
        head=_piece("", group.head),
        main=group.main,
        **(dict.fromkeys(_SLOTS, _NOTHING) | slots),
    )


def _say(subject, verb, tense, mood="statement", **slots):
    """A sentence with an ordinary verb."""
    operator = mood != "statement"
    group = _verb_group(verb, tense, subject.person, operator)
    return _sentence(_clause(subject, group, mood, **slots), mood)


def _be(subject, infinitive, tense, mood="statement", **slots):
    """A sentence with "be"."""
    group = _to_be(infinitive, tense, subject.person)
    return _sentence(_clause(subject, group, mood, **slots), mood)


def _is_odd(subject, tense, mood, thing=_NOTHING):
    """Right by grammar only: "Do I buy it?", "I do not buy some shirts"."""
    if mood == "question" and subject is _I:
        return tense not in ("can", "must", "future", "going")
    return mood == "negative" and thing.english[:1] == ("some",)


def _tenses(verb):
    """The tenses in which people say the verb."""
    rare = {
        "see": ("progressive",),
        "forget": ("progressive", "want", "must"),
        "lose": ("progressive", "want", "can", "must"),
    }.get(verb.base, ())
    return [tense for tense in _TENSES if tense not in rare]


def _time(tense, i):
    """A time for the i-th sentence: none for half of them, unless past."""
    times = _WHEN[tense]
    if tense != "past":
        times = (*times, *[_NOTHING] * len(times))
    return times[i % len(times)]


def _as_subject(phrase):
    return _Subject(phrase.piece, 4 if phrase.plural else 2, phrase.gender)


def _things(groups):
    return [thing for group in groups for thing in _noun_phrases(group)]


def _transitive():
    """Ana compra la casa roja."""
    for verbs, count in (
        (lexicon.ACTIONS, 230),
        (lexicon.MEETINGS, 260),
        (lexicon.STATES, 230),
    ):
        for verb, groups in verbs.items():
            tenses = ("present",) if verbs is lexicon.STATES else _tenses(verb)
            choices = _spread(count, _SUBJECTS, tenses, _MOODS, _things(groups))
            for i, (subject, tense, mood, thing) in enumerate(choices):
                if _is_odd(subject, tense, mood, thing.piece):
                    continue
                whom = _governed("a", "", thing.piece)
                rest = whom if verbs is lexicon.MEETINGS else thing.piece
                when = _NOTHING if verbs is lexicon.STATES else _time(tense, i)
                yield _say(subject, verb, tense, mood, rest=rest, when=when)


def _possessive():
    """Ana vende su casa."""
    owners = {"m": "his", "f": "her"}
    verbs = [verb for verb in lexicon.ACTIONS if verb.base in ("sell", "clean")]
    nouns = lexicon.nouns("house", "vehicles", "furniture")
    choices = _spread(
        800, _OTHERS, _TENSES, _MOODS, verbs, nouns, (False, True)
    )
    for i, (subject, tense, mood, verb, noun, plural) in enumerate(choices):
        owner = "their" if subject.person == 4 else owners[subject.gender]
        thing = _noun_phrase(noun, plural, owner)
        when = _time(tense, i)
        yield _say(subject, verb, tense, mood, rest=thing.piece, when=when)


# A pronoun beside a subject of these persons would be reflexive.
_OWN = {"me": (0, 3), "te": (1,), "nos": (0, 3)}
_THING_PRONOUNS = (("lo", "it"), ("la", "it"), ("los", "them"), ("las", "them"))
_PEOPLE_PRONOUNS = (
    ("me", "me"),
    ("te", "you"),
    ("nos", "us"),
    ("lo", "him"),
    ("la", "her"),
    *_THING_PRONOUNS[2:],
)


def _object_pronouns():
    """No lo veo. Quiero comprarlo."""
    for verbs, pronouns, count in (
        (lexicon.ACTIONS, _THING_PRONOUNS, 100),
        (lexicon.MEETINGS, _PEOPLE_PRONOUNS, 230),
    ):
        for verb, groups in verbs.items():
            if "languages" in groups:
                continue
            choices = _spread(count, _SUBJECTS, _tenses(verb), _MOODS, pronouns)
            for i, (subject, tense, mood, pronoun) in enumerate(choices):
                reflexive = subject.person in _OWN.get(pronoun[0], ())
                if reflexive or _is_odd(subject, tense, mood):
                    continue
                clitic, enclitic = _piece(*pronoun), ("", "")
                if tense in _INFINITIVE_TENSES:
                    clitic, enclitic = _NOTHING, pronoun
                operator = mood != "statement"
                group = _verb_group(
                    verb, tense, subject.person, operator, enclitic
                )
                when = _time(tense, i)
                clause = _clause(subject, group, mood, clitic=clitic, when=when)
                yield _sentence(clause, mood)


def _giving():
    """Te doy el libro. Le doy el libro a Jorge."""
    verbs = lexicon.verbs(
        """
        dar | give gave given | objects writings
        traer | bring brought brought | objects
        escribir | write wrote written | writings
        vender | sell sold sold | vehicles
        """
    )
    names = [
        {"clitic": _piece("le"), "recipient": _piece(f"a {name}", f"to {name}")}
        for name in ("Jorge", "Elena")
    ]
    pronouns = [
        {"clitic": _piece(*pronoun)} for pronoun in _PEOPLE_PRONOUNS[:3]
    ]
    tenses = ("present", "past", "future", "progressive", "perfect")
    for verb, groups in verbs.items():
        choices = _spread(
            330,
            _SUBJECTS,
            tenses,
            _MOODS,
            (*names, *pronouns),
            _things(groups),
        )
        for i, (subject, tense, mood, to, thing) in enumerate(choices):
            reflexive = subject.person in _OWN.get(to["clitic"].spanish[0], ())
            if reflexive or _is_odd(subject, tense, mood, thing.piece):
                continue
            when = _time(tense, i)
            yield _say(
                subject, verb, tense, mood, rest=thing.piece, when=when, **to
            )


# Nouns with the English preposition for being there.
_PLACES = [
    (
        _noun_phrase(lexicon.Noun(spanish, gender, english, "")).piece,
        preposition,
    )
    for spanish, gender, english, preposition in lexicon.entries(
        """parque m park in, playa f beach at, escuela f school at,
        oficina f office in, hospital m hospital in, mercado m market at,
        biblioteca f library in, estación f station at, museo m museum in,
        restaurante m restaurant in, cocina f kitchen in, jardín m garden in,
        aeropuerto m airport at, hotel m hotel in, pueblo m village in"""
    )
]


def _moving():
    """Trabajamos en el hospital. Ana va al mercado."""
    verbs = lexicon.verbs(
        """
        trabajar | work worked worked | en
        dormir | sleep slept slept | en
        cantar | sing sang sung | en
        bailar | dance danced danced | en
        correr | run ran run | en
        jugar | play played played | en
        comer | eat ate eaten | en
        cocinar | cook cooked cooked | en
        ir | go went gone | a to
        volver | return returned returned | a to
        caminar | walk walked walked | a to
        llegar | arrive arrived arrived | a at
        venir | come came come | de from
        """
    )
    for verb, (spanish, *english) in verbs.items():
        choices = _spread(200, _SUBJECTS, _TENSES, _MOODS, _PLACES)
        for i, (subject, tense, mood, (place, at)) in enumerate(choices):
            # Spanish does not say "estoy yendo" for going somewhere.
            going_now = tense == "progressive" and spanish != "en"
            if going_now or _is_odd(subject, tense, mood):
                continue
            rest = _governed(spanish, (english or [at])[0], place)
            when = _time(tense, i)
            yield _say(subject, verb, tense, mood, rest=rest, when=when)


_BE_TENSES = ("present", "imperfect", "future")


def _describing():
    """La casa no es roja. ¿Están cansados los niños?"""
    determiners = ("the", "this", "that", "my", "your", "our")
    groups = [
        (group, "ser", adjectives)
        for group, (_, adjectives) in lexicon.GROUPS.items()
        if group not in (*lexicon.MASS_GROUPS, "languages")
    ]
    groups += [
        ("openable", "estar", "abierto cerrado"),
        ("vehicles", "estar", "sucio limpio"),
        ("house", "estar", "sucio limpio vacío cerrado"),
    ]
    for group, verb, adjectives in groups:
        for noun, plural, determiner, adjective, tense, mood in _spread(
            140,
            lexicon.nouns(group),
            (False, True),
            determiners,
            adjectives.split(),
            _BE_TENSES,
            _MOODS,
        ):
            subject = _as_subject(_noun_phrase(noun, plural, determiner))
            yield _be(
                subject,
                verb,
                tense,
                mood,
                predicate=_adjective(adjective, subject),
            )
    feelings = "cansado contento triste enfermo ocupado listo preocupado"
    for subject, feeling, tense, mood in _spread(
        700, _SUBJECTS, feelings.split(), _BE_TENSES, _MOODS
    ):
        if _is_odd(subject, tense, mood):
            continue
        predicate = _adjective(feeling, subject)
        yield _be(subject, "estar", tense, mood, predicate=predicate)


def _adjective(adjective, subject):
    form = lexicon.agree(adjective, subject.gender, subject.person > 2)
    return _piece(form, lexicon.ADJECTIVES[adjective])


def _locating():
    """El gato está debajo de la mesa."""
    positions = (
        ("debajo de", "under"),
        ("cerca de", "near"),
        ("detrás de", "behind"),
        ("delante de", "in front of"),
        ("al lado de", "next to"),
    )
    things = lexicon.nouns("objects", "animals", "clothes")
    places = lexicon.nouns("furniture", "vehicles")
    for thing, plural, position, place, tense, mood in _spread(
        900, things, (False, True), positions, places, _BE_TENSES, _MOODS
    ):
        yield _be(
            _as_subject(_noun_phrase(thing, plural)),
            "estar",
            tense,
            mood,
            rest=_governed(*position, _noun_phrase(place).piece),
        )


def _existing():
    """Hay dos sillas en el jardín."""
    counts = (("a", False), ("two", True), ("three", True), ("many", True))
    nouns = lexicon.nouns("animals", "people", "furniture")
    for (determiner, plural), (finite, be), mood, noun, (place, at) in _spread(
        900,
        counts,
        (("hay", _BE), ("había", _WAS)),
        _MOODS,
        nouns,
        _PLACES,
    ):
        there = _Subject(_piece("", "there"), 4 if plural else 2, "m")
        clause = _clause(
            there,
            _VerbGroup(finite, be[there.person]),
            mood,
            predicate=_noun_phrase(noun, plural, determiner).piece,
            rest=_governed("en", at, place),
        )
        yield _sentence(clause, mood)


def _feeling():
    """Tengo hambre. Ana tiene veintiún años."""
    states = (
        ("hambre", "hungry"),
        ("sed", "thirsty"),
        ("frío", "cold"),
        ("calor", "hot"),
        ("sueño", "sleepy"),
        ("miedo", "afraid"),
        ("prisa", "in a hurry"),
        ("razón", "right"),
    )
    for subject, tense, mood, state in _spread(
        700, _SUBJECTS, _BE_TENSES, _MOODS, states
    ):
        if not _is_odd(subject, tense, mood):
            yield _be(subject, "tener", tense, mood, predicate=_piece(*state))
    years = _piece("años", "years old")
    for subject, mood, age in _spread(450, _SUBJECTS, _MOODS, range(2, 100)):
        if _is_odd(subject, "present", mood):
            continue
        predicate = _chain(_piece(*lexicon.number_words(age)), years)
        yield _be(subject, "tener", "present", mood, predicate=predicate)


def _liking():
    """Me gusta el café. A Ana no le gustan los gatos negros."""
    who = [
        (subject, _piece(clitic))
        for subject, clitic in zip(
            (_I, _YOU, _WE), ("me", "te", "nos"), strict=True
        )
    ]
    who += [
        (
            subject._replace(piece=_governed("a", "", subject.piece)),
            _piece("les" if subject.person == 4 else "le"),
        )
        for subject in _OTHERS
    ]
    what = [
        _noun_phrase(
            noun, group not in lexicon.MASS_GROUPS, "generic", adjective
        )
        for group in ("food", "drinks", "fruit", "clothes", "animals", "print")
        for noun in lexicon.nouns(group)
        for adjective in (None, *lexicon.GROUPS[group][1].split())
    ]
    what += [
        _NounPhrase(_piece(spanish, f"to {english}"), "m", False)
        for spanish, english in lexicon.entries(
            """bailar dance, cantar sing, leer read, viajar travel,
            cocinar cook, nadar swim, dormir sleep, estudiar study"""
        )
    ] * 5
    for (subject, clitic), mood, thing in _spread(1300, who, _MOODS, what):
        if subject is _I and mood == "question":
            continue
        likes = _verb_group(
            lexicon.Verb("gustar", "like", "liked", "liked"),
            "present",
            subject.person,
            operator=mood != "statement",
        )
        finite = "gustan" if thing.plural else "gusta"
        clause = _clause(
            subject,
            likes._replace(finite=finite),
            mood,
            said_by="clitic",
            clitic=clitic,
            rest=thing.piece,
        )
        yield _sentence(clause, mood)


_MINUTES = [
    _piece(),
    *(
        _piece(spanish, english, "0-1 1-0")
        for spanish, english in (
            ("y cinco", "five past"),
            ("y diez", "ten past"),
            ("y veinte", "twenty past"),
            ("y veinticinco", "twenty-five past"),
            ("y media", "half past"),
            ("menos veinticinco", "twenty-five to"),
            ("menos veinte", "twenty to"),
            ("menos diez", "ten to"),
            ("menos cinco", "five to"),
        )
    ),
    _piece("y cuarto", "a quarter past", "0-1 1-1 2-0"),
    _piece("menos cuarto", "a quarter to", "0-1 1-1 2-0"),
]


def _clock(hour, minutes):
    """The time, as "las tres y media" and "half past three"."""
    full_hour = not minutes.spanish
    return _join(
        "article hour minutes",
        "minutes hour article",
        ties=[] if full_hour else ["article hour"],
        article=_piece(
            "la" if hour == 1 else "las", "o'clock" if full_hour else ""
        ),
        hour=_piece(
            "una" if hour == 1 else lexicon.UNITS[hour],
            lexicon.ENGLISH_UNITS[hour],
        ),
        minutes=minutes,
    )


def _telling_time():
    """Son las tres y media. El tren sale a las nueve."""
    hours = range(1, 13)
    it = _Subject(_piece("", "it"), 2, "f")
    for (tense, be), mood, hour, minutes in _spread(
        800,
        (("present", "is"), ("imperfect", "was")),
        _MOODS,
        hours,
        _MINUTES,
    ):
        finite = lexicon.conjugate("ser", tense)[2 if hour == 1 else 4]
        time = _clock(hour, minutes)
        clause = _clause(it, _VerbGroup(finite, be), mood, rest=time)
        yield _sentence(clause, mood)
    start = lexicon.Verb("empezar", "start", "started", "started")
    leave = lexicon.Verb("salir", "leave", "left", "left")
    arrive = lexicon.Verb("llegar", "arrive", "arrived", "arrived")
    events = [
        (_noun_phrase(lexicon.Noun(spanish, gender, english, "")), verb)
        for spanish, gender, english, verb in (
            ("tren", "m", "train", leave),
            ("autobús", "m", "bus", leave),
            ("avión", "m", "plane", arrive),
            ("barco", "m", "boat", arrive),
            ("clase", "f", "class", start),
            ("concierto", "m", "concert", start),
            ("película", "f", "movie", start),
        )
    ]
    days = lexicon.verbs(
        """
        levantarse | get got gotten up |
        despertarse | wake woke woken up |
        acostarse | go went gone to bed |
        """
    )
    does = [(_as_subject(event), verb) for event, verb in events]
    does += [(subject, verb) for verb in days for subject in _SUBJECTS]
    for (subject, verb), tense, mood, hour, minutes in _spread(
        1100, does, ("present", "past", "future"), _MOODS, hours, _MINUTES
    ):
        if _is_odd(subject, tense, mood):
            continue
        rest = _governed("a", "at", _clock(hour, minutes))
        when = _NOTHING if tense == "present" else _WHEN[tense][0]
        yield _say(subject, verb, tense, mood, rest=rest, when=when)


def _asking():
    """¿Dónde compraste la fruta? ¿Cuántos libros tienes?"""
    where, when = _piece("dónde", "where"), _piece("cuándo", "when")
    why, what = _piece("por qué", "why"), _piece("qué", "what")
    askable = [subject for subject in _SUBJECTS if subject is not _I]
    who = _Subject(_piece("quién", "who"), 2, "m")
    tenses = ("present", "past", "future", "going")
    for verb, groups in lexicon.ACTIONS.items():
        things = _things(groups)
        for opening, subject, tense, thing in _spread(
            45, (where, when, why), askable, tenses, things
        ):
            past = _WHEN["past"][0] if tense == "past" else _NOTHING
            if opening is when:
                if tense == "past" and subject is _WE:
                    # The form is the present's too, and nothing else tells.
                    continue
                past = _NOTHING
            yield _say(
                subject,
                verb,
                tense,
                "question",
                opening=opening,
                rest=thing.piece,
                when=past,
            )
        for i, (subject, tense) in enumerate(
            _spread(40, askable, _tenses(verb))
        ):
            yield _say(
                subject,
                verb,
                tense,
                "question",
                opening=what,
                when=_time(tense, i),
            )
        for i, (tense, thing) in enumerate(_spread(20, _tenses(verb), things)):
            group = _verb_group(verb, tense, who.person)
            clause = _clause(who, group, rest=thing.piece, when=_time(tense, i))
            yield _sentence(clause, "question")
    for verb, groups in lexicon.STATES.items():
        nouns = lexicon.nouns(*groups)
        for subject, noun in _spread(90, askable, nouns):
            opening = _noun_phrase(noun, True, "how many").piece
            yield _say(subject, verb, "present", "question", opening=opening)


def _asking_about():
    """¿Dónde está el gato? ¿De qué color es la casa?"""
    questions = [
        (_piece("dónde", "where"), "estar", ("objects", "animals", "people")),
        (_piece("cómo", "how"), "estar", ("people",)),
        (
            _piece("de qué color", "what color", "0-0 0-1 1-2"),
            "ser",
            ("clothes", "vehicles", "furniture", "house"),
        ),
    ]
    determiners = ("the", "my", "your", "our", "this", "that")
    for opening, verb, groups in questions:
        nouns = lexicon.nouns(*groups)
        for noun, plural, determiner, tense in _spread(
            180, nouns, (False, True), determiners, _BE_TENSES[:2]
        ):
            subject = _as_subject(_noun_phrase(noun, plural, determiner))
            yield _be(subject, verb, tense, "question", opening=opening)


def _pricing():
    """¿Cuánto cuesta la camisa? La camisa cuesta veinte euros."""
    cost = lexicon.Verb("costar", "cost", "cost", "cost")
    how_much = _piece("cuánto", "how much")
    euros = _piece("euros", "euros")
    nouns = lexicon.nouns("clothes", "objects", "furniture")
    determiners = ("the", "this", "that")
    for noun, plural, determiner in _spread(
        90, nouns, (False, True), determiners
    ):
        thing = _as_subject(_noun_phrase(noun, plural, determiner))
        yield _say(thing, cost, "present", "question", opening=how_much)
    for noun, plural, determiner, price in _spread(
        450, nouns, (False, True), determiners, range(2, 100)
    ):
        thing = _as_subject(_noun_phrase(noun, plural, determiner))
        price = _chain(_piece(*lexicon.number_words(price)), euros)
        yield _say(thing, cost, "present", rest=price)


def _combining():
    """Creo que Ana vende la casa. No trabajo porque estoy cansado."""
    think = lexicon.Verb("creer", "think", "thought", "thought")
    that = _piece("que", "that")
    facts = []
    for verb, groups in lexicon.ACTIONS.items():
        for subject, tense, mood, thing in _spread(
            30, _OTHERS, ("past", "future"), _MOODS[:2], _things(groups)
        ):
            if _is_odd(subject, tense, mood, thing.piece):
                continue
            group = _verb_group(verb, tense, subject.person, mood == "negative")
            when = _WHEN[tense][0]
            facts.append(
                _clause(subject, group, mood, rest=thing.piece, when=when)
            )
    for fact, thinker in zip(facts, itertools.cycle(_SUBJECTS), strict=False):
        group = _verb_group(think, "present", thinker.person)
        yield _sentence(_chain(_clause(thinker, group), that, fact))
    because = _piece("porque", "because")
    absences = lexicon.verbs(
        """
        trabajar | work worked worked |
        cantar | sing sang sung |
        bailar | dance danced danced |
        correr | run ran run |
        estudiar | study studied studied |
        """
    )
    feelings = "cansado triste enfermo ocupado preocupado".split()
    tenses = (("present", "present"), ("future", "future"))
    for subject, verb, feeling, (tense, be_tense) in _spread(
        500, (_I, _YOU, _WE), absences, feelings, tenses
    ):
        group = _verb_group(verb, tense, subject.person, operator=True)
        reason = _clause(
            subject,
            _to_be("estar", be_tense, subject.person),
            predicate=_adjective(feeling, subject),
        )
        yield _sentence(
            _chain(_clause(subject, group, "negative"), because, reason)
        )


def _naming():
    """La casa roja. ¡Qué casa tan bonita!"""
    groups = [group for group in lexicon.GROUPS if group != "languages"]
    for group in groups:
        for (thing,) in _spread(60, _noun_phrases(group)):
            if len(thing.piece.spanish) > 1:
                yield _sentence(thing.piece)
    for group in groups:
        plurals = (False,) if group in lexicon.MASS_GROUPS else (False, True)
        for noun, plural, adjective in _spread(
            40, lexicon.nouns(group), plurals, lexicon.GROUPS[group][1].split()
        ):
            subject = _noun_phrase(noun, plural, "bare").piece
            quality = _adjective(
                adjective, _as_subject(_noun_phrase(noun, plural))
            )
            what = (
                "what" if plural or group in lexicon.MASS_GROUPS else "what a"
            )
            if what == "what a" and quality.english[0][0] in "aeiou":
                what = "what an"
            piece = _join(
                "what noun so quality",
                "what quality noun",
                ties=["so quality"],
                what=_piece("qué", what),
                noun=subject,
                so=_piece("tan"),
                quality=quality,
            )
            yield _sentence(piece, "exclamation")


_FAMILIES = (
    _naming,
    _describing,
    _transitive,
    _possessive,
    _object_pronouns,
    _giving,
    _moving,
    _locating,
    _existing,
    _feeling,
    _liking,
    _telling_time,
    _asking,
    _asking_about,
    _pricing,
    _combining,
)


def load_phrases():
    """Generates the corpus.

    The same in every process and on every machine: no chance is involved.

    Returns:
        A list of `Phrase`, some 30,000, each of 2 to 15 words besides
        punctuation. The Spanish sentences are distinct.

    Example:
        >>> from keras_attention.datasets import phrases
        >>> phrases.load_phrases()[0].spanish
        'La camisa.'
    """
    sentences = itertools.chain.from_iterable(family() for family in _FAMILIES)
    return list({phrase.spanish: phrase for phrase in sentences}.values())
