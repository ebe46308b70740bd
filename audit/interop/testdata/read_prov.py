"""Reads the PROV-JSON document on stdin with the library prov, and prints as JSON how many records of each kind it has, and the names in relations that
nothing declares."""
import io
import json
import sys

import prov.model

document = prov.model.ProvDocument.deserialize(io.StringIO(sys.stdin.read()), format="json")
again = prov.model.ProvDocument.deserialize(io.StringIO(document.serialize(format="json")), format="json")
assert again == document, "what the library writes differs"
kinds = {}
declared, used = set(), set()
for record in document.records:
    kind = record.get_type().localpart
    kinds[kind] = kinds.get(kind, 0) + 1
    if record.is_element():
        declared.add(record.identifier)
    else:
        used.update(value for name, value in record.formal_attributes if isinstance(value, prov.model.QualifiedName))
print(json.dumps({"kinds": kinds, "unknown": sorted(map(str, used - declared))}))
