package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waymark/activities/recompute"
	"waymark/audit/retain"
	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/plugin/egress"
	"waymark/plugin/file"
	"waymark/plugin/lookup"
	"waymark/plugin/object"
	"waymark/plugin/postgres"
	"waymark/worker/formats"
	"waymark/worker/secrets"
)

// Planner compiles documents with this machine's environment variables and secrets. It is safe for concurrent use.
type Planner struct {
	// Allow are folders, besides the document's own, in which a document's files may be.
	Allow []string
	// Confined says that documents come from people who may not read everything on this machine: the document's
	// own folder counts only if it lies in one of Allow, of the environment variables it may have those of
	// AllowEnv, and what their addresses of databases do not say is not taken from the environment. They write
	// only in AllowWrite, which lies in Allow, and in the folder out beside a document in Served.
	Confined bool
	// Served is the folder of the documents that the process serves, of which a confined one reads and writes
	// none; "" for none.
	Served string
	// AllowWrite are folders in which confined documents write.
	AllowWrite []string
	// Own are files and folders, besides those of Reserved, that the process reads as its own: settings, secrets, keys.
	Own []string
	// AllowEnv are names of environment variables.
	AllowEnv []string
	// SecretsDir holds a file for each secret: `${secret:NAME}` is the content of SecretsDir/NAME without the line end.
	// Without it, or without such a file, the environment variable WAYMARK_SECRET_NAME is used. Before both comes
	// SecretsDir/PIPELINE/NAME.
	SecretsDir string
	// Secrets are the rules of a process that serves others: a secret is that of one pipeline, or one that they name.
	// nil in the caller's own process, whose secrets are all the caller's.
	Secrets *secrets.Rules
	// FingerprintKey keys the fingerprints by which a run's record tells that a secret changed. It must not be empty if a
	// document uses environment variables or secrets.
	FingerprintKey []byte
	// AllowNetworks are networks, besides the public web, that documents may lead to: with what they fetch, and with the
	// endpoints of buckets and the databases that they name.
	AllowNetworks Networks
	// Reserved is where no document reads or writes.
	Reserved Reserved
	// Credentials are those with which documents reach buckets.
	Credentials Credentials
	// Stdio is the folder in which is kept what goes through standard input and output; "" refuses documents that use them.
	Stdio string
	// Run is the run that the process executes, whose standard input is that of the process; "" for none.
	Run string
	// Delivered reads the payloads in which deliveries of webhooks are; nil where no run is executed.
	Delivered func(ctx context.Context, payload string) ([]byte, error)
	// Periods are those after which what is due is deleted, as far as this process knows them: documents may only
	// lengthen them.
	Periods retain.Periods
	// Rerun is a run that is executed again: whatever is to be compiled, its document is, as it is recorded. nil for none.
	Rerun *recompute.Rerun
}

// Reserved is where the record and the payloads are.
type Reserved struct {
	Files    []string // and folders
	Bucket   string
	Prefixes []string // of keys in the bucket, each with a slash at the end
}

func (r Reserved) places() []object.Reserved {
	var all []object.Reserved
	for _, prefix := range r.Prefixes {
		all = append(all, object.Reserved{Bucket: r.Bucket, Prefix: prefix})
	}
	return all
}

// InputFile returns where the standard input of a run is kept.
func (p Planner) InputFile(run string) string { return file.Stdio{Folder: p.Stdio}.InputFile(run) }

// Plan compiles a document. The error is pipeline.Problems if the document is at fault.
func (p Planner) Plan(request plan.Request) (*plan.Plan, error) {
	if p.Rerun == nil {
		return p.compile(request)
	}
	compiled, err := p.compile(p.Rerun.Request(request.File))
	if err != nil {
		return nil, err
	}
	return p.Rerun.Of(compiled)
}

func (p Planner) compile(request plan.Request) (*plan.Plan, error) {
	purse := p.purse(request)
	loaded, err := pipeline.Load(request.File, request.Document, pipeline.Environment{
		Params: request.Params, Values: request.Values, ValuesOf: request.ValuesOf, Env: os.LookupEnv,
		MayRead: p.mayRead, Secret: purse.value, FingerprintKey: p.FingerprintKey,
	})
	if loaded == nil {
		return nil, err
	}
	root, err := p.root(request)
	switch {
	case err != nil && len(loaded.Problems) > 0:
		return nil, loaded.Problems
	case err != nil:
		return nil, fmt.Errorf("folder of %s: %w", request.File, err)
	}
	if err := root.Reserve(slices.Concat(p.Reserved.Files, p.Own)...); err != nil {
		return nil, err
	}
	if err := p.confine(root, request, loaded.Pipeline.Name); err != nil {
		return nil, err
	}
	remote := object.New(object.Options{
		Allow: p.AllowNetworks, Reserved: p.Reserved.places(), Credentials: p.Credentials, Held: purse.held(loaded),
	})
	compiled, err := plan.Compile(loaded, formats.Formats{
		Files: file.Access{
			Root: root, Beside: request.Beside, Stdio: file.Stdio{Folder: p.Stdio, Run: p.Run},
			Remote: remote,
		},
		Remote:    remote.Carrying,
		Cargo:     func(at string) (egress.Cargo, error) { return purse.cargo(loaded, at) },
		Delivered: p.Delivered,
		Postgres:  postgres.Access{Confined: p.Confined, Folders: p.Allow, Owns: root.Owns, Networks: p.AllowNetworks},
		Tables:    kept(request),
	})
	if err != nil {
		return nil, err
	}
	compiled.Beside = request.Beside
	return compiled, nil
}

