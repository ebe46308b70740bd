package main

const logTests = "./audit/evidence"

// logs is mutants of the log of a landscape: each would let somebody change it unseen.
var logs = []mutant{
	{
		name: "signatures of entries are not looked at", never: "an entry that nobody signed counts",
		file: "audit/evidence/keyring.go", old: "\tcase err != nil && bySealer(of):\n", new: "\tcase bySealer(of):\n\t\treturn nil\n\tcase err != nil && bySealer(of):\n",
		pkg: logTests, run: "^TestAttacks$/^3[34]",
	},
	{
		name: "a revoked key counts", never: "who stole a key makes runs up after that was noticed",
		file: "audit/evidence/keyring.go", old: "\t\tdelete(k.sealers, s.Key)\n", new: "",
		pkg: logTests, run: "^TestAttacks$/^34",
	},
	{
		name: "the notary signs a smaller size", never: "a record that was put back gets a head of its own",
		file: "audit/evidence/notary.go", old: "if size < last.Size {", new: "if size < 0 {",
		pkg: logTests, run: "^TestNotarySignsNoSmallerSize$",
	},
	{
		name: "the notary does not look at what it signed", never: "two logs have heads of one size",
		file: "audit/evidence/notary.go", old: "\t\tif err := grown.has(last, statePath(n.key.Place)); err != nil {\n", new: "\t\tif err := grown.has(last, \"\"); err != nil && ctx == nil {\n",
		pkg: logTests, run: "^TestFork$",
	},
	{
		name: "a run begins without an entry", never: "a run can vanish and nobody notices",
		file: "landscape/run.go", old: "Append: entries})", new: "Append: entries[:0]})",
		pkg: "./landscape/memdriver", run: driverTest,
	},
	{
		name: "a record is not compared with the anchors", never: "a restored backup is written as if nothing were missing",
		file: "audit/evidence/evidence.go", old: "\t\tif head.Size > o.size {\n", new: "\t\tif head.Size > o.size+1_000 {\n",
		pkg: logTests, run: "^TestRestoredBackup$",
	},
	{
		name: "a record that was removed is made again", never: "a refused run leaves an empty record, and the next one looks different",
		file: "client/local/home.go", old: "if err := o.removed(); err != nil {", new: "if err := o.removed(); err != nil && ctx == nil {",
		pkg: "./cmd/waymark", run: "^TestScripts$/^log$",
	},
	{
		name: "the recorded digest of a document is believed", never: "a document is changed, and the log agrees",
		file: "audit/evidence/check.go", old: "\tcase s.Document != hex.EncodeToString(document[:]):\n", new: "\tcase s.Document != hex.EncodeToString(document[:]) && s.At == \"\":\n",
		pkg: logTests, run: "^TestAttacks$/^23",
	},
	{
		name: "who began a run is not compared", never: "somebody else is blamed for a run",
		file: "audit/evidence/check.go", old: "\tcase s.By != s.byOf(", new: "\tcase s.At == \"\" && s.By != s.byOf(",
		pkg: logTests, run: "^TestAttacks$/^26",
	},
	{
		name: "leaves are believed", never: "an entry is changed, and its old hash proves it",
		file: "audit/evidence/keyring.go", old: "if !bytes.Equal(leaf[:], e.Leaf) {", new: "if !bytes.Equal(leaf[:], e.Leaf) && len(e.Leaf) != len(leaf) {",
		pkg: logTests, run: "^TestAttacks$/^an_entry_is_changed$",
	},
	{
		name: "keys that others read are taken", never: "a key that is stolen signs on",
		file: "audit/evidence/keys/keys.go", old: "info.Mode().Perm()&0o077 != 0", new: "info.IsDir()",
		pkg: "./audit/evidence/keys", run: "^TestLoad$",
	},
	{
		name: "the checkpoint of an anchor is not compared", never: "the record and the list of heads are put back, and the checkpoint knows better",
		file: "audit/evidence/check_anchor.go", old: "\tif err := c.compareCheckpoint(f, good, said); err != nil {\n\t\treturn err\n\t}\n", new: "",
		pkg: logTests, run: "^TestAttacksOnAnchors$/^the_landscape_and_the_list",
	},
}
