"""Canonical form and hash of Waymark rows (sha256-waymark-v1), for checking them without Waymark.

    python3 canonical_form.py VECTORS.jsonl...     (or - for standard input)

Each line is {"row": {FIELD: VALUE, ...}} with VALUE null or {KIND: TEXT}: {"int": "42"}, {"json": "[1, 2]"}. The text is the
plain text of the value. For each line one line is printed: the SHA-256 in hex, a space, the canonical form. If the line also has
"canonical" or "sha256", they are compared; any difference makes the exit status 1. The form is described in canonical-form.md.
"""

import hashlib
import json
import math
import re
import sys


def canonical_string(s):
    # ensure_ascii=False escapes only ", \ and the control characters below U+0020, in the way of the canonical form.
    return json.dumps(s, ensure_ascii=False)


def canonical_object(members):
    """members: list of (key, canonical value)."""
    keys = [key for key, _ in members]
    if len(set(keys)) != len(keys):
        raise ValueError(f"duplicate key in {keys}")
    members = sorted(members, key=lambda member: member[0].encode())
    escaped = [("$" + key if key.startswith("$") else key, value) for key, value in members]
    return "{" + ",".join(canonical_string(key) + ":" + value for key, value in escaped) + "}"


def canonical_float(text):
    number = float(text)
    if not math.isfinite(number) or number == 0 and re.match("[^eE]*[1-9]", text):
        raise ValueError(f"float out of range: {text}")
    return repr(number)


def typed(name, text):
    return '{"$' + name + '":' + canonical_string(text) + "}"


def decimal_digits(text):
    sign, whole, fraction = re.fullmatch(r"(-?)0*([0-9]+?)(\.[0-9]+)?", text, re.ASCII).groups()
    if not re.search("[1-9]", whole + (fraction or "")):
        sign = ""
    return sign + whole + (fraction or "")


class Canonical(str):
    """The canonical form of a part of a JSON value, as opposed to a JSON string."""


def canonical_json_number(text):
    """All digits, without an exponent: 1.20e1 is 12.0."""
    number, _, exponent = text.lower().partition("e")
    sign, whole, fraction = re.fullmatch(r"(-?)([0-9]+)\.?([0-9]*)", number, re.ASCII).groups()
    places = len(fraction) - int(exponent or 0)
    if abs(places) > 2000:
        raise ValueError(f"more than 1,000 digits: {text}")
    digits = (whole + fraction + "0" * -places).rjust(places + 1, "0")
    digits = digits[: len(digits) - max(places, 0)] + ("." + digits[-places:] if places > 0 else "")
    return Canonical(decimal_digits(sign + digits))


def refuse_constant(text):
    raise ValueError(f"not JSON: {text}")


def canonical_part(part):
    if isinstance(part, Canonical):
        return part
    if isinstance(part, str):
        return canonical_string(part)
    if isinstance(part, list):
        return "[" + ",".join(canonical_part(element) for element in part) + "]"
    return {None: "null", True: "true", False: "false"}[part]


def canonical_json(text):
    value = json.loads(
        text,
        parse_int=canonical_json_number,
        parse_float=canonical_json_number,
        parse_constant=refuse_constant,
        object_pairs_hook=lambda pairs: Canonical(canonical_object([(key, canonical_part(part)) for key, part in pairs])),
    )
    if text.lstrip(" \t\r\n")[0] in "{[":
        return canonical_part(value)
    return '{"$json":' + canonical_part(value) + "}"


FORMS = {
    "bool": lambda text: {"true": "true", "false": "false"}[text],
    "int": lambda text: str(int(text)),
    "float": canonical_float,
    "string": canonical_string,
    "date": lambda text: typed("date", text),
    "timestamp": lambda text: typed("timestamp", text),
    "decimal": lambda text: typed("decimal", decimal_digits(text)),
    "json": canonical_json,
}


def canonical_value(value):
    if value is None:
        return "null"
    [(kind, text)] = value.items()
    return FORMS[kind](text)


def canonical_row(row):
    return canonical_object([(field, canonical_value(value)) for field, value in row.items()]).encode()


def main(paths):
    failed = False
    for path in paths:
        with open(0 if path == "-" else path, encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, start=1):
                vector = json.loads(line)
                form = canonical_row(vector["row"])
                digest = hashlib.sha256(form).hexdigest()
                sys.stdout.buffer.write(digest.encode() + b" " + form + b"\n")
                if vector.get("canonical", form.decode()) != form.decode() or vector.get("sha256", digest) != digest:
                    print(f"{path}:{number}: differs from the expected canonical form or hash", file=sys.stderr)
                    failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
