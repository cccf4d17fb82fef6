"""Texts that tokenizers cut each in its own way: quotes, tabs, emoji, other scripts."""

from random import Random

ODD = (
    *("", " ", "\t", "a\tb\nc", "“Hi” – he said… it's »so«", "don't; ~!", "  two  spaces "),
    *("猫 and 😀", "Привет", "مرحبا", "ﬁne ½ Ⅷ e\u0301", "so\xadft\u200b \x07\ufeff", "A" * 300),
    *("▁under▁score <0x41>", ">>ces<< The cat", ">>xyz<< The cat", ">> a << b", "a >>ces<< b"),
    *("1.234,5 %", "\u2028a", "q", "<s> and [MASK]"),
)
FRAGMENTS = (
    *ODD[1:-4],
    *("The cat", "eats", "Der Hund", "ß", "İI", "\u00a0", "\u3000", "\r\n", "\x0b", "\x1f", "\x7f"),
    *(
        "👩‍👩‍👧",
        "🇩🇪",
        "e\u0301\u0323",
        "नमस्ते",
        "ไทย",
        "𝔘𝔫",
        "\u202eabc",
        "½",
        "＂ｆｕｌｌ＂",
        "''",
        '"',
        "„“",
    ),
    *(
        "<",
        ">>",
        "<<",
        "</",
        "&amp;",
        "\\n",
        "%s",
        "{}",
        "$x$",
        "*a*",
        "_b_",
        "‰",
        "¿",
        "…",
        "—",
        "\ufffd",
    ),
)


def odd_texts() -> list[str]:
    """500 of one to five fragments, with and without spaces between them."""
    draw = Random(7)
    return [
        draw.choice(("", " ", "\t")).join(draw.choices(FRAGMENTS, k=draw.randint(1, 5)))
        for _ in range(500)
    ]
