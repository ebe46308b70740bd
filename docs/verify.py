"""Verifies a Waymark evidence bundle without Waymark. Needs only Python 3.8 and its standard library.

    python3 verify.py BUNDLE.zip [trust.policy [approvers]]

Prints each check with what it proves and what it does not. The exit status is 0 if all checks pass, 4 if one fails. bundle.md describes the file.
Without a policy (or with an empty name), the key of the log is what the bundle itself says; without approvers, whose keys signed off the run and signed orders is.
"""

import base64
import bisect
import csv
import datetime
import hashlib
import io
import json
import re
import struct
import sys
import tempfile
import zlib


class Refused(Exception):
    pass


def refuse(condition, message):
    if condition:
        raise Refused(message)


def sha256(data):
    return hashlib.sha256(data).digest()


# Ed25519 as in RFC 8032.

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add(a, b):
    s, t = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    u, v = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = t - s, v - u, v + u, t + s
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n, point):
    result = (0, 1, 1, 0)
    while n:
        if n & 1:
            result = add(result, point)
        point, n = add(point, point), n >> 1
    return result


def recover_x(y, sign):
    if y >= P:
        return None
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - x2) % P or (x == 0 and sign):
        return None
    return P - x if x & 1 != sign else x


def decompress(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    x = recover_x(y, sign)
    return None if x is None else (x, y, 1, x * y % P)


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE_X = recover_x(BASE_Y, 0)
BASE = (BASE_X, BASE_Y, 1, BASE_X * BASE_Y % P)


def compress(point):
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def ed25519_verify(public, message, signature):
    a = decompress(public)
    s = int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or a is None or s >= L:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    return compress(add(times(s, BASE), times(h, (P - a[0], a[1], a[2], P - a[3])))) == signature[:32]


# Keys and notes (C2SP signed-note).


def b64(text, what):
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise Refused(what + ": it is not base64")
    refuse(base64.b64encode(data).decode() != text, what + ": its base64 is not in the one form")
    return data


class Key:
    """A public key, as name+hash+base64. kind is 1 for a key that signs entries and heads, 4 for that of a witness."""

    def __init__(self, text, kind=1):
        parts = text.split("+", 2)
        refuse(len(parts) != 3 or not parts[0] or re.search(r"\s", parts[0]), "it is not a public key: " + text[:120])
        key = b64(parts[2], "the public key")
        self.text, self.name, self.public, self.kind = text, parts[0], key[1:], kind
        self.hash = sha256(self.name.encode() + b"\n" + key)[:4]
        refuse(len(key) != 33 or key[0] != kind or self.hash.hex() != parts[1], "it is not an Ed25519 key of this kind: " + text[:120])

    def verify(self, message, signature):
        """Of a witness the signature begins with the time (C2SP tlog-cosignature)."""
        if self.kind == 4:
            at, signature = int.from_bytes(signature[:8], "big"), signature[8:]
            return at < 253402300800 and ed25519_verify(self.public, b"cosignature/v1\ntime %d\n" % at + message, signature)
        return ed25519_verify(self.public, message, signature)


class Policy:
    """A trust policy (C2SP tlog-policy): logs by key, witnesses by name, and the quorum of these."""

    def __init__(self, text):
        self.logs, self.witnesses, self.groups, self.quorum, self.quantum, grouped = [], {}, {}, None, False, set()
        for line in text.split("\n"):
            refuse(re.search("[\x00-\x08\x0b-\x1f\x7f]", line), "it has a control character")
            words = re.findall("[^ \t]+", line)
            if not words or words[0].startswith("#"):
                continue
            kind, rest = words[0], words[1:]
            if kind == "log" and len(rest) in (1, 2) and b64(rest[0].split("+", 2)[-1], "the key of a log")[:1] == b"\6":
                self.quantum = True
            elif kind == "log" and len(rest) in (1, 2):
                refuse(Key(rest[0]).public in [k.public for k in self.logs], "two lines have the key of one log")
                self.logs.append(Key(rest[0]))
            elif kind == "witness" and len(rest) in (2, 3):
                refuse(Key(rest[1], 4).public in [k.public for k in self.witnesses.values()], "two lines have the key of one witness")
                self.define(rest[0])
                self.witnesses[rest[0]] = Key(rest[1], 4)
            elif kind == "group" and len(rest) > 2:
                for member in rest[2:]:
                    refuse(not self.known(member) or member in grouped, member + " is not defined before its group, or is in two")
                    grouped.add(member)
                need = {"any": "1", "all": str(len(rest) - 2)}.get(rest[1], rest[1])
                refuse(not re.fullmatch("[1-9][0-9]{0,5}", need) or int(need) > len(rest) - 2, rest[1] + " is no number of members")
                self.define(rest[0])
                self.groups[rest[0]] = (int(need), rest[2:])
            else:
                refuse(kind != "quorum" or len(rest) != 1 or self.quorum, "it is not a line of a policy: " + line[:80])
                refuse(rest[0] != "none" and not self.known(rest[0]), rest[0] + " is not defined before the quorum")
                self.quorum = rest[0]
        refuse(not self.quorum or not self.logs, "it has no quorum, or no log")

    def known(self, name):
        return name in self.witnesses or name in self.groups

    def define(self, name):
        refuse(name == "none" or self.known(name), "two lines define " + name)

    def met(self, name, cosigned):
        if name in self.groups:
            need, members = self.groups[name]
            return sum(self.met(member, cosigned) for member in members) >= need
        return name == "none" or name in cosigned

    def check(self, cosigned):
        missing = [n for n in self.witnesses if n not in cosigned]
        refuse(not self.met(self.quorum, cosigned), "the policy requires more cosignatures of the head; witnesses that did not cosign it: " + ", ".join(missing))


def open_head(note, log, before, witnesses):
    """Which witnesses cosigned a head, and when; its log signed it first, perhaps also by keys of before. Signatures by others are skipped, each line once."""
    text, found, lines = note.partition("\n\n")
    text, cosigned, seen = text + "\n", {}, set()
    refuse(not found or not lines.endswith("\n") or "\r" in note, "the head is not a note")
    for i, line in enumerate(lines[:-1].split("\n")):
        match = re.fullmatch("\u2014 ([^\\s+]+) (\\S+)", line)
        refuse(not match or i == 100, "the head is not a note with signatures")
        signature = b64(match.group(2), "a signature of the head")
        refuse(len(signature) < 5, "a signature of the head is too short")
        by = [(n, k) for n, k in [(None, log)] + [("", k) for k in before] + list(witnesses.items()) if k.name == match.group(1) and k.hash == signature[:4]]
        refuse((i == 0) != (by[:1] == [(None, log)]), "the log did not sign the head first, and once")
        refuse(by and not by[0][1].verify(text.encode(), signature[4:]), "%s did not sign the head" % match.group(1))
        refuse((by[0][1] if by else line) in seen, "two signatures of the head are by one key")
        seen.add(by[0][1] if by else line)
        if by and by[0][0]:
            cosigned[by[0][0]] = moment(int.from_bytes(signature[4:12], "big") * 10**6)
    return cosigned


def open_note(note, keys):
    """The text of a note with one signature, by one of the keys."""
    text, found, line = note.rpartition("\n\n")
    text += "\n"
    match = re.fullmatch("\u2014 (\\S+) (\\S+)\n", line)
    refuse(not found or not match or "\r" in note, "it is not a note with one signature")
    signature = b64(match.group(2), "the signature")
    for key in keys:
        if key.name == match.group(1) and key.hash == signature[:4]:
            refuse(not key.verify(text.encode(), signature[4:]), "%s did not sign it" % key.name)
            return text
    raise Refused("it is signed by %s, a key that does not count there" % match.group(1)[:120])


# The zip: one form, every byte of which is compared (bundle.md).

NAME = re.compile(r"[a-z0-9._/-]{1,120}")
MAX32, MAX16 = 2**32 - 1, 2**16 - 1


class Member:
    def local(self):
        name = self.name.encode()
        return struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 8, self.method, 0, 0x21, 0, 0, 0, len(name), 0) + name

    def descriptor(self):
        form = "<IIQQ" if self.size >= MAX32 or self.packed >= MAX32 else "<IIII"
        return struct.pack(form, 0x08074B50, self.crc, self.packed, self.size)

    def entry(self):
        name = self.name.encode()
        large = [n for n in (self.size, self.packed, self.offset) if n >= MAX32]
        extra = struct.pack("<HH%dQ" % len(large), 1, 8 * len(large), *large) if large else b""
        version, short = 45 if large else 20, lambda n: min(n, MAX32)
        head = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, version, version, 8, self.method, 0, 0x21, self.crc, short(self.packed), short(self.size),
                           len(name), len(extra), 0, 0, 0, 0, short(self.offset))
        return head + name + extra


