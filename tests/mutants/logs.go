package main

const (
	logTests     = "./audit/evidence"
	witnessTests = "./audit/evidence/witness"
)

// logs is mutants of the log of a landscape: each would let somebody change it unseen.
var logs = []mutant{
	{
		name: "whatever an anchor answered is put under a head", never: "no bundle of a log that an authority stamps verifies",
		file: "audit/evidence/proof.go", old: "; ok && !seen[once]", new: "; (ok || a.Receipt != \"\") && !seen[once]",
		pkg: logTests, run: "^TestChangedCosignatures$",
	},
	{
		name: "why an anchor does not take a head is forgotten", never: "runs are silent about an authority whose stamps do not count",
		file: "audit/evidence/notary.go", old: "			n.failed[anchor.String()] = err\n", new: "",
		pkg: logTests, run: "^TestStampsThatDoNotCount$",
	},
	{
		name: "doctor advises to restore a log that was forked", never: "who follows the advice writes over the evidence of a fork",
		file: "client/local/doctor_log.go", old: "	case ok && damaged.Code == client.LogForked:\n		return client.Failure(client.CheckLog, \"%v\", err)\n", new: "",
		pkg: "./client/local", run: "^TestDoctorOfAForkedLog$",
	},
	{
		name: "an object that cannot be read keeps a bucket from being compared", never: "one long object in the bucket hides that the record was put back",
		file: "audit/evidence/bucket.go", old: "	if s3store.IsUnreadable(err) {", new: "	if err != nil && object.Name == \"\" {",
		pkg: logTests, run: "^TestChangedBucket$",
	},
	{
		name: "versions of locked heads are not listed", never: "one ordinary deletion in a locked bucket hides that the record was put back",
		file: "payload/s3store/notes.go", old: "	if n.lock > 0 {\n		err = n.versions(", new: "	if n.lock < 0 {\n		err = n.versions(",
		pkg: logTests, run: "^TestBucketRemembers$",
	},
	{
		name: "a commit of somebody else ends the search for the last head", never: "a commit hides what the log signed before it, or stops all runs",
		file: "audit/evidence/git.go", old: "	heads, _, err = g.heads(ctx, mostHeads, by)\n", new: "",
		pkg: logTests, run: "^TestGitRemembers$",
	},
	{
		name: "signatures of entries are not looked at", never: "an entry that nobody signed counts",
		file: "audit/evidence/keyring.go", old: "\tcase err != nil && bySealer(of):\n", new: "\tcase bySealer(of):\n\t\treturn nil\n\tcase err != nil && bySealer(of):\n",
		pkg: logTests, run: "^TestAttacks$/^3[34]",
	},
	{
		name: "a rotation counts without the signature of the log's key", never: "who can write the landscape gives its log another key",
		file: "audit/evidence/keyring.go", old: "\t\terr = k.signed(e.Entry, s.Type, e.Position)\n", new: "\t\tif err = k.signed(e.Entry, s.Type, e.Position); s.Type == Rotated {\n\t\t\terr = nil\n\t\t}\n",
		pkg: logTests, run: "^TestFalseRotations$",
	},
	{
		name: "the key before signs entries", never: "who kept a key that was replaced says which key is next",
		file: "audit/evidence/keyring.go", old: "allowed := []note.Verifier{k.log.at(position)}", new: "allowed := []note.Verifier{k.log[0]}",
		pkg: logTests, run: "^TestRotate$",
	},
	{
		name: "a key that was replaced is never retired", never: "heads are signed for ever by a key that was to be forgotten",
		file: "audit/evidence/rotate.go", old: "key.retired > 0 || n.log.Now().Time()", new: "key.retired >= 0 || n.log.Now().Time()",
		pkg: logTests, run: "^TestOldKeySignsBesideTheNew$",
	},
	{
		name: "the log's key is retired while it signs", never: "an entry that means nothing leaves heads without a signature after the next rotation",
		file: "audit/evidence/keyring.go", old: " && !had.replaced.IsZero() && had.retired == 0", new: "",
		pkg: logTests, run: "^TestFalseRetirements$",
	},
	{
		name: "a post-quantum signature need not be there", never: "who can forge Ed25519 leaves the other signature out",
		file: "audit/evidence/cosigned.go", old: "	if len(quantum) == 0 {\n		return \"\", nil\n	}\n	return \"\", ", new: "	if len(quantum) >= 0 {\n		return \"\", nil\n	}\n	return \"\", ",
		pkg: logTests, run: "^TestWrongQuantumSignatures$",
	},
	{
		name: "a post-quantum key stands for another key of the log", never: "one stolen key is enough where the policy has two",
		file: "audit/evidence/cosigned.go", old: "len(quantum) > 0 && len(quantum) == len(logsOf(policy, of.origin()))", new: "len(quantum) > 0",
		pkg: logTests, run: "^TestWrongQuantumSignatures$",
	},
	{
		name: "a post-quantum signature does not cover the size", never: "a signature of one head is put under another",
		file: "audit/evidence/cosign/quantum.go", old: "AppendUint64(message, uint64(size))", new: "AppendUint64(message, uint64(size)*0)",
		pkg: "./audit/evidence/cosign", run: "^TestQuantumSignsCheckpoints$",
	},
	{
		name: "a key comes back", never: "heads by a key that was replaced count again",
		file: "audit/evidence/keyring.go", old: "\tcase slices.ContainsFunc(k.log, func(had logKey) bool { return had.KeyHash() == verifier.KeyHash() }):\n", new: "\tcase false:\n",
		pkg: logTests, run: "^TestFalseRotations$",
	},
	{
		name: "any key of the log signs any head", never: "who kept a key that was replaced makes heads of what came after it",
		file: "audit/evidence/head.go", old: "\tif err := by.signed(n, size); err != nil {\n", new: "\tif err := by.signed(n, size); err != nil && size == 0 {\n",
		pkg: "./audit/evidence/rowproof", run: "^TestStolenLog$",
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
		file: "audit/evidence/notary.go", old: "\t\tif err := grown.has(last, statePath(n.folder)); err != nil {\n", new: "\t\tif err := grown.has(last, \"\"); err != nil && ctx == nil {\n",
		pkg: logTests, run: "^TestFork$",
	},
	{
		name: "a run begins without an entry", never: "a run can vanish and nobody notices",
		file: "landscape/run.go", old: "Append: entries})", new: "Append: entries[:0]})",
		pkg: "./landscape/sqlitestore", run: driverTest,
	},
	{
		name: "a record is not compared with the anchors", never: "a restored backup is written as if nothing were missing",
		file: "audit/evidence/place.go", old: "\tif there.Size > h.size {\n", new: "\tif there.Size > h.size+1_000 {\n",
		pkg: logTests, run: "^TestRestoredBackup$",
	},
	{
		name: "a record that was removed is made again", never: "a refused run leaves an empty record, and the next one looks different",
		file: "client/local/home.go", old: "if err := o.removed(); err != nil {", new: "if err := o.removed(); err != nil && ctx == nil {",
		pkg: "./cmd/waymark", run: "^TestScripts$/^log$", tier: night,
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
		file: "audit/evidence/check_anchor.go", old: "\t\terr = c.compareCheckpoint(f, good, said)\n", new: "\t\t_ = said\n",
		pkg: logTests, run: "^TestAttacksOnAnchors$/^the_landscape_and_the_list",
	},
	{
		name: "a witness answers before its head is durable", never: "a witness that was killed cosigns another log",
		file: "audit/evidence/witness/serve.go", old: "\treturn line, log.save(kept + line)\n", new: "\tif last.size > 0 {\n\t\treturn line, nil\n\t}\n\treturn line, log.save(kept + line)\n",
		pkg: witnessTests, run: "^TestDurableBeforeTheAnswer$",
	},
	{
		name: "a witness believes the old size", never: "a log is cut short, and its witness cosigns that",
		file: "audit/evidence/witness/serve.go", old: "\tcase asked.old != last.size:\n", new: "\tcase asked.old > last.size:\n",
		pkg: witnessTests, run: "^TestAnswers$",
	},
	{
		name: "requests about one log are not put in order", never: "two heads continue the same one, and the witness forgets the longer",
		file: "audit/evidence/witness/serve.go", old: "\tlog.Lock()\n\tdefer log.Unlock()\n", new: "",
		pkg: witnessTests, run: "^TestConcurrentRequests$",
	},
	{
		name: "what a witness knows is not compared", never: "a restored backup is written, and its witness refuses it for ever",
		file: "audit/evidence/witness.go", old: "\tcase size > here.size:\n", new: "\tcase size > here.size+1_000:\n",
		pkg: logTests, run: "^TestWitnessRemembers$",
	},
	{
		name: "no quorum is asked for", never: "a head that nobody witnessed passes under a policy that requires it",
		file: "audit/evidence/cosigned.go", old: "\treturn head, found, policy.Check(names)\n", new: "\treturn head, found, nil\n",
		pkg: "./audit/evidence/bundle", run: "^TestWitnessedBundle$",
	},
}
