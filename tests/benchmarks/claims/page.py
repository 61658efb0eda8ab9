"""Tables and plots of docs/results.md, from the JSON that `papers.py` wrote."""

import statistics

import numpy as np
from claims.rows import LUONG
from claims.rows import ROWS
from matplotlib.figure import Figure


LENGTH_ROWS = ("bahdanau", "bahdanau-fixed", "general", "general-fixed")
LENGTH_PAIRS = (LENGTH_ROWS[:2], LENGTH_ROWS[2:])
LONG_ROWS = [f"{name}-long" for name in LENGTH_ROWS]
FED_ROWS = [f"{name}-fed" for name in LUONG]
VARIANTS = [
    f"general-{name}{fed}" for name in ("wide", "tanh") for fed in ("", "-fed")
]
LUONG_ROWS = (
    "general-fixed",
    *LUONG,
    *FED_ROWS,
    *VARIANTS,
    "bahdanau-fixed",
    "bahdanau",
)
ALIGNED_ROWS = (*LUONG, "bahdanau")
MASK_ROWS = ("general", "general-unmasked", "bahdanau", "bahdanau-unmasked")
COLORS = {
    "general": "tab:blue",
    "bahdanau": "tab:orange",
    "dot": "tab:green",
    "concat": "tab:red",
    "local-m": "tab:purple",
    "local-p": "tab:brown",
    "local-p-scaled": "tab:pink",
}


def write_page(path, results):
    """Puts every table between its marks, and the plots beside the page."""
    rows = rows_of(results)
    text = path.read_text(encoding="utf-8")
    path.write_text(fill(text, rows), encoding="utf-8")
    plot_lengths(rows, path.with_name("results_length.png"))
    plot_losses(rows, path.with_name("results_loss.png"))


def rows_of(results):
    """Returns the entries of all seeds for the name of each row."""
    rows = {name: [] for name in ROWS}
    for entry in results.values():
        rows[entry["row"]].append(entry)
    return {name: entries for name, entries in rows.items() if entries}


def fill(text, rows):
    """Returns the text of a page with all tables made anew."""
    for name, table in TABLES.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, opened, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not opened or not closed:
            raise ValueError(
                f"the page has no place for the table {name!r}. Expected the "
                f"lines {begin!r} and {end!r}."
            )
        text = f"{before}{begin}\n\n{table(rows)}\n\n{end}{after}"
    return text


def cell(values, digits=1, factor=1.0):
    """Formats the figures of all seeds: their mean, and how far they reach."""
    values = [factor * value for value in values]
    text = f"{statistics.mean(values):,.{digits}f}"
    if len(values) > 1:
        text += f" ± {(max(values) - min(values)) / 2:,.{digits}f}"
    return text


def figures(entries, name, **options):
    return cell([entry[name] for entry in entries], **options)


def markdown(header, lines):
    rule = ["---"] + ["---:"] * (len(header) - 1)
    rows = (f"| {' | '.join(line)} |" for line in (header, rule, *lines))
    return "\n".join(rows)


def available(names, rows):
    return [name for name in names if name in rows]


def lengths_of(entries, name="bleu_by_length"):
    """Returns the BLEU of every seed for each length, and its sentences."""
    parts = [part for entry in entries for part in entry.get(name, ())]
    return {
        part["words"]: (
            part["count"],
            [
                other["bleu"]
                for other in parts
                if other["words"] == part["words"]
            ],
        )
        for part in parts
    }


def machines(rows):
    """Tells where each row was trained, and with what."""
    trained = {}
    for name, entries in rows.items():
        for entry in entries:
            place = [
                f"a core of {entry['processor']}",
                *(f"{part} {v}" for part, v in entry["versions"].items()),
                f"seed {entry['seed']}",
            ]
            trained.setdefault(", ".join(place), []).append(name)
    return "\n".join(
        f"- {place}: {', '.join(names)}"
        for place, names in sorted(trained.items())
    )


def by_length(columns):
    """Yields words, number of sentences, and the BLEU of every row.

    Args:
        columns: What `lengths_of` returns, for the name of each row.
    """
    for words, (count, _) in next(iter(columns.values()), {}).items():
        scores = {name: known[words][1] for name, known in columns.items()}
        yield words, f"{count:,}", scores


def length_table(rows):
    names = available(LENGTH_ROWS, rows)
    columns = {name: lengths_of(rows[name]) for name in names}
    pairs = [pair for pair in LENGTH_PAIRS if set(pair) <= set(names)]
    lines = []
    for words, count, scores in by_length(columns):
        kept = [np.mean(scores[b]) / np.mean(scores[a]) for a, b in pairs]
        lost = [f"{100 * (1 - share):.0f} %" for share in kept]
        lines.append([words, count, *map(cell, scores.values()), *lost])
    header = ["words in the source", "sentences", *names]
    header += [f"{name}, lost" for name, _ in pairs]
    return markdown(header, lines)


