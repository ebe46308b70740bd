"""Salts, leaves and roots of Waymark's seals, for checking them without Waymark. Needs nothing but Python's standard library.

    python3 seal.py VECTORS.json...
    python3 seal.py landscape.db RUN

Each file is a list of objects: a key, what is recorded of the rows of a chunk or of a run, and the salts, bodies and root that follow from it.
The second form computes the root of a run that ended from its database, and compares it with the run's last seal. The roots of its chunks it takes
from the table chunk_seals: what is recorded of rows is not computed. The exit status is 0 if all fits, 4 if something differs, and 1 if a file
cannot be read or the run has no seal. The table of bytes is in seal.md.
"""

import hashlib
import json
import pathlib
import sqlite3
import sys


def sha256(data):
    return hashlib.sha256(data).digest()


def chunk_key(run_key, source, chunk):
    return sha256(run_key + source.encode() + b"\0" + chunk.to_bytes(8, "big"))[:16]


def salt(key, leaf, leaves):
    """The key of leaf number `leaf` of so many: radix 32, at least three levels."""
    depth = 3
    while 32**depth < leaves:
        depth += 1
    return below(key, leaf, depth)


def below(key, leaf, depth):
    for level in reversed(range(depth)):
        child = leaf // 32**level % 32
        pair = sha256(key + bytes([child // 2]))
        key = pair[16:] if child % 2 else pair[:16]
    return key


def tree(leaves):
    """The Merkle tree hash of RFC 6962 over hashes of leaves."""
    if not leaves:
        return sha256(b"")
    if len(leaves) == 1:
        return leaves[0]
    half = 1
    while 2 * half < len(leaves):
        half *= 2
    return sha256(b"\1" + tree(leaves[:half]) + tree(leaves[half:]))


def u16(n):
    return n.to_bytes(2, "big")


def u32(n):
    return n.to_bytes(4, "big")


def body(rows, i):
    hexed = lambda text, size: bytes.fromhex(text)[size * i : size * (i + 1)]
    by_lane = lambda column: (column["lane"], column.get("node", 0))
    out = [b"\x77m\1", (rows["first"] + i).to_bytes(8, "big")]
    line = rows["lines"][i] if rows["lines"] else 0
    out += [b"\1", hexed(rows["hashes"], 32), u32(rows["offsets"][i]), u32(rows["lengths"][i]), u32(line)]

    def codes(part, lanes):
        for lane in sorted(lanes or [], key=by_lane):
            code = lane["codes"][i]
            if code != 0xFFFF:
                out.extend([part, u16(lane["lane"]), bytes.fromhex(lane["ids"][code])])

    def columns(part, all_columns, size, with_lane=True):
        for column in sorted(all_columns or [], key=by_lane):
            value = hexed(column["values"], size)
            if any(value):
                out.extend([part, u16(column["lane"]) if with_lane else b"", u16(column["node"]), value])

    codes(b"\2", rows["ways"])
    columns(b"\3", rows["columns"], 32)
    columns(b"\4", rows["keys"], 4, with_lane=False)
    columns(b"\5", rows["firsts"], 8)
    for error in sorted(rows["errors"] or [], key=lambda e: (e["row"], e["lane"], e["node"])):
        if error["row"] == i:
            out += [b"\6", u16(error["lane"]), u16(error["node"]), sha256(error["line"].encode())]
    codes(b"\7", rows["joins"])
    if rows["parents"]:
        tokens = rows["parents"].get("tokens")
        out += [b"\x08", hexed(rows["parents"]["batches"], 4), hexed(tokens, 8) if tokens else bytes(8)]
    return b"".join(out)


# The tables of a run, in the order of its leaves.
TABLES = """
    runs nodes edges sources lanes tables source_ends folds chunks passages ways way_steps chunk_ways errors claims feeds merge_kinds chunk_joins
    batches members merges retried resumptions executions effects effect_events artifacts actions run_events chunk_seals
""".split()


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


def cover(keys, leaves, forgotten):
    """Nodes (first leaf, levels below, key) from which all salts follow but those of forgotten leaves; keys in the order of their leaves."""
    depth = 3
    while 32**depth < leaves:
        depth += 1
    nodes, rest = [], [keys[i : i + 16] for i in range(0, len(keys), 16)]

    def visit(first, depth):
        if first >= leaves:
            return
        if not any(first <= leaf < first + 32**depth for leaf in forgotten):
            nodes.append((first, depth, rest.pop(0)))
        elif depth > 0:
            for child in range(32):
                visit(first + child * 32 ** (depth - 1), depth - 1)

    visit(0, depth)
    return nodes


def salt_of(nodes, leaf):
    for first, depth, key in nodes:
        if first <= leaf < first + 32**depth:
            return below(key, leaf - first, depth)
    raise ValueError(f"the salt of leaf {leaf} is gone")


def run_root(nodes, lines, forgotten=None):
    """The root of a run's seal, and the first bytes of each leaf. Of a leaf that was forgotten the hash is recorded."""
    forgotten = forgotten or {}
    leaves = [forgotten.get(i) or sha256(b"\0" + salt_of(nodes, i) + text) for i, text in enumerate(lines)]
    return tree(leaves), b"".join(leaf[:4] for leaf in leaves)


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
    for table in TABLES:
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
    seq, epoch, root, leaves, late = last
    lines = list(run_lines(db, run))
    found, _ = run_root(keys, lines, forgotten)
    print(f"run {run}, seal {seq} of epoch {epoch}{', late' if late else ''}: {leaves} records, root {root.hex()}")
    if (found, len(lines)) != (root, leaves):
        print(f"the record is another: {len(lines)} records, root {found.hex()}")
        return 4
    print("the records of the run have this root; the roots of chunks were taken from chunk_seals, and not computed from the rows")
    return 0


def check_lines(vector):
    nodes = cover(chunk_key(bytes.fromhex(vector["key"]), "", vector["seq"]), 1 << 30, [])
    root, marks = run_root(nodes, [text.encode() for text in vector["lines"]])
    got = {"root": root.hex(), "marks": marks.hex()}
    return [f"{vector['name']}: {name} is {got[name]}, expected {vector[name]}" for name in got if got[name] != vector[name]]


def check(vector):
    if "seq" in vector:
        return check_lines(vector)
    rows, key = vector["rows"], chunk_key(bytes.fromhex(vector["key"]), vector["source"], vector["chunk"])
    n = len(rows["offsets"])
    salts = [salt(key, i, n) for i in range(n)]
    bodies = [body(rows, i) for i in range(n)]
    got = {
        "chunk_key": key.hex(),
        "salts": [s.hex() for s in salts],
        "bodies": [b.hex() for b in bodies],
        "root": tree([sha256(b"\0" + s + b) for s, b in zip(salts, bodies)]).hex(),
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
