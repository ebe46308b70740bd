package main

const bundleTests = "./audit/evidence/bundle"

// bundles is mutants of bundles of evidence: each would let somebody give away a false one.
var bundles = []mutant{
	{
		name: "the signature of a bundle is not verified", never: "anybody makes a bundle in the name of a sealer",
		file: "audit/evidence/bundle/envelope.go", old: "\tif !verifier.Verify(", new: "\tif false && !verifier.Verify(",
		pkg: bundleTests, run: "^TestHostileBundles$",
	},
	{
		name: "bytes of members in the zip are not compared", never: "a bundle is changed in a bit, and still verified",
		file: "audit/evidence/bundle/verify.go", old: "\tcase hex.EncodeToString(d.Packed[:]) != want.Packed:\n", new: "\tcase want.Packed == \"\":\n",
		pkg: bundleTests, run: "^TestHostileBundles$",
	},
	{
		name: "any key may sign a bundle", never: "a stranger's bundle passes for one of the log",
		file: "audit/evidence/bundle/verify.go", old: "proven.Admits(v.SignedBy); !ok {", new: "proven.Admits(v.SignedBy); !ok && v.SignedBy == \"\" {",
		pkg: bundleTests, run: "^TestExportAndVerify$",
	},
	{
		name: "the trust policy is not looked at", never: "a log that somebody made up passes for the trusted one",
		file: "audit/evidence/cosigned.go", old: "policy.LogOf(key); ok {", new: "policy.LogOf(key); ok || key != \"\" {",
		pkg: bundleTests, run: "^TestExportAndVerify$",
	},
	{
		name: "what was purged is not listed", never: "a bundle looks complete, and is not",
		file: "audit/evidence/bundle/export_payloads.go", old: "\t\t\te.gap(packName(digest), err)\n", new: "",
		pkg: bundleTests, run: "^TestGaps$",
	},
	{
		name: "members may overlap", never: "two programs read two things from one file",
		file: "audit/evidence/strictzip/reader.go", old: "\t\tif m.Offset != at {\n", new: "\t\tif m.Offset > at {\n",
		pkg: "./audit/evidence/strictzip", run: "^TestHostileFiles$",
	},
	{
		name: "attestations are not compared with the log", never: "who edited an output gives away an attestation that says that nobody did",
		file: "audit/evidence/bundle/verify_seal.go", old: "\t\tcase !v.manifest.lacks(attestationGap):\n", new: "\t\tcase false:\n",
		pkg: bundleTests, run: "^TestAttestedBundle$",
	},
	{
		name: "an object whose metadata fit its checksum counts as written", never: "who overwrites an object with what the run noted of it is not noticed",
		file: "plugin/object/attest.go", old: "sum != \"\" && there.sum == sum && ", new: "there.sum == there.about[aboutWhole] && ",
		pkg: "./plugin/object", run: "^TestAttestObjects$",
	},
	{
		name: "what a later run wrote is not compared", never: "who edits a file after the next run has that run for an alibi",
		file: "audit/attest.go", old: "\treturn other.whole(ctx, record), ctx.Err()\n", new: "\tother.whole(ctx, record)\n\treturn plugin.Finding{State: plugin.AsWritten}, ctx.Err()\n",
		pkg: "./cmd/waymark", run: "^TestScripts$/^attest$", tier: night,
	},
	{
		name: "records are not compared with their seals", never: "who has a sealer's key changes what is recorded of a row, and strangers believe it",
		file: "audit/evidence/bundle/verify_seal.go", old: "	if errors.Is(err, landscape.ErrUnsealed) && v.manifest.lacks(sealGap) {", new: "	if err != nil {",
		pkg: bundleTests, run: "^TestHostileBundles$",
	},
	{
		name: "the entry about the seal is not compared", never: "a forged seal passes for the one that the log records",
		file: "audit/evidence/bundle/verify_seal.go", old: "!v.sealed.Says(last)", new: "v.sealed.Run != last.Run",
		pkg: bundleTests, run: "^TestHostileBundles$",
	},
	{
		name: "seals are not compared with the log", never: "the owner of the database reseals a changed record, and gets a signed bundle and proofs of it",
		file: "audit/evidence/missing.go", old: "return slices.ContainsFunc(seals, s.Says), err", new: "return seals == nil || s.Says != nil, err",
		pkg: "./audit/evidence", run: "^TestCheckedSeal$",
	},
	{
		name: "a row that a target refused is read as written", never: "an export says that a table has a row that it refused",
		file: "landscape/rowview/token.go", old: "\t\t\tt.refusedBy = e.Sink\n", new: "",
		pkg: "./landscape/sqlitestore", run: "^TestRelationsAreTheViews$/^documented$",
	},
	{
		name: "a row that was refused leaves the node with a hash", never: "an export says that a node passed on what it refused",
		file: "landscape/rowview/states.go", old: "\t\t\t\tleft = nil\n", new: "",
		pkg: "./landscape/sqlitestore", run: "^TestRelationsAreTheViews$/^documented$",
	},
	{
		name: "an output is not compared while it is exported", never: "a bundle has an output that the run did not publish",
		file: "audit/evidence/bundle/export_artifacts.go", old: "	if err == nil && e.manifest.Members[", new: "	if false && e.manifest.Members[",
		pkg: bundleTests, run: "^TestArtifactsThatChanged$",
	},
	{
		name: "an output may be missing in a bundle", never: "a bundle says that the outputs are in it, and one is not",
		file: "audit/evidence/bundle/verify_artifacts.go", old: "	if v.manifest.lacks(artifactName(digest)) {", new: "	if true {",
		pkg: bundleTests, run: "^TestArtifacts$",
	},
	{
		name: "a file that no run published passes for an output", never: "a stranger's file in a bundle looks like an output of the run",
		file: "audit/evidence/bundle/verify_artifacts.go", old: "		if !published[digest] {", new: "		if false {",
		pkg: bundleTests, run: "^TestArtifacts$",
	},
	{
		name: "the counts of the statement are not compared", never: "a signed statement says that no row was refused, and some were",
		file: "audit/evidence/bundle/account.go", old: "	case balance != said.Balance:", new: "	case false:",
		pkg: bundleTests, run: "^TestHostileBundles$",
	},
	{
		name: "a redaction need not be listed", never: "a bundle hides rows, and looks complete",
		file: "audit/evidence/bundle/redact.go", old: "	for source, n := range found {\n", new: "	for source, n := range map[string]int64{} {\n",
		pkg: bundleTests, run: "^TestRedacted$",
	},
	{
		name: "the salts of redacted rows are left in", never: "who has a redacted bundle guesses values, and knows when he is right",
		file: "landscape/redact.go", old: "		if err == nil && !d.hides(s.Source) {\n", new: "		if err == nil {\n",
		pkg: bundleTests, run: "^TestRedacted$",
	},
	{
		name: "the key of all salts is left in a redacted bundle", never: "who has a redacted bundle guesses values, and knows when he is right",
		file: "landscape/redact.go", old: "Keys: make([]byte, seal.KeyBytes)}}\n", new: "Keys: make([]byte, seal.KeyBytes)}}\n	if root, err := d.log.rootKey(ctx, d.Run); err == nil {\n		d.salts[0].Keys = root[:]\n	}\n",
		pkg: bundleTests, run: "^TestRedacted$",
	},
	{
		name: "payloads of redacted rows are exported", never: "a redacted bundle has the records that it should hide",
		file: "audit/evidence/bundle/export_payloads.go", old: "		if e.hides(c.Source) {\n", new: "		if false {\n",
		pkg: bundleTests, run: "^TestRedacted$",
	},
}
