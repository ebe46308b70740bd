package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"waymark/activities/resumepoint"
	"waymark/engine/plan"
	"waymark/internal/failpoint"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// Affinity is which queues a worker process polls among others. The zero Affinity is that of a process that works alone.
type Affinity struct {
	Files       string // name of the files that it sees: processes with the same name see the same
	FilesQueue  string // task queue of all processes that see these files; "" for a process that works alone
	OwnQueue    string // task queue of this process; "" for a process that works alone
	Landscape   string // id of its landscape; "" for a process that works alone
	Pipelines   string // folder of the documents that are deployed; "" if there are none
	Environment string // in which pipelines run whose starts name none; "" is landscape.DefaultEnvironment
	Scratch     string // folder for files that are gone with the process; "" is the system's for temporary files
	Split       int64  // bytes of its sources' files from which a run is split; 0: 64 MiB, or never without OwnQueue

	// Unserved reports whether nobody executes a run, or begins one that waits, while this process runs: a server that ended left it to the
	// next one. Nil if others may do so.
	Unserved func(ctx context.Context, run string) (bool, error)
}

// onHost reports whether a document's sources or sinks can be reached only by workers that see its files.
func onHost(compiled *plan.Plan) bool {
	for i := range compiled.Nodes {
		for _, plugged := range []any{compiled.Nodes[i].Source, compiled.Nodes[i].Sink} {
			if local, ok := plugged.(plugin.OnHost); ok && local.OnHost() {
				return true
			}
		}
	}
	return false
}

// bind says on which queues the rest of the run is to be done.
func (a *Activities) bind(compiled *plan.Plan, sum resumepoint.Plan) resumepoint.Plan {
	sum.Worker = a.affinity.OwnQueue
	sum.Split = a.splits(sum.Bytes)
	if onHost(compiled) {
		sum.Queue = a.affinity.FilesQueue
	}
	return sum
}

// usualSplit is how many bytes the sources of a run hold at least for several workers to share it. The coordination of a
// smaller run costs more than it gains.
const usualSplit = 64 << 20

// splits reports whether workers share a run whose sources hold this many bytes.
func (a *Activities) splits(bytes int64) bool {
	from := cmp.Or(a.affinity.Split, failpoint.Split())
	if from == 0 && a.affinity.OwnQueue != "" {
		from = usualSplit
	}
	return from > 0 && bytes >= from
}

// seen refuses to resume a run of whose files this process sees nothing.
func (a *Activities) seen(ctx context.Context, r *run) error {
	if a.affinity.Files == "" || !onHost(r.plan) {
		return nil
	}
	record, err := a.log.Run(ctx, r.id)
	if err != nil || record.Host == a.affinity.Files {
		return err
	}
	return final{TypeElsewhere, fmt.Errorf("ELSEWHERE: run %s reads or writes files of %q, and this worker sees those of %q: "+
		"start a worker there, or one that sees the same files with --files %s", r.id, record.Host, a.affinity.Files, record.Host)}
}

// codeNotDelivered is the code of a source of deliveries in a run that no trigger began: no other files would help.
const codeNotDelivered = "NOT_DELIVERED"

// here adds to a fault of the sources where it was looked for.
func (a *Activities) here(err error) error {
	if fault, ok := errors.AsType[*plugin.SourceError](err); !ok || fault.Code == codeNotDelivered || a.affinity.Files == "" {
		return err
	}
	return fmt.Errorf("%w (a worker that sees the files of %q looked for it; a run may name the files of others: --files, or files in the input of its workflow)", err, a.affinity.Files)
}

// codeTargetChanged is the code of a target that does not hold what the run wrote there.
const codeTargetChanged = "TARGET_CHANGED"

// there adds to a fault of a target among local files that is not as the run left it who found that: another process may have written
// where this one does not see it.
func (a *Activities) there(err error) error {
	target, ok := errors.AsType[*plugin.TargetError](err)
	if !ok || target.Code != codeTargetChanged || !filepath.IsAbs(target.Target) || a.affinity.Files == "" {
		return err
	}
	return fmt.Errorf("%w (found by worker %s, which sees the files of %q: all workers with --files %s must see the same files; "+
		"if they do not, put the folder on a volume that they share, or give them different names)", err, a.worker, a.affinity.Files, a.affinity.Files)
}

// deployedName is what a deployed document may be called: it is part of a file's name.
var deployedName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// begunWith returns an input with the document with which its run began.
func (a *Activities) begunWith(ctx context.Context, in OpenInput) (OpenInput, error) {
	record, err := a.log.Run(ctx, in.Run)
	if err != nil {
		return in, err
	}
	in.File, in.Folder, in.Version = record.File, record.BaseDir, record.Version
	in.Environment, in.EnvironmentSeq = record.Environment, record.EnvironmentSeq
	if in.Version > 0 {
		version, err := a.log.Version(ctx, record.Pipeline, record.Version)
		if err != nil {
			return in, err
		}
		in.Bundle = version.Bundle
	}
	digest, err := a.payloads.Put(ctx, []byte(record.Document))
	in.Document = string(digest)
	return in, err
}