def end(count, size, offset):
    plain = lambda c, s, o: struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, c, c, s, o, 0)
    if count < MAX16 and size < MAX32 and offset < MAX32:
        return plain(count, size, offset)
    return (struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size, offset)
            + struct.pack("<IIQI", 0x07064B50, 0, offset + size, 1) + plain(MAX16, MAX32, MAX32))


class Zip:
    def __init__(self, file):
        self.file = file
        size = file.seek(0, 2)
        tail = self.at(max(size - 98, 0), min(size, 98))
        refuse(len(tail) < 22, "end: it is truncated")
        _, _, _, _, count, length, offset, _ = struct.unpack("<IHHHHIIH", tail[-22:])
        if offset == MAX32 and len(tail) == 98:
            count, length, offset = struct.unpack("<QQQ", tail[32:56])
        refuse(count > 100000 or length > 32 << 20, "end: there are too many members")
        last = end(count, length, offset) if count <= MAX32 and length <= MAX32 else b""
        refuse(tail[-len(last):] != last, "end: it is not in the strict form")
        refuse(offset + length + len(last) != size, "end: there are extra bytes between the directory and the end, or after the end")
        self.members, self.names = [], set()
        rest = self.at(offset, length)
        for number in range(count):
            rest = rest[self.entry("directory entry %d" % number, rest):]
        refuse(rest, "directory: extra bytes follow its last entry")
        position = 0
        for m in self.members:
            refuse(m.offset != position, m.name + ": members overlap, or there are extra bytes between them")
            refuse(self.at(position, len(m.local())) != m.local(), m.name + ": header: it is not in the strict form")
            m.begin = position + len(m.local())
            position = m.begin + m.packed + len(m.descriptor())
            refuse(position > offset, m.name + ": it reaches beyond the members")
            refuse(self.at(m.begin + m.packed, len(m.descriptor())) != m.descriptor(), m.name + ": descriptor: it is not in the strict form")
        refuse(position != offset, "directory: there are extra bytes between it and the last member")

    def at(self, offset, length):
        self.file.seek(offset)
        return self.file.read(length)

    def entry(self, where, data):
        refuse(len(data) < 46, where + ": it is truncated")
        fields = struct.unpack("<IHHHHHHIIIHHHHHII", data[:46])
        m = Member()
        m.method, m.crc, m.packed, m.size, m.offset = fields[4], fields[7], fields[8], fields[9], fields[16]
        length = 46 + fields[10] + fields[11]
        more = data[46 + fields[10] + 4:length]
        for name in ("size", "packed", "offset"):
            if getattr(m, name) == MAX32:
                refuse(len(more) < 8, where + ": a size beyond 4 GiB is missing")
                setattr(m, name, struct.unpack("<Q", more[:8])[0])
                more = more[8:]
        m.name = data[46:46 + fields[10]].decode("latin-1")
        refuse(not NAME.fullmatch(m.name) or {"", ".", ".."} & set(m.name.split("/")), where + ": it is not a valid member name")
        refuse(m.method not in (0, 8), where + ": method is %d, not 0 or 8" % m.method)
        refuse(data[:length] != m.entry(), where + ": it is not in the strict form")
        refuse(m.name in self.names, where + ": a second member " + m.name)
        self.names.add(m.name)
        self.members.append(m)
        return length

    def read(self, m, keep=False, use=None):
        """Digests of the content and of the bytes in the zip, and the content if it is to be kept. use gets it piece by piece."""
        content, packed, crc, size, kept = hashlib.sha256(), hashlib.sha256(), 0, 0, []
        inflate = zlib.decompressobj(-15) if m.method else None
        left, position = m.packed, m.begin
        while left:
            block = self.at(position, min(left, 1 << 16))
            refuse(not block, m.name + ": it is truncated")
            left, position = left - len(block), position + len(block)
            packed.update(block)
            while block:
                if inflate:
                    refuse(inflate.eof, m.name + ": extra bytes follow its content")
                    try:
                        data = inflate.decompress(block, 1 << 20)
                    except zlib.error:
                        raise Refused(m.name + ": it cannot be inflated")
                    block = inflate.unconsumed_tail or inflate.unused_data
                else:
                    data, block = block, b""
                content.update(data)
                crc, size = zlib.crc32(data, crc), size + len(data)
                refuse(size > m.size, m.name + ": its size is not %d" % m.size)
                if keep:
                    kept.append(data)
                if use:
                    use(data)
        refuse(inflate and not inflate.eof or size != m.size, m.name + ": its size is not %d" % m.size)
        refuse(crc != m.crc, m.name + ": its CRC differs")
        return content.hexdigest(), packed.hexdigest(), b"".join(kept)

    def lines(self, name):
        """The lines of a deflated member that was read before; none if there is no such member."""
        for m in (m for m in self.members if m.name == name):
            inflate, rest = zlib.decompressobj(-15), b""
            for position in range(m.begin, m.begin + m.packed, 1 << 16):
                data = inflate.decompress(self.at(position, min(m.begin + m.packed - position, 1 << 16)))
                *lines, rest = (rest + data).split(b"\n")
                yield from lines


# The history: events that follow from records, and what they add up to (bundle.md).

KINDS = [(table, event, word, at, columns.split()) for table, event, word, at, columns in [
    ("starts", "start.accepted", "", "accepted_us", "actor environment key pipeline schedule slot trigger why workflow"),
    ("runs", "run.began", "", "started_us", "code document_sha256 environment link parent_run pipeline plan_sha256 run_id version"),
    ("resumptions", "run.resumed", "", "at_us", "actor code epoch host was why"),
    ("executions", "execution.began", "", "at_us", "epoch execution identity namespace principal schedule workflow"),
    ("actions", "action.", "verb", "at_us", "actor seq why"),
    ("chunks", "chunk.read", "", "read_us", "chunk file first_row fold pack rows source"),
    ("source_ends", "source.ended", "", "ended_us", "chunks digests rows source"),
    ("passages", "chunk.passed", "", "finished_us", "chunk lane rows source worker"),
    ("errors", "rows.refused", "", "at_us", "chunk code lane node sent_to source"),
    ("folds", "fold.done", "", "at_us", "chunk fold held_rows kind node out_rows source"),
    ("batches", "batch.fired", "", "fired_us", "batch fold node path rows trigger"),
    ("effects", "effect.", "state", "changed_us", "chunk fence sink source"),
    ("effect_events", "effect.", "event", "at_us", "chunk fence sink source worker"),
    ("policy_results", "policy.", "result", "at_us", "actor attempt detail epoch figures policy"),
    ("artifacts", "output.published", "", "published_us", "bytes path rows sha256 sink"),
    ("run_events", "run.", "event", "at_us", "detail seq"),
    ("runs", "run.ended", "", "finished_us", "epoch reason status"),
    ("run_seals", "run.sealed", "", "at_us", "epoch late leaves root seq"),
    ("attestations", "attested.", "result", "at_us", "actor changed equal looked_at missing replaced replaced_by seq sink unknown"),
    ("sign_offs", "run.signed_off", "", "at_us", "person role seal seq"),
    ("approval_requests", "approval_request.proposed", "", "at_us", "expires_us person request_sha256 verb"),
    ("approvals", "approval_request.", "kind", "at_us", "person request_sha256 seq"),
    ("approved_executions", "approval_request.executed", "", "at_us", "actor emergency persons request_sha256 why"),
]]
TABLES = {kind[0] for kind in KINDS}
STATE = "bytes kind ordinal refused rows sha256 state".split()


