"""Numbers in words."""

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