// deployed turns an input that names a deployed pipeline into one with the document itself: that of the version in the landscape, which all
// workers have, or else of a file in this worker's folder. A run that has begun has the document of its beginning.
func (a *Activities) deployed(ctx context.Context, in OpenInput, begun bool) (OpenInput, error) {
	switch {
	case in.Pipeline == "" && in.Environment != "" && in.Version == 0:
		return in, final{TypeInput, keyError{"environment", fmt.Errorf("the input has the environment %q and no deployed pipeline: name one with pipeline", in.Environment)}}
	case in.Pipeline == "" && in.Document == "":
		return in, final{TypeInput, keyError{"pipeline", errors.New(`the input names nothing to run: write {"pipeline": "NAME"} for a deployed pipeline`)}}
	case in.Pipeline == "":
		return in, nil
	case in.Document != "":
		return in, final{TypeInput, keyError{"pipeline", fmt.Errorf("the input has both a document and the pipeline %q: give one of them", in.Pipeline)}}
	}
	in.Version, in.Bundle, in.EnvironmentSeq = 0, "", 0 // of what the name is found to be
	if begun {
		return a.begunWith(ctx, in)
	}
	if in, found, err := a.registered(ctx, in); err != nil || found {
		return in, err
	}
	file, err := a.findDeployed(in.Pipeline)
	if err != nil {
		return in, err
	}
	document, err := os.ReadFile(file)
	if err != nil {
		return in, fmt.Errorf("deployed pipeline %s: %w", in.Pipeline, err)
	}
	in.File, in.Folder = filepath.Base(file), filepath.Dir(file)
	if in, err = a.about(ctx, in, in.File, document); err != nil {
		return in, err
	}
	// A document that is rejected is not stored: there may be a password in it.
	compiled, err := a.planner.Plan(plan.Request{File: in.File, Folder: in.Folder, Document: document, Params: in.Params})
	if err != nil {
		return in, err
	}
	if name := compiled.Document.Pipeline.Name; name != in.Pipeline {
		return in, final{TypeNoPipeline, misnamed(in.Pipeline, name)}
	}
	digest, err := a.payloads.Put(ctx, document)
	in.Document = string(digest)
	return in, err
}

// findDeployed returns the file of a deployed document: NAME.yaml, or pipeline.yaml in the folder NAME.
func (a *Activities) findDeployed(name string) (string, error) {
	if !deployedName.MatchString(name) {
		return "", final{TypeInput, keyError{"pipeline", fmt.Errorf("%q is not the name of a pipeline: write up to 63 of a to z, 0 to 9, _ and -", name)}}
	}
	unknown := &landscape.NotDeployedError{Environment: a.ownEnvironment(), Pipeline: name}
	if a.affinity.Pipelines == "" {
		return "", final{TypeNoPipeline, unknown}
	}
	folder, err := filepath.Abs(a.affinity.Pipelines)
	if err != nil {
		return "", err
	}
	for _, file := range servedFiles(folder, name) {
		if _, err := os.Stat(file); err == nil {
			return file, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	meant := ""
	if nearest := pipeline.Nearest(name, deployedIn(folder)); nearest != "" {
		meant = fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	return "", final{TypeNoPipeline, fmt.Errorf("%w, and worker %s has no file of it%s: neither %s nor %s is in %s",
		unknown, a.worker, meant, name+".yaml", filepath.Join(name, "pipeline.yaml"), folder)}
}

// servedFiles are the files in a folder that may have the document of a name; the first that is there has it.
func servedFiles(folder, name string) []string {
	return []string{filepath.Join(folder, name+".yaml"), filepath.Join(folder, name, "pipeline.yaml")}
}

// misnamed says that a document is not that of the pipeline which its file, or the folder of that, is called after: a name would stand for two.
func misnamed(file, name string) error {
	return fmt.Errorf("the file of pipeline %s has the document of pipeline %s: write name: %[1]s in it, or call it %[2]s.yaml", file, name)
}

// deployedIn returns the names of the documents that are deployed in the folder; none if it cannot be read.
func deployedIn(folder string) (names []string) {
	for _, pattern := range []string{"*.yaml", "*/pipeline.yaml"} {
		files, err := fs.Glob(os.DirFS(folder), pattern)
		if err != nil {
			return nil
		}
		for _, file := range files {
			names = append(names, strings.TrimSuffix(strings.TrimSuffix(file, "/pipeline.yaml"), ".yaml"))
		}
	}
	return names
}
