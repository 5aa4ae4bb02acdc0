#!/usr/bin/env python3
"""Makes kubetape-tape(5) of schema/FORMAT.md: Markdown on stdin, man(7) with tbl(1) tables on stdout.

Reads the Markdown that page is written in: titles, paragraphs, lists, tables, `code`, **bold**, *emphasis*.
"""
import re
import sys

HEAD = """'\\" t
.TH KUBETAPE\\-TAPE 5 {date} "kubetape {version}" "File Formats"
.SH NAME
kubetape\\-tape \\- the format of a tape
"""
FOOT = """.SH SEE ALSO
.BR kubetape (1),
.BR sqlite3 (1)
"""
# A cell longer than this is set as a text block, which tbl fills over several lines.
SHORT_CELL = 24


def plain(text):
    for character, escape in (("\\", "\\e"), ("-", "\\-"), ("^", "\\(ha"), ("~", "\\(ti"), ("'", "\\(aq")):
        text = text.replace(character, escape)
    return text


def marked(text):
    """One line or cell of Markdown with its marks made fonts."""
    parts = re.split(r"(`[^`]+`|\*\*[^*]+\*\*|(?<!\w)\*[^* ][^*]*\*)", text)
    fonts = {"`": ("\\fB", 1), "**": ("\\fB", 2), "*": ("\\fI", 1)}
    out = []
    for part in parts:
        mark = "**" if part.startswith("**") else part[:1]
        if len(part) > 2 and mark in fonts and part.endswith(mark):
            font, width = fonts[mark]
            out.append(font + plain(part[width:-width]) + "\\fR")
        else:
            out.append(plain(part).replace("`", "\\(ga"))
    line = "".join(out)
    return "\\&" + line if line.startswith((".", "\\(aq")) else line


def cells(row):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def table(rows):
    head, body = cells(rows[0]), [cells(row) for row in rows[2:]]
    wide = [any(len(row[i]) > SHORT_CELL for row in body) for i in range(len(head))]
    print(".TS\n" + " ".join("lx" if w else "l" for w in wide) + ".")
    if any(head):
        print("\t".join("\\fI" + plain(cell) + "\\fR" if cell else "" for cell in head))
    for row in body:
        print("\t".join(f"T{{\n{marked(cell)}\nT}}" if w and cell else marked(cell) for cell, w in zip(row, wide)))
    print(".TE")


def title(line):
    """The name of a section; the files of the code, in parentheses, mean nothing to who has only the page."""
    text = re.sub(r"\s*\(`[^)]*\)$", "", line.lstrip("# ")).replace("`", "")
    print(".SH", plain(text.upper()))


def page(lines):
    rows = []
    after_title = after_blank = False
    for line in lines + [""]:
        if rows and not line.startswith("|"):
            table(rows)
            rows = []
        if line.startswith("|"):
            rows.append(line)
        elif line.startswith("# "):
            print(".SH DESCRIPTION")
            after_title = True
        elif line.startswith("#"):
            title(line)
            after_title = True
        elif not line.strip():
            after_blank = True
        else:
            item = line.startswith("* ")
            if item:
                print(".IP \\(bu 2")
            elif after_blank and not after_title:
                print(".PP")
            print(marked(line.strip()[2:] if item else line.strip()))
            after_title = after_blank = False


def main():
    version, date = sys.argv[1:3]
    print(HEAD.format(version=version, date=date), end="")
    page(sys.stdin.read().splitlines())
    print(FOOT, end="")


main()
