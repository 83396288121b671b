# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 9.2a in Python, without the calendar of the language: days are counted."""
from op_types import need

KEYS = {"kind", "column", "format", "parts", "since", "pivot"}
MONTHS = "january february march april may june july august september october november december".split()


def leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def lengths(year):
    return [31, 29 if leap(year) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


def days(year, month, day):
    """From 1970-01-01: whole years, whole months, days."""
    before = 365 * (year - 1) + (year - 1) // 4 - (year - 1) // 100 + (year - 1) // 400
    return before + sum(lengths(year)[: month - 1]) + day - 1 - 719162


def digits(text, at, least, most):
    end = at
    while end < len(text) and end - at < most and text[end] in "0123456789":
        end += 1
    need(end - at >= least, "a date without its digits")
    return int(text[at:end]), end


def read_iso(text):
    need(len(text) >= 10 and text[4] == text[7] == "-", "no ISO date")
    found = [digits(text, 0, 4, 4)[0], digits(text, 5, 2, 2)[0], digits(text, 8, 2, 2)[0], 0, 0, 0]
    rest = text[10:]
    if rest:
        for end in ("Z", "+00:00"):
            rest = rest[: -len(end)] if rest.endswith(end) else rest
        need(rest[0] in "T ", "no ISO time")
        time = rest[1:].partition(".")[0].split(":")
        need(len(time) in (2, 3) and all(len(t) == 2 for t in time), "no ISO time")
        found[3 : 3 + len(time)] = map(int, time)
    return found


def read(rule, text):
    """year, month, day, hour, minute, second."""
    if rule["format"] == "iso":
        return check(read_iso(text))
    found, at, pattern = [0, 1, 1, 0, 0, 0], 0, iter(rule["format"])
    for c in pattern:
        letter = next(pattern) if c == "%" else None
        if letter in (None, "%"):
            need(text[at : at + 1] == c, "another character in a date")
            at += 1
        elif letter in "bB":
            names = [m if letter == "B" else m[:3] for m in MONTHS]
            hits = [i for i, m in enumerate(names) if text[at : at + len(m)].lower() == m]
            need(len(hits) == 1, "no month")
            found[1], at = hits[0] + 1, at + len(names[hits[0]])
        else:
            least, most = {"Y": (4, 4), "y": (2, 2)}.get(letter, (1, 2))
            value, at = digits(text, at, least, most)
            if letter == "y":
                value += 1900 if value >= rule["pivot"] else 2000
            found["YmdHMS".index(letter.upper() if letter == "y" else letter)] = value
    need(at == len(text), "text behind a date")
    return check(found)


def check(found):
    year, month, day, hour, minute, second = found
    need(1 <= month <= 12 and year >= 1 and 1 <= day <= lengths(year)[month - 1], "a day that there is not")
    need(hour < 24 and minute < 60 and second < 60, "a time that there is not")
    return found


def part(name, since, found):
    year, month, day, hour, minute, second = found
    number = days(year, month, day)
    return {
        "days": number - since,
        "year": year,
        "quarter": (month + 2) // 3,
        "month": month,
        "day": day,
        "weekday": (number + 3) % 7 + 1,
        "day_of_year": number - days(year, 1, 1) + 1,
        "hour": hour,
        "seconds": (number - since) * 86400 + 3600 * hour + 60 * minute + second,
    }[name]