def longer_table(rows):
    columns = {
        name: lengths_of(rows[name], "bleu_of_longer")
        for name in available([*LENGTH_ROWS, *LONG_ROWS], rows)
    }
    columns = {name: known for name, known in columns.items() if known}
    lines = [
        [words, count, *map(cell, scores.values())]
        for words, count, scores in by_length(columns)
    ]
    return markdown(["words in the source", "sentences", *columns], lines)


def luong_table(rows):
    header = [
        "translator",
        "parameters",
        "steps",
        "ms a step",
        "perplexity",
        "BLEU",
    ]
    lines = []
    for name in available(LUONG_ROWS, rows):
        entries = rows[name]
        milliseconds = [
            1000 * entry["seconds"] / entry["steps"] for entry in entries
        ]
        lines.append(
            [
                name,
                f"{entries[0]['parameters']:,}",
                figures(entries, "steps", digits=0),
                cell(milliseconds, digits=0),
                figures(entries, "perplexity", digits=2),
                figures(entries, "bleu"),
            ]
        )
    return markdown(header, lines)


def alignment_table(rows):
    def rate(entries, name):
        rates = [
            entry["alignment_error_rate"][name]
            for entry in entries
            if name in entry["alignment_error_rate"]
        ]
        return cell(rates, digits=3) if rates else ""

    names = [
        *ALIGNED_ROWS,
        *FED_ROWS,
        *VARIANTS,
        *(name for name, row in ROWS.items() if row.corpus == "phrases"),
    ]
    lines = [
        [name, rate(rows[name], "gold"), rate(rows[name], "phrases")]
        for name in available(names, rows)
    ]
    return markdown(
        ["translator", "sentences of parliament", "built-in corpus"], lines
    )


def mask_table(rows):
    header = [
        "translator",
        "perplexity",
        "BLEU, similar lengths",
        "BLEU, any lengths",
        "translations changed",
    ]
    lines = [
        [
            name,
            figures(rows[name], "perplexity", digits=2),
            figures(rows[name], "bleu"),
            figures(rows[name], "shuffled_bleu"),
            figures(rows[name], "shuffled_changes", factor=100) + " %",
        ]
        for name in available(MASK_ROWS, rows)
    ]
    return markdown(header, lines)


TABLES = {
    "machines": machines,
    "length": length_table,
    "longer": longer_table,
    "luong": luong_table,
    "alignment": alignment_table,
    "masks": mask_table,
}


def start_axes(ax, **labels):
    ax.set(**labels)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.3)


def base_of(name):
    """Returns the row whose color a row has."""
    for ending in ("-long", "-fixed", "-fed"):
        name = name.removesuffix(ending)
    return name


def plot_lengths(rows, path):
    """Draws BLEU over the length of the source, with and without attention."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, names, most in zip(
        axes, (LENGTH_ROWS, LONG_ROWS), ("four", "eight"), strict=True
    ):
        start_axes(
            ax,
            xlabel="words in the source",
            title=f"trained with up to {most} sentences in a row",
        )
        for name in available(names, rows):
            lengths = lengths_of(rows[name])
            longer = lengths_of(rows[name], "bleu_of_longer")
            if longer:  # these tell the last of the others apart
                lengths.popitem()
            lengths |= longer
            ax.plot(
                list(lengths),
                [np.mean(scores) for _, scores in lengths.values()],
                "o--" if "fixed" in name else "o-",
                color=COLORS[base_of(name)],
                label=name,
            )
        ax.set_ylim(bottom=0)
    axes[0].set_ylabel("BLEU")
    figure.legend(
        *axes[0].get_legend_handles_labels(),
        loc="outside lower center",
        frameon=False,
        ncols=4,
    )
    figure.savefig(path, dpi=150)


def plot_losses(rows, path):
    """Draws how the training loss falls, over the steps and over the time."""
    figure = Figure(figsize=(9, 5), layout="constrained")
    by_steps, by_time = figure.subplots(1, 2, sharey=True)
    start_axes(by_steps, xlabel="steps", ylabel="cross-entropy of a piece")
    start_axes(by_time, xlabel="minutes of one core")
    by_steps.set_yscale("log")
    for name in available((*LUONG, *FED_ROWS, "bahdanau"), rows):
        entry = rows[name][0]
        steps = entry["loss_every"] * (np.arange(len(entry["losses"])) + 1)
        minutes = steps * entry["seconds"] / entry["steps"] / 60
        style = {
            "linestyle": "--" if name.endswith("fed") else "-",
            "color": COLORS[base_of(name)],
            "label": name,
            "linewidth": 1.2,
        }
        by_steps.plot(steps, entry["losses"], **style)
        by_time.plot(minutes, entry["losses"], **style)
    by_steps.xaxis.set_major_formatter("{x:,.0f}")
    by_steps.yaxis.set_major_formatter("{x:g}")
    by_steps.yaxis.set_minor_formatter("{x:g}")
    figure.legend(
        *by_time.get_legend_handles_labels(),
        loc="outside lower center",
        frameon=False,
        ncols=5,
    )
    figure.savefig(path, dpi=150)