def canonical(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def typed(data, name, kind):
    value = kind() if data.get(name) is None else data[name]
    refuse(type(value) is not kind, "%s: it is not what its column holds" % name)
    return value


class History:
    def __init__(self):
        self.found, self.counted, self.states = [], {}, {}

    def add(self, table, line):
        try:
            record = json.loads(line.decode("utf-8"))
            whole = type(record) is dict and canonical(record).encode("utf-8") == line and record
        except (ValueError, RecursionError):
            whole = False
        refuse(not whole, table + ": it is not the line of a record in canonical form")
        for value in record.values():
            refuse(not (value is None or type(value) is str or type(value) is int and -2**63 <= value < 2**63), table + ": no record has such a value")
        for rank, (of, event, word, moment, columns) in enumerate(KINDS):
            at = record.get(moment)
            if of != table or at is None:
                continue
            refuse(type(at) is not int or not 0 <= at < 253402300800000000, table + ": it has no moment")
            if word:
                refuse(not re.fullmatch("[a-z_]+", typed(record, word, str)), table + ": it has no word")
                event += record[word]
            data = {c: record[c] for c in columns if c in record}
            effect = canonical([record.get(c) for c in ("sink", "source", "chunk")]) if event.startswith("effect.") else None
            if table == "errors":
                same = self.counted.setdefault(canonical([at, data]), len(self.found))
                if same < len(self.found):
                    self.found[same][3]["rows"] += 1
                    continue
                data["rows"] = 1
            elif table == "effects":
                self.states[effect] = {c: record[c] for c in STATE if c in record}
            self.found.append([at, rank, event, data, effect])

    def events(self):
        """The lines of the events."""
        last = {}
        for happened in self.found:
            before = last.get(happened[4])
            if happened[4] is None:
                continue
            after = lambda h: (KINDS[h[1]][0] != "effects", h[0])
            if before is None or after(happened) >= after(before):
                last[happened[4]] = happened
        for effect, happened in last.items():
            happened[3].update(self.states.get(effect, {}))
        found = [h for h in self.found if KINDS[h[1]][0] != "effects" or last[h[4]] is h]
        self.lines, self.sorted, prev = [], sorted(found, key=lambda h: h[:2]), ""
        for seq, (at, _, event, data, _) in enumerate(self.sorted):
            line = '{"seq":%d,"at":"%s","type":"%s","data":%s,"prev":"%s"}' % (seq, moment(at), event, canonical(data), prev)
            self.lines.append(line)
            prev = sha256(line.encode()).hex()
        self.head = prev
        return "".join(line + "\n" for line in self.lines).encode()

    def snapshot(self):
        """What the events add up to."""
        run = {"run_id": "", "pipeline": "", "status": "", "reason": "", "resumed": 0, "began": "", "ended": ""}
        sources, refused, barriers, sinks, outputs, effects = {}, {}, {}, {}, {}, {}
        for at, _, event, data, effect in self.sorted:
            text, number = lambda c: typed(data, c, str), lambda c: typed(data, c, int)
            if event == "run.began":
                run.update(run_id=text("run_id"), pipeline=text("pipeline"), status="running", began=moment(at))
            elif event == "run.resumed":
                run["resumed"] += 1
            elif event == "run.ended":
                run.update(status=text("status"), reason=text("reason"), ended=moment(at))
            elif event in ("chunk.read", "source.ended"):
                s = sources.setdefault(text("source"), {"source": text("source"), "chunks": 0, "rows": 0, "ended": False})
                more, _ = number("rows"), number("chunks")
                if event == "chunk.read":
                    s["chunks"], s["rows"] = s["chunks"] + 1, s["rows"] + more
                else:
                    s["ended"] = True
            elif event == "rows.refused":
                names = [text(c) for c in ("node", "code", "sent_to")]
                r = refused.setdefault("\0".join(names), {"node": names[0], "code": names[1], "sent_to": names[2], "rows": 0})
                r["rows"] += number("rows")
            elif event == "batch.fired":
                b = barriers.setdefault(text("node"), {"node": text("node"), "batches": 0, "rows": 0})
                b["batches"], b["rows"] = b["batches"] + 1, b["rows"] + number("rows")
            elif event == "output.published":
                outputs[text("sink")] = {"sink": text("sink"), "path": text("path"), "bytes": number("bytes"), "rows": number("rows"), "sha256": text("sha256"), "published": moment(at)}
            elif effect:
                effects[effect] = [text("sink"), text("source"), number("chunk"), text("state"), text("kind"), [number(c) for c in ("rows", "bytes", "refused")]]
        for sink, _, _, state, kind, counts in effects.values():
            s = sinks.setdefault(sink, {"sink": sink, "parts": 0, "rows": 0, "bytes": 0, "refused": 0, "open": 0})
            if state != "finalized":
                s["open"] += 1
            elif kind == "write":
                s["parts"] += 1
                for name, more in zip(("rows", "bytes", "refused"), counts):
                    s[name] += more
        lists = {name: [of[key] for key in sorted(of)] for name, of in
                 [("sources", sources), ("refused", refused), ("barriers", barriers), ("sinks", sinks), ("outputs", outputs)]}
        return one_form({"run": run, **lists, "events": len(self.lines), "head": self.head})


def moment(at):
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=at)).isoformat(timespec="microseconds") + "Z"


SEALER = "began sealed attested signed-off requested approved executed".split()  # types of entries that a sealer signs


class Log:
    """Entries of a log in its order, all under one signed head. keys are those of the log, with the position from which on each signs; sealers are the keys that count."""

    def __init__(self, policy):
        self.policy, self.keys, self.sealers, self.head, self.cosigned, self.taken = policy, [], {}, None, {}, []

    def at(self, position):
        return [key for since, key in self.keys if since <= position][-1]

    def take(self, name, position, note, proof):
        """Verifies who signed the next entry, and returns what it says. close verifies its tlog-proof."""
        text = note.decode("utf-8", "replace")
        line = text.partition("\n")[0]
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            raise Refused(name + ": it is not a statement")
        refuse(type(entry) is not dict or canonical(entry) != line, name + ": it is not in canonical form")
        refuse(any(type(entry.get(member, "")) is not str for member in ("key", "origin", "type")), name + ": a member is not a text")
        if position == 0:
            refuse(entry.get("type") != "genesis", name + ": it is the first, and no genesis")
            self.keys = [(0, Key(entry.get("key", "")))]
            refuse(self.keys[0][1].name != entry.get("origin"), name + ": it names no key of the log")
        refuse(not self.keys, name + ": the log has no genesis")
        open_note(text, self.sealers.values() if entry.get("type") in SEALER else [self.at(position)])
        self.taken.append((name, position, note, proof.decode("utf-8", "replace")))
        if entry.get("type") == "key":
            self.sealers[entry.get("key")] = Key(entry.get("key", ""))
        elif entry.get("type") == "revoked":
            self.sealers.pop(entry.get("key"), None)
        elif entry.get("type") == "rotated":
            key = Key(entry.get("key", ""))
            refuse(key.name != self.keys[0][1].name or key.hash in [k.hash for _, k in self.keys], name + ": it does not name a new key of the log")
            self.keys.append((position + 1, key))
        return entry

    def close(self):
        """Verifies that the policy has a key of the log, each of which signed which one follows, and that all entries are under the head."""
        refuse(self.policy and not {k.text for _, k in self.keys} & {k.text for k in self.policy.logs}, "the log's key is not the trusted one")
        for taken in self.taken:
            self.include(*taken)

    def include(self, name, position, note, proof):
        lines, _, head = proof.partition("\n\n")
        lines = lines.split("\n")
        refuse(lines[:2] != ["c2sp.org/tlog-proof@v1", "index %d" % position] or len(lines) > 65, name + ": its proof is missing, or is that of another entry")
        refuse(self.head is not None and self.head[0] != head, name + ": its proof is under another head")
        if self.head is None:
            match = re.match(r"(.*)\n([1-9][0-9]{0,18})\n(.*)\n\n", head)
            refuse(not match or match.group(1) != self.keys[0][1].name, name + ": its head is not one of the log")
            self.cosigned = open_head(head, self.at(int(match.group(2))), [k for _, k in self.keys], self.policy.witnesses if self.policy else {})
            if self.policy:
                self.policy.check(self.cosigned)
            self.head = (head, int(match.group(2)), b64(match.group(3), "the root"))
        hashes = [b64(line, name + ": its path") for line in lines[2:]]
        refuse(position >= self.head[1] or root(position, self.head[1], sha256(b"\0" + note), hashes) != self.head[2], name + ": it is not in the log")


# What people signed with their SSH keys: sign-offs (sign-off.md) and approval requests (orders.md).

SIGN_OFF, DANGEROUS = "waymark-sign-off", "waymark-approval"
APPROVER = re.compile(r'([^ ]+) +(?:([a-z-]+="[^"]*"(?:,[a-z-]+="[^"]*")*) +)?([a-z0-9@.-]+) +([A-Za-z0-9+/=]+)(?: +(.*))?')
STATED = {"approvers_sha256": str, "artifacts": [{"path": str, "sha256": str, "sink": str}], "at": str, "meaning": str, "name": str, "person": str,
          "pipeline": str, "role": str, "root": str, "run": str, "seal": int, "type": str, "v": int}
ORDER = {"approvers_sha256": str, "args": dict, "at": str, "expires": str, "name": str, "proposer": str, "run": str, "state": dict, "type": str, "v": int, "verb": str, "why": str}
ASSENT = {"approvers_sha256": str, "at": str, "name": str, "person": str, "request_sha256": str, "type": str, "v": int, "why": str}


def packed(*parts):
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def unpacked(data, what):
    parts = []
    while data:
        size = int.from_bytes(data[:4], "big")
        refuse(len(data) < 4 + size, what + ": it is truncated")
        parts, data = parts + [data[4:4 + size]], data[4 + size:]
    return parts


