r"""A table in LaTeX, laid out as in the paper; it needs `booktabs`, `multirow` and `graphicx`."""

import unicodedata
from itertools import groupby

from randpos.results.tables.table import MISSING, Column, Table, View

CAPTIONS: dict[View, str] = {
    "ours": "Ours.",
    "in_domain": "Ours, in-domain accuracy (lengths 1 to N).",
    "whole": "Ours, whole sequences: all counted tokens right.",
    "forced": "Ours, teacher-forced: the model reads the right answers.",
    "seeds": "Ours, seeds (× rates) of each number.",
    "paper": "As published.",
    "difference": "Difference, ours minus published.",
}
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "★": r"$^\bigstar$",
    "·": r"$\cdot$",
    "–": "--",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}


def latex(table: Table) -> str:
    """Writes one `table*` for each view: levels, groups of columns, the best of a row in bold."""
    return "\n".join(_view(table, view) for view in table.views())


def escape(text: str) -> str:
    """Escapes all characters that have a meaning in LaTeX."""
    seen = (c if unicodedata.category(c)[0] != "C" else "?" for c in text)
    return "".join(_SPECIAL.get(c, c) for c in seen)


def _view(table: Table, view: View) -> str:
    groups = [(name, list(columns)) for name, columns in groupby(table.columns, lambda c: c.group)]
    # An empty column sets the groups apart, as in the paper.
    layout = "@{}ll" + "".join("c" + "r" * len(columns) for _, columns in groups) + "@{}"
    lines = [r"\begin{table*}", r"  \caption{"]
    lines += [f"    {escape(line)}" for line in (f"{table.title}.", CAPTIONS[view], *_notes(table))]
    lines += ["  }", r"  \begin{center}", r"  \resizebox{\linewidth}{!}{%"]
    lines += [f"  \\begin{{tabular}}{{{layout}}}", r"    \toprule", *_groups(groups)]
    heads = [" && " + " & ".join(_head(column) for column in columns) for _, columns in groups]
    lines.append(rf"    \textbf{{Level}} & \textbf{{Task}}{''.join(heads)} \\")
    lines.append(r"    \midrule")
    levels = [(level, list(rows)) for level, rows in groupby(table.rows, lambda row: row.level)]
    for number, (level, rows) in enumerate(levels):
        if number:
            lines.append(r"    \\")
        lines.append(rf"    \multirow{{{len(rows)}}}{{*}}{{{escape(level)}}}")
        for row in rows:
            task = rf"\textsc{{{escape(row.label)}}}" + (r"$^\dagger$" if row.dagger else "")
            parts = [
                " && "
                + " & ".join(
                    _number(table.text(row, c, view), table.is_best(row, c, view)) for c in columns
                )
                for _, columns in groups
            ]
            lines.append(rf"    & {task}{''.join(parts)} \\")
    lines += [r"    \bottomrule", r"  \end{tabular}}", r"  \end{center}"]
    return "\n".join([*lines, f"  \\label{{tab:{table.name}-{view}}}", r"\end{table*}", ""])


def _notes(table: Table) -> list[str]:
    return [*table.notes, f"{MISSING}: not run, or not in the paper."]


def _groups(groups: list[tuple[str, list[Column]]]) -> list[str]:
    """The headings above the columns, each with its rule."""
    if not any(name for name, _ in groups):
        return []
    heads, rules, at = "    & ", "", 3
    for name, columns in groups:
        heads += " & & "
        if name:
            heads += rf"\multicolumn{{{len(columns)}}}{{c}}{{\textbf{{{escape(name)}}}}}"
            rules += rf"\cmidrule{{{at + 1}-{at + len(columns)}}}"
        else:
            heads += "& " * (len(columns) - 1)
        at += len(columns) + 1
    return [heads.rstrip() + r" \\", f"    {rules}"]


def _head(column: Column) -> str:
    if column.label == "sin/cos":
        return r"$\sin/\cos$"
    return rf"\textbf{{{escape(column.label)}}}"


def _number(text: str, best: bool) -> str:
    """A number as the paper prints it: only the mean is bold, its sd is not."""
    if text == MISSING:
        return escape(text)
    value, sign, sd = text.partition("±")
    bold = rf"\textbf{{{value}}}" if best else value
    if sign:
        return rf"${bold}\pm{sd}$"
    return f"${bold}$" if value[:1] in "+-" else bold
