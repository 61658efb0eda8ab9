"""Lines that nobody should send, and that somebody will."""

import random


WORDS = ["la", "casa", "roja", "¿Dónde", "está?", "él", "mañana", "12", "3,14"]
ODD = [
    b"",
    b" ",
    b"\t\v\f\r \x1c\x85",
    b"\x00",
    b"\x00la casa\x00",
    b"\xff\xfe",
    b"\xc0\xaf la \xe0\x80\xaf",  # overlong
    b"\xed\xa0\x80 casa \xed\xbf\xbf",  # lone surrogates
    b"\xf4\x90\x80\x80",  # beyond Unicode
    b"casa \xe2\x82",  # ends within a character
    b"la\rcasa\r",
    "la\u2028casa\u2029roja\u0085".encode(),
    "שלום casa مرحبا \u202eajor\u202c".encode(),
    ("a" + "\u0301" * 300 + " casa").encode(),
    "😀👩‍👩‍👧‍👦🇪🇸 ¡sí!".encode(),
    "\ufeffla casa\u200b\u00a0roja\u00ad".encode(),
    "▁".encode(),
    "▁▁ ▁la▁casa".encode(),
    b"<s> </s> <pad> <unk>",
    b"<pad>" * 300,
    b"?!.,;:-()[]{}" * 9,
    "¿" * 300 + "?",
    "﷽ ꧅ 𒐫 ℵ ﬁ Ⅷ".encode(),
    b"-1e999 0x00 NaN 1/0 007",
    b"'; DROP TABLE frases; --",
    b"%s %d {0} $HOME ../../etc",
    b"<script>alert('casa')</script>",
    b"x" * 100_000,
    b"casa " * 20_000,
    b" " * 100_000 + b"casa",
    "ñ".encode() * 50_000,
    "😀".encode() * 25_000,
    bytes(range(256)).replace(b"\n", b"") * 390,
]
ODD = [line.encode() if isinstance(line, str) else line for line in ODD]


def hostile_lines(count, seed=7):
    """Draws lines of bytes, each without a newline; ODD comes first.

    Args:
        count: How many, at least as many as ODD.
        seed: Of the draw.

    Returns:
        A list of bytes.
    """
    draw = random.Random(seed)
    makers = [random_bytes, random_characters, broken_words, mixture]
    drawn = [draw.choice(makers)(draw) for _ in range(count - len(ODD))]
    return ODD + [line.replace(b"\n", b" ") for line in drawn]


def random_bytes(draw):
    return draw.randbytes(draw.randrange(80))


def random_characters(draw):
    """Any code points, lone surrogates among them."""
    limit = draw.choice([0x80, 0x250, 0x3000, 0x110000])
    size = draw.randrange(40)
    text = "".join(chr(draw.randrange(limit)) for _ in range(size))
    return text.encode(errors="surrogatepass")


def broken_words(draw):
    """Words in which one byte is another."""
    words = " ".join(draw.choices(WORDS, k=draw.randrange(1, 30))).encode()
    index = draw.randrange(len(words))
    return words[:index] + draw.randbytes(1) + words[index + 1 :]


def mixture(draw):
    """Parts of odd lines, put together."""
    parts = draw.choices(ODD, k=3)
    return draw.choice([b"", b" ", b"\t"]).join(part[:50] for part in parts)