def ssh_verify(armored, message, space):
    """The public key, as SSH writes it, that signed a message in a namespace (PROTOCOL.sshsig of OpenSSH)."""
    begin, last = "-----BEGIN SSH SIGNATURE-----\n", "-----END SSH SIGNATURE-----\n"
    refuse(not armored.startswith(begin) or not armored.endswith(last), "it is not an SSH signature")
    blob = b64(armored[len(begin):-len(last)].replace("\n", ""), "the signature")
    text = base64.b64encode(blob).decode()
    again = begin + "".join(text[i:i + 64] + "\n" for i in range(0, len(text), 64)) + last
    refuse(again != armored or blob[:10] != b"SSHSIG\0\0\0\1", "the signature is not in the one form")
    parts = unpacked(blob[10:], "the signature")
    refuse(len(parts) != 5 or parts[1:4] != [space.encode(), b"", b"sha512"], "the signature is of another kind, or in another namespace")
    public = unpacked(parts[0], "the key")
    kind, rest = public[:1], parts[4]
    signed = b"SSHSIG" + packed(space.encode(), b"", b"sha512", hashlib.sha512(message).digest())
    if kind == [b"sk-ssh-ed25519@openssh.com"] and len(public) == 3 and len(rest) > 5:
        rest, flags = rest[:-5], rest[-5:]
        refuse(not flags[0] & 1, "nobody touched the security key")
        signed = sha256(public[2]) + flags + sha256(signed)
    else:
        refuse(kind != [b"ssh-ed25519"] or len(public) != 2, "the key is not one of Ed25519")
    made = unpacked(rest, "the signature")
    refuse(len(made) != 2 or made[:1] != kind or len(public[1]) != 32 or not ed25519_verify(public[1], signed, made[1]), "the signature does not hold")
    return parts[0]


class Approver:
    """A line of an approvers file, which is in the form of OpenSSH's allowed_signers."""

    def __init__(self, line):
        match = APPROVER.fullmatch(line)
        refuse(not match or line != line.strip(), "it is not a line of an approvers file: " + line[:80])
        self.person, self.key = match.group(1).split(",")[0], b64(match.group(4), "the key of an approver")
        self.name = " ".join(re.split("[\0-\x20\x7f\u2028\u2029]+", match.group(5) or "")).strip() or self.person
        refuse(unpacked(self.key, "the key")[:1] != [match.group(3).encode()], "the key of %s is of another type" % self.person)
        self.after, self.before, self.spaces = "", "9", None
        for name, value in re.findall('([a-z-]+)="([^"]*)"', match.group(2) or ""):
            refuse(name not in ("namespaces", "valid-after", "valid-before"), "the option %s is not known" % name)
            if name == "namespaces":
                self.spaces = value.split(",")
                continue
            refuse(not re.fullmatch("[0-9]{8}([0-9]{4}([0-9]{2})?)?Z", value), "it is not a time in UTC: " + value[:40])
            setattr(self, name[len("valid-"):], value[:-1].ljust(14, "0"))

    def allows(self, space, at):
        """at is as a statement has it."""
        at = re.sub("[-:TZ]", "", at)
        return (self.spaces is None or space in self.spaces) and at >= self.after and at < self.before


def approvers_in(text):
    """The lines of an approvers file."""
    found, person = [Approver(line.strip()) for line in text.split("\n") if line.strip() and not line.strip().startswith("#")], {}
    for a in found:
        refuse(person.setdefault(a.key, a.person) != a.person, "%s has the key of %s" % (a.person, person[a.key]))
    return found


def visible(text):
    """The text without what a terminal would obey rather than show."""
    return re.sub("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", lambda c: "\\u%04x" % ord(c.group()), text)


def signed(record, space, shape, approvers, person="person"):
    """The statement of a signature that holds, and the key that made it. The statement has who signed as person."""
    message = (record["statement"] + "\n").encode()
    key = ssh_verify(record["signature"], message, space)
    said = strict(message, "the statement", shape)
    who = said[person]
    refuse((who, said["at"]) != (record["person"], moment(record["at_us"])), "something else is recorded beside what %s signed" % who)
    line = Approver(record["approver"])
    refuse((line.key, line.person, line.name) != (key, who, said["name"]), "the line of the approver has another key or name")
    refuse(not line.allows(space, said["at"]), "the key of %s may not sign this then" % who)
    refuse(approvers is not None and not any(a.key == key and a.person == who and a.allows(space, said["at"]) for a in approvers),
           "the key of %s is of none of the approvers, or may not sign then" % who)
    return said, key


def sign_off(record, run, roots, outputs, approvers):
    """The statement of a sign-off that holds."""
    said, _ = signed(record, SIGN_OFF, STATED, approvers)
    refuse(said["type"] != "sign-off" or said["v"] != 1, "what was signed is not a statement that signs off a run")
    refuse(said["run"] != run, "%s signed off run %s" % (said["person"], said["run"]))
    refuse((said["role"], said["seal"]) != (record["role"], record["seal"]), "something else is recorded beside what %s signed" % said["person"])
    refuse(roots.get(said["seal"]) != said["root"], "%s signed another root than the run's seal has" % said["person"])
    refuse(any(o not in outputs for o in said["artifacts"] or []), "%s signed other outputs than are recorded of the run" % said["person"])
    return said


def order_signed(record, run, approvers):
    """Who proposed or signed an order, with which key; the signature holds."""
    if "kind" in record:
        said, key = signed(record, DANGEROUS, ASSENT, approvers)
        same = (said["type"], said["request_sha256"], said["v"]) == (record["kind"], record["request_sha256"], 1) and record["kind"] in ("approval", "review")
    else:
        said, key = signed(record, DANGEROUS, ORDER, approvers, "proposer")
        same = (said["type"], said["run"], said["verb"], said["expires"], said["v"]) == ("approval_request", run, record["verb"], moment(record["expires_us"]), 1)
        same = same and sha256((record["statement"] + "\n").encode()).hex() == record["request_sha256"]
        same = same and all(list(of) == sorted(of) and all(type(v) is str for v in of.values()) for of in (said["args"], said["state"]))
    refuse(not same, "%s signed another order than is recorded beside that" % record["person"])
    return record["person"], key


# Seals: the roots of a run and of its chunks, from its records (seal.md).

LEAVES = """runs nodes edges sources lanes lookup_tables source_ends folds chunks passages ways way_steps chunk_ways way_totals errors feeds merge_kinds
    chunk_merges batches members merges retried resumptions executions effects effect_events rejected_totals artifacts actions run_events policies policy_results chunk_seals""".split()
BY_CHUNK = "chunk_rows chunk_ways passages hashes key_hashes repeats errors merge_codes chunk_merges parents forgotten field_roots".split()
SLICE = 1024
NONE = 0xFFFF


def chunk_key(run_key, source, chunk):
    return sha256(run_key + source.encode() + b"\0" + chunk.to_bytes(8, "big"))[:16]


def cover(keys, leaves, forgotten):
    """Nodes (first leaf, levels below, key) from which all salts follow but those of forgotten leaves; keys in the order of their leaves."""
    depth, nodes, rest = 3, [], [keys[i:i + 16] for i in range(0, len(keys), 16)]
    while 32**depth < leaves:
        depth += 1
    if not forgotten:
        refuse(len(keys) != 16, "its keys do not fit")
        return [(0, depth, keys)]
    gone = sorted(forgotten)

    def visit(first, depth):
        if first >= leaves:
            return
        if bisect.bisect_left(gone, first) == bisect.bisect_left(gone, first + 32**depth):
            refuse(not rest or len(rest[0]) != 16, "its keys do not fit")
            nodes.append((first, depth, rest.pop(0)))
        elif depth > 0:
            for child in range(32):
                visit(first + child * 32 ** (depth - 1), depth - 1)

    visit(0, depth)
    refuse(rest, "its keys do not fit")
    return nodes


def salts(nodes):
    """(leaf, salt) of each leaf that has one, ascending."""

    def below(key, depth):
        if not depth:
            yield key
            return
        for j in range(16):
            pair = sha256(key + bytes([j]))
            yield from below(pair[:16], depth - 1)
            yield from below(pair[16:], depth - 1)

    for first, depth, key in nodes:
        yield from enumerate(below(key, depth), first)


def tree(leaves):
    """The Merkle tree hash of RFC 6962 over hashes of leaves."""
    while len(leaves) > 1:
        pairs = [sha256(b"\1" + a + b) for a, b in zip(leaves[::2], leaves[1::2])]
        leaves = pairs + leaves[len(leaves) & ~1:]
    return leaves[0] if leaves else sha256(b"")


