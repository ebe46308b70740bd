"""Salts, leaves and roots of Waymark's seals, for checking them without Waymark. Needs nothing but Python's standard library, and verify.py beside it.

    python3 seal.py VECTORS.json...
    python3 seal.py landscape.db RUN

Each file is a list of objects: a key, what is recorded of the rows of a chunk or of a run, or fields of rows, and the salts, bodies and roots that follow from it.
The second form computes the root of a run that ended from its database, and compares it with the run's last seal. The roots of its chunks it takes
from the table chunk_seals: what is recorded of rows is not computed. The exit status is 0 if all fits, 4 if something differs, and 1 if a file
cannot be read or the run has no seal. The table of bytes is in seal.md.
"""

import json
import pathlib
import sqlite3
import sys

from verify import LEAVES, bodies, chunk_key, cover, leaves, salts, sha256, tree


def rows_bodies(rows):
    """The bodies of the rows of a vector."""
    lanes = lambda of: sorted((v["lane"], v["codes"], [bytes.fromhex(text) for text in v["ids"]]) for v in of or [])
    columns = lambda of: sorted((v["lane"], v["node"], bytes.fromhex(v["values"])) for v in of or [])
    hashes, n = bytes.fromhex(rows["hashes"]), len(rows["offsets"])
    numbers = zip(rows["offsets"], rows["lengths"], rows["lines"] or [0] * n)
    records = [hashes[32 * i : 32 * i + 32] + b"".join(number.to_bytes(4, "big") for number in of) for i, of in enumerate(numbers)]
    errors = {}
    for e in rows["errors"] or []:
        errors.setdefault(e["row"], []).append((e["lane"], e["node"], sha256(e["line"].encode())))
    keys = sorted((v["node"], bytes.fromhex(v["values"])) for v in rows["keys"] or [])
    parents = rows["parents"] or {"batches": ""}
    batches, tokens = bytes.fromhex(parents["batches"]), bytes.fromhex(parents.get("tokens") or "")
    made_of = [b"\x08" + batches[4 * i : 4 * i + 4] + (tokens[8 * i : 8 * i + 8] or bytes(8)) for i in range(len(batches) // 4)]
    sorted_errors = {row: sorted(of) for row, of in errors.items()}
    return list(bodies(rows["first"], records, lanes(rows["ways"]), columns(rows["columns"]), keys, columns(rows["firsts"]), sorted_errors, lanes(rows["joins"]), made_of))


def line(table, record):
    """The canonical form of a record: members by name, bytes in hex."""
    members = {name: value.hex() if isinstance(value, bytes) else value for name, value in record.items()}
    members["table"] = table
    return json.dumps(members, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def portable(data):
    """A text of the database without NUL and what is not UTF-8: such a byte, and each of an escape, is an escape and two hex digits."""
    out = []
    for c in data.decode("utf-8", "surrogateescape"):
        raw = c.encode("utf-8", "surrogateescape")
        plain = c not in "\0\u241b" and not "\udc80" <= c <= "\udcff"
        out.append(c if plain else "".join(f"\u241b{byte:02x}" for byte in raw))
    return "".join(out)


def run_keys(db, run, seq):
    """The cover of a seal's salts, and the hashes of its leaves that were forgotten. The salts follow from the key of the run until a row is forgotten."""
    own = db.execute("select keys from salts where run_id = ? and source = '' and chunk = ?", [run, seq]).fetchone()
    if own is None:
        root = db.execute("select keys from salts where run_id = ? and source = '' and chunk = -1", [run]).fetchone()
        return root and cover(chunk_key(root[0], "", seq), 1 << 30, []), {}
    forgotten = dict(db.execute("select leaf, hash from forgotten_leaves where run_id = ? and seq = ?", [run, seq]))
    return cover(own[0], 1 << 30, forgotten), forgotten


def run_lines(db, run):
    """The lines of a run's records, in the order of their leaves."""
    for table in LEAVES:
        columns = db.execute("select name, pk from pragma_table_info(?)", [table]).fetchall()
        names = [name for name, _ in columns if (table, name) != ("passages", "way_codes")]
        keys = [name for name, pk in sorted(columns, key=lambda column: column[1]) if pk]
        where = "run_id = :run"
        if table == "errors":  # those that targets refused when they were written
            where += " and node in (select sink from effects where run_id = :run and refused > 0)"
        query = f"select {', '.join(names)} from {table} where {where} order by {', '.join(keys)}"
        for record in db.execute(query, {"run": run}):
            yield line(table, dict(zip(names, record)))


def check_run(path, run):
    db = sqlite3.connect(pathlib.Path(path).absolute().as_uri() + "?mode=ro", uri=True)
    db.text_factory = portable
    last = db.execute("select seq, epoch, root, leaves, late from run_seals where run_id = ? order by seq desc limit 1", [run]).fetchone()
    keys, forgotten = run_keys(db, run, last[0]) if last else (None, {})
    if keys is None:
        print(f"run {run} has no seal here")
        return 1
    seq, epoch, root, count, late = last
    lines = list(run_lines(db, run))
    found = tree(leaves(keys, lines, forgotten))
    print(f"run {run}, seal {seq} of epoch {epoch}{', late' if late else ''}: {count} records, root {root.hex()}")
    if (found, len(lines)) != (root, count):
        print(f"the record is another: {len(lines)} records, root {found.hex()}")
        return 4
    print("the records of the run have this root; the roots of chunks were taken from chunk_seals, and not computed from the rows")
    return 0


def check_lines(vector):
    nodes = cover(chunk_key(bytes.fromhex(vector["key"]), "", vector["seq"]), 1 << 30, [])
    hashes = leaves(nodes, [text.encode() for text in vector["lines"]], {})
    got = {"root": tree(hashes).hex(), "marks": b"".join(leaf[:4] for leaf in hashes).hex()}
    return [f"{vector['name']}: {name} is {got[name]}, expected {vector[name]}" for name in got if got[name] != vector[name]]


def field_line(row, of):
    text = lambda value: json.dumps(value, ensure_ascii=False)
    return '{"field":%s,"lane":%d,"row":%d,"sink":%s,"value":%s}' % (text(of["field"]), of["lane"], row, text(of["sink"]), of["value"])


def check_fields(vector):
    """Rows of a chunk that have nothing but their numbers and fields."""
    n, first, lines, roots = vector["rows"], vector["first"], [], []
    nodes = cover(chunk_key(bytes.fromhex(vector["key"]), vector["source"], vector["chunk"]), n, {})
    for i, salt in salts(nodes):
        if i == n:
            break
        own = sorted((of for of in vector["values"] if of["row"] == i), key=lambda of: (of["lane"], of["sink"].encode(), of["field"].encode()))
        lines.append([field_line(first + i, of) for of in own])
        key = sha256(salt + b"\0")[16:]
        committed = [sha256(b"\0" + sha256(key + j.to_bytes(4, "big"))[:16] + text.encode()) for j, text in enumerate(lines[i])]
        roots.append(tree(committed) if committed else bytes(32))
    contents = list(bodies(first, [bytes(44)] * n, [], [], [], [], {}, [], []))
    got = {"lines": lines, "roots": [root.hex() for root in roots], "root": tree(leaves(nodes, contents, {}, b"".join(roots))).hex()}
    return [f"{vector['name']}: {name} is {got[name]}, expected {vector[name]}" for name in got if got[name] != vector[name]]


def check(vector):
    if "seq" in vector:
        return check_lines(vector)
    if "values" in vector:
        return check_fields(vector)
    rows, key = vector["rows"], chunk_key(bytes.fromhex(vector["key"]), vector["source"], vector["chunk"])
    n, contents = len(rows["offsets"]), rows_bodies(rows)
    nodes = cover(key, n, {})
    got = {
        "chunk_key": key.hex(),
        "salts": [salt.hex() for _, (_, salt) in zip(range(n), salts(nodes))],
        "bodies": [content.hex() for content in contents],
        "root": tree(leaves(nodes, contents, {})).hex(),
    }
    return [f"{vector['name']}: {name} is {got[name]}, expected {vector[name]}" for name in got if got[name] != vector[name]]


def main(paths):
    failed = checked = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for vector in json.load(file):
                checked += 1
                for difference in check(vector):
                    failed = 4
                    print(difference)
    print(f"{checked} vectors")
    return failed


if __name__ == "__main__":
    try:
        if len(sys.argv) == 3 and not sys.argv[2].endswith(".json"):
            sys.exit(check_run(*sys.argv[1:]))
        sys.exit(main(sys.argv[1:]))
    except (OSError, sqlite3.Error) as reason:
        sys.exit(f"cannot read a file: {reason}")
