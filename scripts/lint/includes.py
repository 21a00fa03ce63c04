#!/usr/bin/env python3
"""includes.py ROOT: a folder includes only what ARCHITECTURE.md lets it.

The two tables of that page are the rule, read from it so that page and check cannot drift apart:

  | folder | may include, itself aside |   names between backticks, "nothing" or "all above"; a
                                           name of a header (`verify/x.h`) lets in that one alone
  | headers | only in |                    patterns of headers, and of the paths they may be in

A row may name only folders of rows above it, so the table has no cycle. tests/ may include
anything. Includes are written from src/; a public header sees "tutti/..." and the standard library.
"""

import fnmatch
import pathlib
import re
import sys

import tree

FOLDERS_TABLE = ("folder", "may include, itself aside")
VENDORS_TABLE = ("headers", "only in")
PUBLIC = "include/tutti"
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


class BadTable(Exception):
    pass


def rows_of(page, header):
    """The rows, as pairs of cells, of the one table of the page with this header."""
    lines = page.splitlines()
    cells = [tuple(cell.strip() for cell in line.strip().strip("|").split("|")) for line in lines]
    if cells.count(header) != 1:
        raise BadTable(f"needs exactly one table | {header[0]} | {header[1]} |")
    rows = []
    for line, row in list(zip(lines, cells))[cells.index(header) + 2:]:
        if not line.startswith("|"):
            break
        if len(row) != 2:
            raise BadTable(f"a row of two cells wanted: {line}")
        rows.append(row)
    return rows


def names_in(cell):
    return " ".join(re.findall(r"`([^`]+)`", cell)).split()


def folder_rules(page):
    """folder -> what it may include: folders and single headers, itself aside."""
    rules = {PUBLIC: set()}
    for left, right in rows_of(page, FOLDERS_TABLE):
        allowed = set(rules) if "all above" in right else set(names_in(right))
        if not allowed and right != "nothing":
            raise BadTable(f"cannot read what {left} may include: {right}")
        for name in allowed:
            if name not in rules and name.partition("/")[0] not in rules:
                raise BadTable(f"{left} may include {name}, which no row above is about")
        rules |= {folder: allowed for folder in names_in(left)}
    if "verify" in rules["plan"] or "plan" in rules["verify"]:
        raise BadTable("plan and verify must not see each other: they are two independent readings")
    return rules


def vendor_rules(page):
    """(patterns of headers, patterns of paths) pairs."""
    return [(names_in(left), names_in(right)) for left, right in rows_of(page, VENDORS_TABLE)]


def folder_of(name):
    """The row that a file falls under, or None for a file that may include anything."""
    if name.startswith("src/"):
        return name.split("/")[1]
    if name.startswith(PUBLIC + "/"):
        return PUBLIC
    top = name.split("/")[0]
    return top if top in {"frontends", "tools", "bench", "examples"} else None


def objection(folder, quote, header, rules):
    """Why the folder may not include the header, or None."""
    top = header.partition("/")[0]
    if top == "tutti":
        return None
    if folder == PUBLIC:
        is_standard = quote == "<" and re.fullmatch(r"[a-z_]+", header)
        return None if is_standard else "a public header includes tutti/ and the standard library only"
    if quote == "<":
        return None  # the vendor table is about these
    if folder not in rules:
        return f"{folder} has no row in ARCHITECTURE.md"
    if top in rules and "/" in header:
        allowed = rules[folder] | {folder}
        return None if top in allowed or header in allowed else f"{folder} may not include {top}"
    if folder in {"tools", "bench", "examples", "frontends"} and ".." not in header:
        return None  # its own files
    return 'write includes from src/: "folder/file.h"'


def main(root):
    root = pathlib.Path(root)
    page = (root / "ARCHITECTURE.md").read_text(encoding="utf-8")
    try:
        rules, vendors = folder_rules(page), vendor_rules(page)
    except BadTable as bad:
        tree.finish("lint.includes", [f"ARCHITECTURE.md: {bad}"], 1)
    violations, num_checked = [], 0
    for path, name in tree.files(root, tree.CXX):
        folder = folder_of(name)
        if folder is None:
            continue
        num_checked += 1
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not (include := INCLUDE.match(line)):
                continue
            quote, header = include.groups()
            if why := objection(folder, quote, header, rules):
                violations.append(f"{name}:{number}: {header}: {why}")
            for patterns, places in vendors:
                if any(fnmatch.fnmatch(header, pattern) for pattern in patterns) and not any(
                        fnmatch.fnmatch(name, place + "*") for place in places):
                    violations.append(f"{name}:{number}: {header} belongs in {' '.join(places)} only")
    tree.finish("lint.includes", violations, num_checked)


main(sys.argv[1])
