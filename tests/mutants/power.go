package main

// powerTest cuts the power at every moment of what is written, on a file system that forgets what was not synced.
const powerTest = "^TestPowerLoss$"

// power is mutants that lose what was acknowledged, or show what is not whole, after a loss of power.
var power = []mutant{
	{
		name: "a payload gets its name before its bytes are synced", never: "a name that survives a loss of power stands for nothing, or for zeros", again: poisonedPayload,
		file: "payload/fsstore/durable.go",
		old:  "\tif err == nil {\n\t\terr = f.Sync()\n\t}\n\tif err == nil {\n\t\terr = failpoint.Hit(\"payload.synced\")\n\t}\n\tif err == nil {\n\t\terr = d.Rename(temp, final)\n\t}\n",
		new:  "\tif err == nil {\n\t\terr = d.Rename(temp, final)\n\t}\n\tif err == nil {\n\t\terr = f.Sync()\n\t}\n",
		pkg:  "./payload/fsstore", run: powerTest,
	},
	{
		name: "the folder of a payload is not synced", never: "an acknowledged payload is gone after a loss of power",
		file: "payload/fsstore/durable.go", old: "if err := d.SyncDir(shardPath(key)); err != nil {", new: "if err := error(nil); err != nil {",
		pkg: "./payload/fsstore", run: powerTest,
	},
	{
		name: "a payload that is there already is not made durable", never: "what another process was about to store is acknowledged and lost", again: poisonedPayload,
		file: "payload/fsstore/read.go", old: "if err := syncNames(s.disk, key); err != nil {", new: "if err := error(nil); err != nil {",
		pkg: "./payload/fsstore", run: powerTest,
	},
	{
		name: "a deletion is not synced", never: "a purged payload is back after a loss of power",
		file: "payload/fsstore/remove.go", old: "if err := ignoreNotExist(s.disk.SyncDir(shardPath(key))); err != nil || missing {", new: "if err := error(nil); err != nil || missing {",
		pkg: "./payload/fsstore", run: powerTest,
	},
	{
		name: "parts are acknowledged before they are synced", never: "a finalized part is gone after a loss of power",
		file: "plugin/file/sink_disk.go", old: "\t\terr = f.Sync()\n", new: "\t\terr = nil\n",
		pkg: "./plugin/file", run: powerTest,
	},
	{
		name: "a part that is there already is not synced", never: "the part of a process that died is confirmed and lost",
		file: "plugin/file/sink_onefile.go", old: "\treturn true, f.Sync()\n", new: "\treturn true, nil\n",
		pkg: "./plugin/file", run: powerTest,
	},
	{
		name: "a staged part counts without its header", never: "a run that was killed in the middle of a part can never publish",
		file: "plugin/file/sink_folder.go", old: "holds, err := l.holdsHeader(at, f, headerBytes)", new: "holds, err := true, error(nil)",
		pkg: "./plugin/file", run: powerTest,
	},
	{
		name: "a staging is published without a sync", never: "an output is visible that is not whole",
		file: "plugin/file/sink_onefile.go", old: "\t\terr = f.Sync()\n", new: "\t\terr = nil\n",
		pkg: "./plugin/file", run: powerTest,
	},
	{
		name: "a published name is not synced", never: "a run is complete and its output is gone after a loss of power",
		file: "plugin/file/sink_target.go", old: "\treturn t.disk.SyncDir(path.Dir(t.name))\n", new: "\treturn nil\n",
		pkg: "./plugin/file", run: powerTest,
	},
	{
		name: "the staging's name goes before the final one is durable", never: "an output loses both of its names",
		file: "plugin/file/sink_onefile.go", old: "if err := l.settle(err); err != nil {", new: "if err := moved(err); err != nil {",
		pkg: "./plugin/file", run: powerTest,
	},
	{
		name: "a discarded folder is removed in its place", never: "an attempt that publishes meanwhile shows half an output",
		file: "plugin/file/sink_folder.go", old: "if err := disk.Ignore(l.disk.Rename(name, l.trash), fs.ErrNotExist); err != nil {", new: "if err := l.disk.RemoveAll(name); err != nil {",
		pkg: "./plugin/file", run: powerTest,
	},
	{
		name: "a folder is replaced in two steps", never: "an attempt that comes late takes the published output away",
		file: "plugin/file/sink_folder.go", old: "err := l.disk.Exchange(staging, l.name)", new: "err := error(errors.ErrUnsupported)",
		pkg: "./plugin/file", run: powerTest,
	},
	{
		name: "two attempts exchange the folders at once", never: "the new output is removed as the one that was replaced",
		file: "plugin/file/sink_folder.go", old: "\t\terr = moved(l.disk.Exchange(l.old, l.name))\n", new: "\t\terr = nil\n",
		pkg: "./plugin/file", run: "^TestInterleaved$/^parts_over_others", flags: []string{"-rounds=200"}, tier: night,
	},
	{
		name: "an output is published without a comparison", never: "bytes that nobody wrote are published",
		file: "plugin/file/sink_onefile.go", old: "\tif [sha256.Size]byte(hash.Sum(nil)) != part.SHA256 {\n\t\treturn p.changed", new: "\tif false {\n\t\treturn p.changed",
		pkg: "./plugin/file", run: "^TestTargetContract$",
	},
}
