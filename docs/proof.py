"""Verifies the proof of one row of Waymark without Waymark. Needs verify.py beside it, and nothing else but Python 3.8.

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


def check(leaf, content, tree, what):
    salt = hexadecimal(leaf["salt"], 16, what + ": its salt is not 16 bytes in hex")
    refuse(not 0 <= leaf["index"] < leaf["leaves"] < 2**63, what + ": there is no such leaf")
    refuse(root(leaf["index"], leaf["leaves"], sha256(b"\0" + salt + content), hashes(leaf["path"], what)) != tree, what)


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


def verify(path, policy=None, record=None):
    with open(path, "rb") as file:
        proof = strict(file.read(1 << 20), "form", PROOF)
    records, entries = proof["records"] or [], proof["entries"] or []
    row, digest, ways, refused = parse_body(b64(proof["body"], "form: body"))
    refuse(proof["proof"] != 1, "form: it is a proof of another version")
    refuse(len(records) != 1 + len(ways), "form: it does not have a record for the chunk and for each way, and no others")
    for leaf in [proof["row"]] + records + entries:
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
    check(proof["row"], b64(proof["body"], "form: body"), hexadecimal(said[0].get("root"), 32, "chunk: it has no root"), "chunk: the row is not under its root")
    for way, of in zip(ways, said[1:]):
        refuse(of.get("table") != "ways" or of.get("way") != way, "ways: a record is not the way that the row took")
    if record:
        with open(record, "rb") as file:
            refuse(sha256(file.read()) != digest, "record: its SHA-256 is not the one that was recorded")
    print("row %d of %s, in run %s of %s, %s" % (row, said[0].get("source"), run, entry.get("pipeline"), entry.get("status")))
    print("record SHA-256 %s, refused %d times" % (digest.hex(), refused))
    for of in said[1:]:
        print("way %s" % of.get("signature"))
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
