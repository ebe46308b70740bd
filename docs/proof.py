"""Verifies the proof of one row of Waymark, or of fields of it, without Waymark. Needs verify.py beside it, and nothing else but Python 3.8.

    python3 proof.py FILE.proof [trust.policy [RECORD]]

The exit status is 0 if the proof holds, 4 if it does not, 1 if a file cannot be read. proof.md describes the file. Without a policy the proof's own word is taken for the key of
the log. RECORD is a file with the row's record as it was read, without its line end.
"""

import base64
import json
import sys

from verify import Log, Policy, Refused, b64, print_witnesses, read_file, refuse, root, sha256, strict

LEAF = {"index": int, "leaves": int, "salt": str, "path": str}
PROOF = {"proof": int, "row": LEAF, "body": str, "records": [dict(LEAF, line=str)],
         "entries": [{"index": int, "path": str, "text": str}], "head": str}
OF_FIELDS = {"proof": int, "row": {"index": int, "leaves": int, "path": str}, "root": str, "fields": [dict(LEAF, line=str)], "records": [dict(LEAF, line=str)],
             "entries": [{"index": int, "path": str, "text": str}], "head": str}

# Parts of a body: bytes that say which one it is, and bytes of its value (seal.md).
SIZES = {1: (0, 44), 2: (2, 8), 3: (4, 32), 4: (2, 4), 5: (4, 8), 6: (4, 32), 7: (2, 8), 8: (0, 12)}


def hashes(path, what):
    data = b64(path, what)
    refuse(len(data) % 32, what + ": a path is not of whole hashes")
    return [data[i:i + 32] for i in range(0, len(data), 32)]


def hexadecimal(text, length, what):
    try:
        data = bytes.fromhex(text)
    except (ValueError, TypeError):
        data = b""
    refuse(len(data) != length or data.hex() != text, what)
    return data


def leaf_hash(leaf, content, what):
    return sha256(b"\0" + hexadecimal(leaf["salt"], 16, what + ": its salt is not 16 bytes in hex") + content)


def leads(leaf, hash, path, tree, what):
    """Whether a path leads from the place of a leaf to the root of a tree."""
    refuse(not 0 <= leaf["index"] < leaf["leaves"] < 2**63, what + ": there is no such leaf")
    return root(leaf["index"], leaf["leaves"], hash, path) == tree


def check(leaf, content, tree, what):
    refuse(not leads(leaf, leaf_hash(leaf, content, what), hashes(leaf["path"], what), tree, what), what)


def check_row(leaf, body, tree, what):
    """check for the body of a row. If the row has fields, the path begins with the root of the tree over them."""
    hash, path = leaf_hash(leaf, body, what), hashes(leaf["path"], what)
    refuse(not leads(leaf, hash, path, tree, what) and not (path and leads(leaf, sha256(b"\1" + hash + path[0]), path[1:], tree, what)), what)


def check_fields(leaf, fields, tree, what):
    """check for the root of the tree over the fields of a row. The path begins with the leaf of its body."""
    path = hashes(leaf["path"], what)
    refuse(not path or not leads(leaf, sha256(b"\1" + path[0] + fields), path[1:], tree, what), what)


def parse_body(body):
    """Number of the row, SHA-256 of its record, ids of its ways, and how often it was refused."""
    refuse(body[:3] != b"wm\1" or len(body) < 11, "form: it is not the body of a row, or of another version")
    row, record, ways, refused, last, rest = int.from_bytes(body[3:11], "big"), b"", set(), 0, b"", body[11:]
    while rest:
        name, value = SIZES.get(rest[0], (0, len(body)))
        part, data, rest = rest[:1 + name], rest[1 + name:1 + name + value], rest[1 + name + value:]
        refuse(len(data) != value or part <= last, "form: a part of the body is not whole, or not in its place")
        last = part
        if part[0] == 1:
            record = data[:32]
        elif part[0] == 2:
            ways.add(data.hex())
        refused += part[0] == 6
    refuse(row >= 2**63, "form: the body has no row")
    return row, record, sorted(ways), refused


def record_of(line, run):
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        said = None
    refuse(type(said) is not dict or said.get("run_id") != run, "run: a record is not one of the run")
    return said


