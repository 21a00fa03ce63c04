"""The figures: one dictionary a figure, as programs print them and as the CSV keeps them."""

import csv

PRINTED = ["collective", "ranks", "bytes", "placing", "noise", "iterations", "p50", "p99", "mean",
           "wrong"]
COLUMNS = ["contender", "library", "round", "pages", "before", "after", "foreign", *PRINTED]
WHOLE = ("ranks", "bytes", "iterations", "round", "wrong")
REAL = ("noise", "p50", "p99", "mean", "foreign")


def typed(row):
    for name in WHOLE:
        row[name] = int(row.get(name) or 0)
    for name in REAL:
        row[name] = float(row.get(name) or 0)
    return row


def parse(text, context):
    """What a program printed; lines that are not figures are left out."""
    found = []
    for line in text.splitlines():
        fields = line.split(",")
        if fields[0] == "row" and len(fields) == len(PRINTED) + 1:
            found.append(typed({**context, **dict(zip(PRINTED, fields[1:]))}))
    return found


def write(path, found):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)


def read(path):
    with open(path, newline="") as file:
        return [typed(row) for row in csv.DictReader(file)]