// kept are the contents of the files that the request has.
func kept(request plan.Request) lookup.Kept {
	kept := lookup.Kept{Tables: request.Tables}
	if request.Deployed || request.Closed {
		kept.Files = map[string][]byte{}
		maps.Copy(kept.Files, request.Files)
	}
	return kept
}

func (p Planner) mayRead(variable string) bool {
	return !p.Confined || slices.Contains(p.AllowEnv, variable)
}

// root opens the folders in which a document's files may be.
func (p Planner) root(request plan.Request) (*file.Root, error) {
	folder := request.Folder
	if request.Deployed {
		root, err := file.NewRootElsewhere("", noFolder, p.Allow...)
		if err == nil && !p.Confined {
			root.FollowLinks()
		}
		return root, err
	}
	if !p.Confined {
		root, err := file.NewRoot(folder, p.Allow...)
		if err == nil {
			root.FollowLinks()
		}
		return root, err
	}
	if !p.allows(folder) {
		reason := fmt.Sprintf("the document's folder, %q, is none that this worker gives to documents: allow it with --allow-path, or use s3:// or https://", folder)
		return file.NewRootElsewhere(folder, reason, p.Allow...)
	}
	if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
		return file.NewRootElsewhere(folder, fmt.Sprintf("the document's folder, %q, is not on this machine", folder), p.Allow...)
	}
	return file.NewRoot(folder, p.Allow...)
}

// noFolder is why no relative path leads anywhere in a document that is deployed.
const noFolder = "a deployed pipeline has no folder: write the absolute path of a file in a folder that --allow-path allows, or s3://"

// allows reports whether a folder lies in one that is allowed, by names that do not begin with a dot, and also
// when links are followed.
func (p Planner) allows(folder string) bool {
	return filepath.IsAbs(folder) &&
		slices.ContainsFunc(p.Allow, func(allowed string) bool { return lies(folder, allowed) })
}

// lies reports whether a folder lies in another one, or is that. One that is not there leads nowhere else.
func lies(folder, in string) bool {
	in, err := filepath.Abs(in)
	if err != nil {
		return false
	}
	within := func(folder, in string) bool {
		name, err := filepath.Rel(in, folder)
		return err == nil && filepath.IsLocal(name) && !strings.Contains("/"+name, "/.") || folder == in
	}
	if !within(folder, in) {
		return false
	}
	real, err := filepath.EvalSymlinks(folder)
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	realIn, failed := filepath.EvalSymlinks(in)
	return err == nil && failed == nil && within(real, realIn)
}

// Serves reports whether a pipeline of the name is served, as a document in this folder.
func (p Planner) Serves(name, folder string) bool {
	served, err := filepath.Abs(p.Served)
	if p.Served == "" || err != nil || !filepath.IsLocal(name) {
		return false
	}
	for _, path := range []string{filepath.Join(served, name+".yaml"), filepath.Join(served, name, "pipeline.yaml")} {
		if _, err := os.Stat(path); err == nil && filepath.Dir(path) == filepath.Clean(folder) {
			return true
		}
	}
	return false
}

// OutFolder is the folder beside a served document in which that writes without a word of the operator.
const OutFolder = "out"

// confine lets a document of other people write only where it may. A version that is deployed has no folder: it
// writes where the served document of its name would.
func (p Planner) confine(root *file.Root, request plan.Request, name string) error {
	if !p.Confined {
		return nil
	}
	var c file.Confinement
	for _, folder := range p.AllowWrite {
		absolute, err := filepath.Abs(folder)
		if err != nil {
			return err
		}
		c.Write = append(c.Write, absolute)
	}
	if p.Served != "" {
		served, err := filepath.Abs(p.Served)
		if err != nil {
			return err
		}
		c.Served = served
		switch {
		case request.Deployed:
			c.Beside = []string{filepath.Join(served, OutFolder), filepath.Join(served, name, OutFolder)}
		case !request.Deployed && lies(request.Folder, served):
			c.Beside = []string{filepath.Join(request.Folder, OutFolder)}
		}
	}
	return root.Confine(c)
}