def verify_fields(fields, tree):
    """Checks each field, and returns the number of the row and what is to be told."""
    row, told = None, []
    for f in fields:
        try:
            said = json.loads(f["line"])
            name, sink, value = json.dumps(said["field"])[1:-1], json.dumps(said["sink"])[1:-1], said["value"]
        except (ValueError, RecursionError, TypeError, KeyError):
            raise Refused("fields: it is not the line of a field")
        refuse(row not in (None, said.get("row")), "fields: %s of sink %s: it is of another row" % (name, sink))
        row = said.get("row")
        where = (name, sink, f["index"] + 1, f["leaves"])
        check(f, f["line"].encode(), tree, "fields: %s of sink %s: its name or its value is not what was sealed as field %d of %d of the row" % where)
        told.append("shown %s = %s at sink %s" % (name, json.dumps(value, ensure_ascii=False), sink))
    told.append("hidden: other fields of the row there, says who made the proof: %d; and everything else that is recorded of it" % (fields[0]["leaves"] - len(fields)))
    return row, told


def verify(path, policy=None, record=None):
    with open(path, "rb") as file:
        text = file.read(1 << 20)
    of_fields = b'"fields":' in text
    proof = strict(text, "form", OF_FIELDS if of_fields else PROOF)
    records, entries, fields = proof["records"] or [], proof["entries"] or [], proof.get("fields") or []
    row, digest, ways, refused = (None, None, [], 0) if of_fields else parse_body(b64(proof["body"], "form: body"))
    refuse(proof["proof"] != 1, "form: it is a proof of another version")
    refuse(len(records) != 1 + len(ways), "form: it does not have a record for the chunk and for each way, and no others")
    places = [f["index"] for f in fields]
    refuse(of_fields and (not fields or places != sorted(set(places)) or len({f["leaves"] for f in fields}) > 1), "form: the fields are not in order, or not of one row")
    for leaf in [proof["row"]] + fields + records + entries:
        b64(leaf["path"], "form: a path")
    log, entry, last = Log(read_file(policy, Policy)), {}, -1
    try:
        for e in entries:
            refuse(e["index"] <= last, "log: its entries are not in order")
            last, path = e["index"], [base64.b64encode(h).decode() for h in hashes(e["path"], "log")]
            text = "c2sp.org/tlog-proof@v1\nindex %d\n%s\n%s" % (last, "".join(h + "\n" for h in path), proof["head"])
            taken = log.take("log: entry %d" % last, last, e["text"].encode("utf-8", "replace"), text.encode("utf-8", "replace"))
            entry = entry if taken.get("type") == "rotated" else taken
        log.close()
    except Refused as reason:
        raise Refused(str(reason) if str(reason).startswith("log: ") else "log: %s" % reason)
    refuse(entry.get("type") != "sealed", "log: the last entry is not about the seal of a run")
    run = entry.get("run")
    tree = hexadecimal(entry.get("root"), 32, "log: the entry has no root")
    said = []
    for r in records:
        said.append(record_of(r["line"], run))
        refuse(r["leaves"] != entry.get("leaves"), "run: a record is in another tree")
        check(r, r["line"].encode(), tree, "run: a record is not under the run's root")
    refuse(said[0].get("table") != "chunk_seals", "chunk: the first record is not the seal of a chunk")
    chunk = hexadecimal(said[0].get("root"), 32, "chunk: it has no root")
    if of_fields:
        tree = hexadecimal(proof["root"], 32, "chunk: the row's fields have no root")
        check_fields(proof["row"], tree, chunk, "chunk: the root of the row's fields is not under its root")
        row, told = verify_fields(fields, tree)
    else:
        check_row(proof["row"], b64(proof["body"], "form: body"), chunk, "chunk: the row is not under its root")
        told = ["record SHA-256 %s, refused %d times" % (digest.hex(), refused)] + ["way %s" % of.get("signature") for of in said[1:]]
    for way, of in zip(ways, said[1:]):
        refuse(of.get("table") != "ways" or of.get("way") != way, "ways: a record is not the way that the row took")
    refuse(record and of_fields, "record: a proof of fields does not have its SHA-256: ask for one of the whole row")
    if record:
        with open(record, "rb") as file:
            refuse(sha256(file.read()) != digest, "record: its SHA-256 is not the one that was recorded")
    print("row %d of %s, in run %s of %s, %s" % (row, said[0].get("source"), run, entry.get("pipeline"), entry.get("status")))
    print("\n".join(told))
    print_witnesses(log.cosigned)
    print("verified%s: recorded so when the run was sealed%s, %s, and not changed since; log %s" % (
        "" if log.policy else " by its own word", " late" if entry.get("late") else "", entry.get("at"), log.keys[0][1].name))


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    try:
        verify(*sys.argv[1:])
    except Refused as reason:
        print("NOT verified: %s" % reason)
        sys.exit(4)
    except OSError as reason:
        sys.exit("cannot read a file: %s" % reason)