def leaves(nodes, contents, forgotten, fields=b""):
    """The hashes of leaves. Of a leaf that was forgotten the hash is recorded. fields: 32 bytes each, the root of the tree over the fields of a row, or zeros."""
    known, found = salts(nodes), []
    for i, content in enumerate(contents):
        root, hash = fields[32 * i:32 * i + 32], forgotten.get(i)
        if hash is None:
            leaf, salt = next(known, (None, None))
            refuse(leaf != i, "the salt of leaf %d is missing" % i)
            paired = root.strip(b"\0")
            hash = sha256(b"\0" + (sha256(salt + b"\0")[:16] if paired else salt) + content)
            hash = sha256(b"\1" + hash + root) if paired else hash
        found.append(hash)
    return found


def bodies(first, rows, ways, columns, keys, firsts, errors, joins, parents):
    """The body of each row. rows: 44 bytes each. ways, joins: (lane, codes, ids). columns, firsts: (lane, node, values). keys: (field, values)."""
    part = lambda kind, *numbers: bytes([kind]) + b"".join(n.to_bytes(2, "big") for n in numbers)
    coded = lambda kind, lanes: [(part(kind, lane), codes, ids) for lane, codes, ids in lanes]
    valued = [(part(3, lane, node), values, 32) for lane, node, values in columns] + [(part(4, field), values, 4) for field, values in keys]
    valued += [(part(5, lane, node), values, 8) for lane, node, values in firsts]
    ways, joins = coded(2, ways), coded(7, joins)
    for i, record in enumerate(rows):
        out = [b"\x77m\1", (first + i).to_bytes(8, "big"), b"\1", record]
        out += [of for name, codes, ids in ways if codes[i] != NONE for of in (name, ids[codes[i]])]
        for name, values, size in valued:
            value = values[size * i:size * (i + 1)]
            if value.strip(b"\0"):
                out += name, value
        out += [part(6, lane, node) + digest for lane, node, digest in errors.get(i, [])]
        out += [of for name, codes, ids in joins if codes[i] != NONE for of in (name, ids[codes[i]])]
        yield b"".join(out + parents[i:i + 1])


