package main

// signOffs is mutants of what lets a person's signature count.
var signOffs = []mutant{
	{
		name: "a sign-off counts for any run", never: "a signature of one run is put beside another",
		file: "audit/evidence/persons/sign_off.go", old: "case v.Run != record.Run:", new: "case false:",
		pkg: "./audit/evidence/persons", run: "^TestSignOffAttacks$",
	},
	{
		name: "a key that has expired signs off runs", never: "who left, or stole a key, signs",
		file: "audit/evidence/persons/sign_off.go", old: "return a.Allows(SignOffs, v.time())", new: "return nil",
		pkg: "./audit/evidence/persons", run: "^TestSignOffAttacks$",
	},
	{
		name: "sign-offs are not compared with the log", never: "one that was removed is missed by nobody",
		file: "audit/evidence/check.go", old: "c.attestations, c.signOffs, c.runs}", new: "c.attestations, c.runs}",
		pkg: "./audit/evidence", run: "^TestEntriesOfSignOffs$",
	},
}