class Records:
    """The records of a bundle's run. Those of rows are read as a stream, chunk by chunk."""

    def __init__(self, zip, run):
        self.zip, self.run, self.pending = zip, run, {}
        self.nodes = {r["node"]: r["seq"] for r in self.of("nodes")}
        self.sinks = {r["way"]: r["sink"] for r in self.of("ways") if r["sink"] not in ("", "__quarantine__", "__discard__")}
        self.roots = {r["lane"] for r in self.of("lanes") if r["parent"] is None}
        self.salts = {(r["source"], r["chunk"]): bytes.fromhex(r["keys"]) for r in self.of("salts")}
        self.streams = {table: ((self.place(r), r, line) for r, line in self.both(table)) for table in BY_CHUNK}

    def lines(self, table):
        return self.zip.lines("record/%s.ndjson" % table)

    def both(self, table):
        for line in self.lines(table):
            record = json.loads(line.decode())
            refuse(type(record) is not dict or canonical(record).encode() != line or record.get("table") != table, table + ": a line is not in canonical form")
            yield record, line

    def of(self, table):
        return (record for record, _ in self.both(table))

    def place(self, r):
        return r["source"].encode(), r["chunk"]

    def root(self):
        """The root of the run, how many leaves it has, and what the last seal says of both; None if nothing sealed the run since it was resumed."""
        last = max(self.of("run_seals"), key=lambda r: r["seq"], default=None)
        epoch = next(self.of("runs"))["epoch"]
        if last is None or last["epoch"] < epoch and any(r["epoch"] == epoch for r in self.of("resumptions")):
            return None
        gone = {r["leaf"]: bytes.fromhex(r["hash"]) for r in self.of("forgotten_leaves") if r["seq"] == last["seq"]}
        found = leaves(self.cover("", last["seq"], 1 << 30, gone), self.leaf_lines(), gone)
        return tree(found).hex(), len(found), last["root"], last["leaves"]

    def leaf_lines(self):
        refusing = {r["sink"] for r in self.of("effects") if r["refused"] > 0}
        for table in LEAVES:
            for r, line in self.both(table):
                if table == "errors" and r["node"] not in refusing or table == "retried" and r["run_id"] != self.run:
                    continue
                if table == "passages":
                    line = canonical({name: value for name, value in r.items() if name != "way_codes"}).encode()
                yield line

    def take(self, table, place):
        """The records, and their lines, that a table has of the next chunk."""
        found, stream = [], self.streams[table]
        while True:
            if table not in self.pending:
                self.pending[table] = next(stream, None)
            if self.pending[table] is None or self.pending[table][0] > place:
                return found
            at, record, line = self.pending.pop(table)
            found += [(record, line)] if at == place else []

    def chunk_root(self, chunk):
        place, n, first = self.place(chunk), chunk["rows"], chunk["first_row"]
        got = {table: self.take(table, place) for table in BY_CHUNK}
        own = {table: [r for r, _ in got[table]] for table in BY_CHUNK}
        joined = lambda table, column: b"".join(bytes.fromhex(r[column] or "") for r in own[table])
        hashes, offsets, lengths, lines = (joined("chunk_rows", c) for c in "raw_hashes offsets lengths lines".split())
        lines = lines or bytes(4 * n)
        refuse((len(hashes), len(offsets), len(lengths), len(lines)) != (32 * n, 4 * n, 4 * n, 4 * n), "its rows do not fit")
        four = lambda data, i: data[4 * i:4 * i + 4]
        rows = [hashes[32 * i:32 * i + 32] + four(offsets, i) + four(lengths, i) + four(lines, i) for i in range(n)]
        ways, errors = self.codes(n, own["passages"], own["chunk_ways"], "way_codes", "way"), {}
        leads = {lane: lambda i, codes=codes, ids=ids: codes[i] != NONE and self.sinks.get(ids[codes[i]].hex()) for lane, codes, ids in ways}
        for r, line in got["errors"]:
            if r["lane"] not in leads or leads[r["lane"]](r["row"] - first) != r["node"]:  # else the target refused it when its part was written
                digest = sha256(re.sub(rb'^\{"at_us":-?\d+,', b"{", line))
                errors.setdefault(r["row"] - first, []).append((r["lane"], self.nodes[r["node"]], digest))
        batches, tokens = joined("parents", "batches"), joined("parents", "tokens")
        parents = [b"\x08" + four(batches, i) + (tokens[8 * i:8 * i + 8] or bytes(8)) for i in range(len(batches) // 4)]
        forgotten = {r["slot"]: bytes.fromhex(r["leaf"]) for r in own["forgotten"]}
        body = bodies(
            first, rows, ways, self.columns(n, own["hashes"], "hashes", 32),
            list(enumerate(bytes.fromhex(r["hashes"]) for r in sorted(own["key_hashes"], key=lambda r: r["field"].encode()))), self.columns(n, own["repeats"], "firsts", 8),
            {i: sorted(of) for i, of in errors.items()}, self.codes(n, own["merge_codes"], own["chunk_merges"], "codes", "kind"), parents)
        fields = b"".join(values for _, _, values in self.columns(n, own["field_roots"], "roots", 32))
        return tree(leaves(self.cover(chunk["source"], chunk["chunk"], n, forgotten), body, forgotten, fields)).hex()

    def cover(self, source, chunk, leaves, forgotten):
        """The salts of a chunk or, without a source, of a seal. They follow from the key of the run until one of its rows is forgotten."""
        own = self.salts.get((source, chunk))
        return cover(own, leaves, forgotten) if own is not None else cover(chunk_key(self.salts[("", -1)], source, chunk), leaves, {})

    def codes(self, n, lanes, used, column, word):
        """(lane, code of each row, what the codes mean)."""
        found = []
        for r in lanes:
            width, packed = r["code_bytes"], bytes.fromhex(r[column])
            refuse(width not in (1, 2) or len(packed) != width * n, "its codes do not fit")
            codes = list(packed) if width == 1 else [int.from_bytes(packed[2 * i:2 * i + 2], "big") for i in range(n)]
            if r["lane"] not in self.roots or column == "codes":
                codes = [NONE if code == 256**width - 1 else code for code in codes]
            ids = [bytes.fromhex(u[word]) for u in sorted(used, key=lambda u: u["code"]) if u["lane"] == r["lane"]]
            found += [(r["lane"], codes, ids)] if ids else []
        return found

    def columns(self, n, stored, column, size):
        """(lane, number of the node, a value of each row), sorted."""
        found = {}
        for r in stored:
            values = found.setdefault((r.get("lane"), "node" in r and self.nodes[r["node"]]), bytearray(size * n))
            packed, start = bytes.fromhex(r[column]), r["slice"] * SLICE
            if r.get("slots") is not None:
                slots = bytes.fromhex(r["slots"])
                at = [int.from_bytes(slots[i:i + 2], "big") for i in range(0, len(slots), 2)]
                packed = b"".join(packed[size * (k - 1):size * k] if k else bytes(size) for k in at)
            refuse(len(packed) != size * min(SLICE, n - start), "its columns do not fit")
            values[size * start:size * start + len(packed)] = packed
        return sorted((lane, node, bytes(values)) for (lane, node), values in found.items())

    def balance(self):
        """Where the rows of the run went."""
        ways, rows = {r["way"]: (r["path"], r["sink"]) for r in self.of("ways")}, dict.fromkeys("discarded filtered quarantined read sinks".split(), 0)
        read = {r["node"] for r in self.of("nodes") if r["kind"] == "source"}
        rows["read"] = sum(r["rows"] for r in self.of("chunks") if r["source"] in read)
        for r in self.of("chunk_ways"):
            path, sink = ways[r["way"]]
            word = "quarantined" if sink == "__quarantine__" else {"filter_dropped": "filtered", "gate_discarded": "discarded", "sink_discarded": "discarded"}.get(path)
            if word:
                rows[word] += r["rows"]
        for r in self.of("effects"):
            if r["state"] == "finalized" and r["kind"] == "write":
                rows["sinks"], rows["quarantined"] = rows["sinks"] + r["rows"] - r["refused"], rows["quarantined"] + r["refused"]
        return rows

    def policies(self):
        """The policies of the run with their last results."""
        last = {r["policy"]: r["result"] for r in self.of("policy_results")}
        return [{"gate": r["gate"], "name": r["policy"], "result": last.get(r["policy"], "")} for r in sorted(self.of("policies"), key=lambda r: r["seq"])]

    def check(self):
        """Compares the root of each chunk with its seal."""
        chunks = {self.place(r): r for r in self.of("chunks")}
        for sealed in self.of("chunk_seals"):
            try:
                root = self.chunk_root(chunks[self.place(sealed)])
            except (KeyError, IndexError, TypeError, ValueError, OverflowError) as reason:
                root = "%s %s" % (type(reason).__name__, reason)
            refuse(root != sealed["root"], "%s chunk %d: what is recorded is not what was sealed" % (sealed["source"], sealed["chunk"]))


# Checks.


def one_form(value):
    """JSON without white space, with a line end."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return (text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029") + "\n").encode("utf-8", "replace")


def strict(text, what, shape):
    """JSON in the one form: members in this order, no white space, a line end."""

    def check(value, shape):
        if isinstance(shape, list):
            return value is None or isinstance(value, list) and all(check(v, shape[0]) for v in value)
        if isinstance(shape, dict):
            return isinstance(value, dict) and list(value) == list(shape) and all(check(value[k], shape[k]) for k in shape)
        return type(value) is shape

    try:
        value = json.loads(text.decode("utf-8"))
        again = one_form(value)
    except (ValueError, RecursionError):
        raise Refused(what + ": it is not JSON")
    refuse(not check(value, shape) or again != text, what + ": it is not in the strict form")
    return value


ENVELOPE = {"payload": str, "payloadType": str, "signatures": [{"keyid": str, "sig": str}]}
STATEMENT = {"_type": str, "subject": [{"name": str, "digest": {"sha256": str}}], "predicateType": str,
             "predicate": {"balance": {"discarded": int, "filtered": int, "quarantined": int, "read": int, "sinks": int}, "document": str, "pipeline": str, "plan": str,
                           "policies": [{"gate": str, "name": str, "result": str}], "run": str, "status": str}}
MANIFEST = {"artifacts": bool, "bundle": int, "gaps": [{"what": str, "why": str}], "members": [{"name": str, "bytes": int, "sha256": str, "packed": str}], "payloads": str,
            "redactions": [{"fields": [str], "reason": str, "rows": int, "source": str}]}


class Lines:
    """Gives the lines of a table to a history. What is wrong with them is kept for a later check."""

    def __init__(self, history, table):
        self.history, self.table, self.rest, self.bad = history, table, b"", None

    def __call__(self, data):
        try:
            *lines, self.rest = (self.rest + data).split(b"\n")
            refuse(len(self.rest) > 16 << 20, self.table + ": a line is too long")
            for line in [] if self.bad else lines:
                self.history.add(self.table, line)
        except Refused as reason:
            self.bad = self.bad or reason


SEALS = "record/run_seals.ndjson"


class Bundle:
    def __init__(self, file, policy, approvers):
        self.approvers, self.logged, self.signed, self.ordered, self.orders_signed, self.last_seal = approvers, {}, [], [], [], 0
        self.file, self.policy, self.kept, self.sealed, self.cosigned, self.attested = file, policy, {}, None, {}, []
        self.happened, self.lines, self.digests = History(), [], {}

    def form(self):
        self.zip = Zip(self.file)
        names = [m.name for m in self.zip.members]
        refuse(len(names) < 3 or names[0] != "mimetype" or names[-2:] != ["manifest.json", "manifest.dsse.json"], "it is not a bundle")
        refuse(names[1:-2] != sorted(names[1:-2]), "its members are not sorted")
        for m in self.zip.members:
            stored = m.name in ("mimetype", "manifest.json", "manifest.dsse.json") or m.name.startswith("payloads/")
            refuse(stored == bool(m.method), m.name + ": method is not the one that its name requires")

    def statement(self):
        envelope = strict(self.zip.read(self.zip.members[-1], True)[2], "manifest.dsse.json", ENVELOPE)
        kind, signatures = envelope["payloadType"], envelope["signatures"] or []
        refuse(kind != "application/vnd.in-toto+json" or len(signatures) != 1, "manifest.dsse.json: it does not have one signature")
        self.key = Key(signatures[0]["keyid"])
        payload = b64(envelope["payload"], "manifest.dsse.json: payload")
        signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
        refuse(not self.key.verify(signed, b64(signatures[0]["sig"], "manifest.dsse.json: sig")), "manifest.dsse.json: %s did not sign it" % self.key.name)
        said = strict(payload, "the statement", STATEMENT)
        subjects = said["subject"] or [{"name": ""}]
        refuse(said["_type"] != "https://in-toto.io/Statement/v1" or said["predicateType"] != "urn:waymark:run:v1" or subjects[0]["name"] != "manifest.json",
               "manifest.dsse.json: it is not a statement about the manifest of a run")
        self.said, self.subjects = said["predicate"], [(s["name"], s["digest"]["sha256"]) for s in subjects[1:]]
        manifest = self.zip.read(self.zip.members[-2], True)[2]
        refuse(sha256(manifest).hex() != subjects[0]["digest"]["sha256"], "manifest.json: its SHA-256 is not the one that was signed")
        self.manifest = strict(manifest, "manifest.json", MANIFEST)
        refuse(self.manifest["bundle"] != 1, "manifest.json: it has a version that this program does not read")
        self.gaps = self.manifest["gaps"] or []

    def members(self):
        listed = self.manifest["members"] or []
        for i, m in enumerate(self.zip.members[:-2]):
            refuse(i >= len(listed) or listed[i]["name"] != m.name, m.name + ": it is not the next member of the manifest")
            keep = m.name in ("record/runs.ndjson", SEALS) or m.name.startswith("log/")
            refuse(keep and m.size > 64 << 20, m.name + ": it is too large")
            table = m.name[len("record/"):-len(".ndjson")] if m.name.startswith("record/") and m.name.endswith(".ndjson") else ""
            if table in TABLES:
                self.lines.append(Lines(self.happened, table))
            content, packed, kept = self.zip.read(m, keep, self.lines[-1] if table in TABLES else None)
            self.digests[m.name] = content
            refuse(m.size != listed[i]["bytes"] or content != listed[i]["sha256"], m.name + ": its SHA-256 is not that of the manifest")
            refuse(packed != listed[i]["packed"], m.name + ": its bytes in the zip are not those of the manifest")
            if keep:
                self.kept[m.name] = kept
        refuse(len(listed) > len(self.zip.members) - 2, "the manifest lists a member that the bundle does not contain")

    def log(self):
        log, began = Log(self.policy), False
        for name in sorted(n for n in self.kept if n.endswith(".entry")):
            match = re.fullmatch(r"log/(\d{12,})\.entry", name)
            refuse(not match, name + ": it does not have the name of an entry")
            entry = log.take(name, int(match.group(1)), self.kept[name], self.kept.get(name[:-len("entry")] + "proof", b""))
            if entry.get("type") == "signed-off":
                refuse(entry.get("run") != self.said["run"], name + ": it is about a sign-off of another run")
                self.logged[entry.get("sign_off", 0)] = entry
            if entry.get("type") in ("began", "sealed"):
                document = self.said["document"] if entry["type"] == "began" else None
                same = (entry.get("run"), entry.get("pipeline"), entry.get("document")) == (self.said["run"], self.said["pipeline"], document)
                refuse(not same, name + ": it is about another run, pipeline or document")
                began, self.sealed = began or document, self.sealed if document else entry
            self.attested += [entry] if entry.get("type") == "attested" else []
            self.ordered += [entry] if entry.get("type") in ("requested", "approved", "executed") else []
        if not log.keys:
            refuse(self.policy or not any(g["what"] == "log" for g in self.gaps), "the bundle contains no log entry: nothing vouches for the key that signed it")
            return
        log.close()
        refuse(self.key.text not in log.sealers, "the key that signed the bundle does not count in the log")
        refuse(not began, "no entry says that the run began")
        self.cosigned = log.cosigned

    def seal(self):
        if self.sealed is None:
            refuse(not any(g["what"] in ("log", "seal") for g in self.gaps), "the bundle contains no log entry about the seal of the run, and no gap says so")
            return
        last = json.loads(self.kept[SEALS].rstrip(b"\n").split(b"\n")[-1])
        kept = {"at": moment(last["at_us"]), "epoch": last["epoch"], "late": last["late"] == 1, "leaves": last["leaves"],
                "root": last["root"], "run": last["run_id"], "seal": last["seq"]}
        said = {name: value for name, value in self.sealed.items() if name in kept}
        refuse(said != {name: value for name, value in kept.items() if value}, SEALS + ": its last seal is not the one that the log has an entry about")
        refuse(self.sealed.get("status") != self.said["status"], "the entry about the seal says that the run was %s" % self.sealed.get("status"))

    def records(self):
        records = self.recorded = Records(self.zip, self.said["run"])
        found = records.root()
        refuse(found is None and not any(g["what"] == "seal" for g in self.gaps), "no seal of the run is in the bundle")
        refuse(found and found[:2] != found[2:], "what is recorded of the run is not what was sealed")
        records.check()
        self.redactions(records)
        self.attestations(records)

    def redactions(self, records):
        """Compares what the records do not show with what the manifest says of that."""
        found = {}
        for source, order in [(r["source"], r["purge_id"]) for r in records.of("forgotten")] + [("", r["purge_id"]) for r in records.of("forgotten_leaves")]:
            if order == 0:
                found[source] = found.get(source, 0) + 1
            refuse(order and not any(g["what"] == "rows" for g in self.gaps), "rows were forgotten, and no gap says so")
        for redaction in self.manifest["redactions"] or []:
            refuse(found.pop(redaction["source"], 0) != redaction["rows"], "%s: other rows are left out than the manifest says" % redaction["source"])
        refuse(found, "rows are left out, and the manifest does not list them as redacted")

    def attestations(self, records):
        """Compares what was found of the outputs with the entries of the log about it, in both directions."""
        looks, worst, entries = {}, ("changed", "missing", "unknown", "replaced", "equal"), {canonical({**e, "n": "", "v": ""}) for e in self.attested}
        for r, line in records.both("attestations"):
            looks.setdefault((r["run_id"], r["seq"]), []).append((r, line + b"\n"))
        recorded = {canonical({"at": moment(of[0][0]["at_us"]), **({"attestation": seq} if seq else {}), "n": "", "records_sha256": sha256(b"".join(line for _, line in of)).hex(),
                               "result": min((r["result"] for r, _ in of), key=worst.index), "run": run, "type": "attested", "v": ""}) for (run, seq), of in looks.items()}
        refuse(entries - recorded or recorded - entries and not any(g["what"] == "attestations" for g in self.gaps), "record/attestations.ndjson: it is not what entries of the log say")

    def account(self):
        balance, policies = self.recorded.balance(), self.recorded.policies()
        outputs = [(r["path"], r["sha256"]) for r in self.recorded.of("artifacts") if not self.manifest["redactions"]]
        refuse(balance != self.said["balance"], "the statement counts other rows than the records")
        refuse(policies != (self.said["policies"] or []), "the statement names other policies or results than the records")
        refuse(outputs != self.subjects, "the statement names other outputs than the records")

    def sign_offs(self):
        roots = {r["seq"]: r["root"] for r in self.recorded.of("run_seals")}
        self.last_seal = max(roots, default=0)
        outputs = [{"path": r["path"], "sha256": r["sha256"], "sink": r["sink"]} for r in self.recorded.of("artifacts")]
        for number, record in enumerate(self.recorded.of("sign_offs")):
            refuse(record["seq"] != number, "sign-off %d is missing" % number)
            said = sign_off(record, self.said["run"], roots, outputs, self.approvers)
            note = sha256((record["statement"] + "\n" + record["signature"] + record["approver"] + "\n").encode()).hex()
            want = {"at": said["at"], "note_sha256": note, "run": said["run"], "seal": said["seal"], "sign_off": number, "type": "signed-off", "v": 1}
            entry = self.logged.pop(number, None)
            refuse(entry is None and not any(g["what"] in ("log", "sign-offs") for g in self.gaps), "no log entry is about sign-off %d, and no gap says so" % number)
            same = entry is None or {k: v for k, v in entry.items() if k != "n"} == {k: v for k, v in want.items() if v}
            refuse(not same, "sign-off %d is not the one that the log has an entry about" % number)
            self.signed.append(said)
        refuse(self.logged, "the log has more entries about sign-offs of the run than the bundle has")

    def approvals(self):
        """Verifies the signatures under approval requests about the run, and compares all that is recorded of them with the entries of the log, in both directions."""
        tables, by = [list(self.recorded.both(table)) for table in ("approval_requests", "approvals", "approved_executions")], {}
        for r, _ in tables[0] + tables[1]:
            where = "order %.12s: %s of %s: " % (r["request_sha256"], r.get("kind", "proposal"), r["person"])
            try:
                who, key = order_signed(r, self.said["run"], self.approvers)
            except Refused as reason:
                raise Refused(where + str(reason))
            for others in [by.setdefault((r["request_sha256"], kind), []) for kind in ([r["kind"]] if "kind" in r else ["approval", "review"])]:
                refuse("kind" in r and not others, where + "the order is not recorded")
                refuse(any(who == person or key == other for person, other in others), where + "it is the second one of this person, or with this key")
                others.append((who, key))
            self.orders_signed.append(where[:-2])
        for x, _ in tables[2]:
            enough = len(by.get((x["request_sha256"], "approval"), [])) >= max(x["persons"], 1)
            refuse(not enough, "order %.12s: it was executed as one that %d persons had signed" % (x["request_sha256"], x["persons"]))
        recorded = {sha256(line + b"\n").hex() for table in tables for _, line in table}
        entries = {e.get("records_sha256") for e in self.ordered}
        refuse(entries - recorded or recorded - entries and not any(g["what"] == "approvals" for g in self.gaps), "record/approval_requests.ndjson: it is not what entries of the log say")

    def document(self):
        run = json.loads(self.kept["record/runs.ndjson"])
        text, plan = run["document"].encode(), run["plan"].encode()
        same = (run.get("run_id"), run.get("pipeline"), run.get("status")) == (self.said["run"], self.said["pipeline"], self.said["status"])
        refuse(not same, "record/runs.ndjson: it is about another run than the statement")
        refuse(run.get("document_sha256") != self.said["document"] or sha256(text).hex() != self.said["document"], "record/runs.ndjson: it has another document")
        refuse(run.get("plan_sha256") != self.said["plan"] or sha256(plan).hex() != self.said["plan"], "record/runs.ndjson: it has another plan")

    def history(self):
        for lines in self.lines:
            refuse(lines.bad, str(lines.bad))
            refuse(lines.rest, lines.table + ": its last line has no end")
        refuse(sha256(self.happened.events()).hex() != self.digests.get("events.ndjson"), "events.ndjson: the records give other events")
        refuse(sha256(self.happened.snapshot()).hex() != self.digests.get("snapshot.json"), "snapshot.json: the events add up to another")

    def payloads(self):
        bad = self.misnamed("payloads/", lambda digest: digest[:2] + "/" + digest)
        refuse(bad, "%s: its SHA-256 is not its name" % bad)

    def misnamed(self, folder, name):
        """The first member of a folder whose name is not that of its SHA-256."""
        return next((n for n, digest in self.digests.items() if n.startswith(folder) and n != folder + name(digest)), None)

    def artifacts(self):
        bad = self.misnamed("artifacts/", str)
        refuse(bad, "%s: its SHA-256 is not its name" % bad)
        there, published = {m.name[len("artifacts/"):]: m for m in self.zip.members if m.name.startswith("artifacts/")}, set()
        sinks = {r["node"]: r for r in self.recorded.of("nodes")}
        absent = lambda digest: digest not in there and all(g["what"] != "artifacts/" + digest for g in self.gaps)
        for r in self.recorded.of("artifacts") if self.manifest["artifacts"] else []:
            output, manifest = there.get(r["sha256"]), None
            refuse(absent(r["sha256"]), "an output of %s is not here, and no gap says why" % r["sink"])
            published.add(r["sha256"])
            if output is None:
                continue
            try:
                manifest = json.loads(self.zip.read(output, True)[2]) if output.size <= 64 << 20 else None
                parts = [(p["sha256"], p["bytes"]) for p in manifest["parts"] or []] if manifest["waymark"] == "parts-v1" else None
            except (ValueError, KeyError, TypeError, RecursionError):
                parts = None
            refuse(parts is None and output.size != r["bytes"], output.name + ": it has not as many bytes as are recorded")
            for digest, size in parts or []:
                refuse(absent(digest), "a part of the output of %s is not here, and no gap says why" % r["sink"])
                refuse(digest in there and there[digest].size != size, "artifacts/%s: it has not as many bytes as its manifest says" % digest)
                published.add(digest)
            for m in [output] if parts is None else [there[digest] for digest, _ in parts if digest in there]:
                self.rows_fit(m, sinks[r["sink"]], r["schema"])
        refuse(set(there) - published, "artifacts/: it has a file that the run did not publish")


    def rows_fit(self, member, sink, schema):
        """Compares the rows of CSV and JSON Lines with the schema on record. Parquet files have one of their own."""
        is_json, config = sink["operation"] == "jsonl", json.loads(sink["config"]).get("CSV")
        if not schema or not is_json and config is None:
            return
        schema = json.loads(schema)
        with tempfile.TemporaryFile() as spool:
            self.zip.read(member, use=spool.write)
            spool.seek(0)
            text = io.TextIOWrapper(spool, "utf-8", newline="\n" if is_json else "")
            csv.field_size_limit(1 << 30)
            rows = map(json.loads, text) if is_json else csv.reader(text, delimiter={"": ",", "tab": "\t"}.get(config["Delimiter"], config["Delimiter"]), strict=True)
            for number, row in enumerate(rows, 1 if is_json else 0):
                wrong = unfit_object(row, schema) if is_json else unfit_cells(row, schema["fields"], number == 0)
                refuse(wrong, "%s: row %d does not fit the schema on record: %s" % (member.name, number, wrong))


TEXTS = {"string": "(?s:.*)", "bool": "true|false", "int": "-?[0-9]+", "float": "-?[0-9].*", "decimal": "-?[0-9.]+", "date": r"\d{4}-\d\d-\d\d", "json": "(?s:.+)",
         "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"}
NUMBERS = {bool: {"bool"}, int: {"int", "float", "decimal"}, float: {"float", "decimal"}}


def unfit_object(row, schema):
    """What of an object does not fit a schema; None if it does."""
    for f in schema["fields"]:
        value, types = row.get(f["name"]), set(f["types"])
        if f["name"] not in row and not f.get("missing"):
            return "it has no %r" % f["name"]
        text = type(value) is str and any(re.fullmatch(TEXTS[t], value) for t in types & {"string", "date", "timestamp"})
        if f["name"] in row and not (f.get("nullable") if value is None else text or "json" in types or types & NUMBERS.get(type(value), set())):
            return "its %r is of another type" % f["name"]
    return None if schema.get("others") or not set(row) - {f["name"] for f in schema["fields"]} else "it has more fields than the schema"


def unfit_cells(cells, fields, header):
    """The same of the cells of a CSV file, or of its header."""
    def fits(cell, f):
        return cell in (f["name"], "'" + f["name"]) if header else cell == "" and f.get("nullable") or any(re.fullmatch(TEXTS[t], cell) for t in f["types"])
    return next(("its %r is of another type, or no column" % f["name"] for c, f in zip(cells, fields) if not fits(c, f)), "it has other columns" if len(cells) != len(fields) else None)


def root(index, size, leaf, path):
    """The root that a path leads to (RFC 9162, 2.1.3.2); None if it is too short or too long."""
    last, path = size - 1, list(path)
    while last:
        if index & 1 or index < last:
            if not path:
                return None
            leaf = sha256(b"\1" + path.pop(0) + leaf) if index & 1 else sha256(b"\1" + leaf + path.pop(0))
        index, last = index >> 1, last >> 1
    return None if path else leaf


CHECKS = [
    ("form", "the file is a zip in the one strict form, so nothing is hidden in it", "anything about its content"),
    ("statement", "who signed this bundle, and which run it is about", "that the record was true when it was exported"),
    ("members", "no bit of any member has changed since the export, and no member is missing or added", "that what was not exported does not exist"),
    ("log", "the run began before the head of the log was signed, the witnesses that the policy requires cosigned that head, and the log accepted the keys that signed the bundle and the run's entry", "that the head is the newest, or that no key was revoked later"),
    ("seal", "the last seal of the run's records is the one that the log has an entry about, unless a gap says that there is none", "that the records are those that were sealed"),
    ("document", "the document and the plan have the digests that the run's record and the signed statement name", "that the document is correct"),
    ("records", "the records of the run and of each of its rows are those that were sealed: none was changed, added or removed since, as far as they are not redacted; and attestations are what the log has entries about", "that they follow from what the source held"),
    ("account", "where the rows went, the results of policies and the outputs are in the signed statement as they follow from the records", "that a policy's assertion is true: nothing evaluates it here"),
    ("sign-offs", "each person's key signed the root of one of the run's seals and the digests of its outputs, and the log has an entry about each signature, unless a gap says that there is none", "that a key is that of the person: the line of the approvers file that is recorded says so, or the file of --approvers"),
    ("approvals", "each signature under an approval request about the run holds, nobody signed one twice, as many signed it as its execution says, and the log has entries about all this, unless a gap says that there are none", "that a key is that of the person, as for sign-offs; or that two keys are two people"),
    ("history", "the events follow from the records, and the snapshot is what the events add up to", "that the records are true"),
    ("payloads", "each payload is the bytes whose SHA-256 is its name", "that the source told the truth"),
    ("artifacts", "each output in the bundle is what the run published, none is missing without a gap that says why, and the rows of CSV and JSON Lines fit the schema on record", "that the place where it was published still holds it"),
]


def read_file(path, parse):
    """What a policy or an approvers file says; None without a file."""
    if not path:
        return None
    with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        try:
            return parse(file.read())
        except Refused as reason:
            print("%s: %s" % (path, reason), file=sys.stderr)
            sys.exit(2)


def print_witnesses(cosigned):
    for name, at in cosigned.items():
        print("the witness %s cosigned the head of the log, %s" % (name, at))


def verify(path, policy=None, approvers=None):
    policy, approvers = read_file(policy, Policy), read_file(approvers, approvers_in)
    with open(path, "rb") as file:
        bundle = Bundle(file, policy, approvers)
        for name, proves, does_not in CHECKS:
            try:
                getattr(bundle, name.replace("-", "_"))()
            except (Refused, KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError, csv.Error) as reason:
                print("NOT verified: %s: %s" % (name, reason if isinstance(reason, Refused) else "a record makes no sense: %s %s" % (type(reason).__name__, reason)))
                return 4
            print("%-10s ok  proves: %s\n%15snot: %s" % (name, proves, "", does_not))
    for redaction in bundle.manifest["redactions"] or []:
        print("redacted: %d %s%s: %s" % (redaction["rows"], "rows of " + redaction["source"] if redaction["source"] else "records of the run",
                                         " for " + ", ".join(redaction["fields"]) if redaction["fields"] else "", redaction["reason"]))
    for gap in bundle.gaps:
        print("not in the bundle: %s: %s" % (gap["what"], gap["why"]))
    print("%(read)d rows read, %(sinks)d in sinks, %(quarantined)d in quarantine, %(filtered)d filtered, %(discarded)d discarded" % bundle.said["balance"])
    for p in bundle.said["policies"] or []:
        print("policy %s (gate %s): %s" % (p["name"], p["gate"], p["result"] or "not evaluated"))
    own = "" if approvers is not None else "; by its own word: no approvers file here says whose key that is"
    for said in bundle.signed:
        since = "; of root %.8s…, before seal %d" % (said["root"], bundle.last_seal) if bundle.last_seal > said["seal"] else ""
        print(visible("signed off by %s (%s) as %s at %s: %s" % tuple(said[k] for k in ("name", "person", "role", "at", "meaning")) + own + since))
    print("".join(visible(said + own) + "\n" for said in bundle.orders_signed), end="")
    print_witnesses(bundle.cosigned)
    print("verified%s: run %s of %s, %s; signed by %s" % (
        "" if bundle.policy else " without a trust policy", bundle.said["run"], bundle.said["pipeline"], bundle.said["status"], bundle.key.name))
    print("not checked here: the rows are not computed again" + (", post-quantum signatures are not verified" if bundle.policy and bundle.policy.quantum else ""))
    return 0


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    try:
        sys.exit(verify(*sys.argv[1:]))
    except OSError as reason:
        sys.exit("cannot read a file: %s" % reason)
