package daemon

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"waymark/internal/settings"
	"waymark/plugin/file"
	"waymark/worker"
	"waymark/worker/storage"
)

// Confine lets a planner compile documents as this process does: they may come from anybody who may start a
// run, and only what the operator names is theirs.
func (c *Config) Confine(p *worker.Planner) {
	p.Confined, p.Served, p.AllowWrite, p.AllowEnv = true, c.Pipelines, c.AllowWrite, c.AllowEnv
	p.Secrets = &c.Secrets
	p.Allow = slices.Concat(c.AllowPaths, c.AllowWrite)
	if c.Pipelines != "" {
		p.Allow = append(p.Allow, c.Pipelines)
	}
	p.Own = append(c.own(), environmentFiles(os.Environ(), c.AllowEnv)...)
	if program, err := os.Executable(); err == nil {
		p.Own = append(p.Own, program)
	}
}

// OwnFiles returns what a process reads and keeps as its own, by the flags of its command.
func OwnFiles(flags *pflag.FlagSet) []string {
	return settings.Files(flags, "allow-path", "allow-write", "pipelines")
}

// own are the files and folders that this process reads as its own, and what it writes for itself. What is not
// there yet is among them.
func (c *Config) own() (paths []string) {
	paths = slices.Concat(c.Own, []string{c.SecretsDir, c.Keys, c.FingerprintKeyFile, c.CodecKeysFile, c.Spans})
	for _, anchor := range c.LogAnchors {
		paths = append(paths, anchorPath(anchor))
	}
	paths = append(paths, c.storage()...)
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}

// storage are the files and folders of the record and its payloads.
func (c *Config) storage() []string {
	return storage.Options{Landscape: c.Landscape, Payloads: c.Payloads}.Reserved().Files
}

// anchorPath returns what an anchor is on this machine: a folder, a repository, or a file of roots; "" for none.
func anchorPath(anchor string) string {
	if path, is := strings.CutPrefix(anchor, "git:"); is {
		return path
	}
	if address, is := strings.CutPrefix(anchor, "tsa:"); is {
		at, err := url.Parse(address)
		if err != nil {
			return ""
		}
		return at.Query().Get("roots")
	}
	if strings.Contains(anchor, "://") {
		return ""
	}
	return anchor
}

// environmentFiles are the files that variables name which programs and libraries read: certificates, keys,
// passwords. Those that documents may use are for these to decide.
func environmentFiles(environment, allowed []string) (files []string) {
	for _, entry := range environment {
		name, value, _ := strings.Cut(entry, "=")
		read := slices.ContainsFunc([]string{"AWS_", "OTEL_", "PG", "SSL_", "TEMPORAL_", "WAYMARK_"},
			func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		if !read || slices.Contains(allowed, name) || !strings.Contains(value, "/") {
			continue
		}
		if info, err := os.Stat(value); err == nil && info.Mode().IsRegular() {
			files = append(files, value)
		}
	}
	return files
}

// checkOwn refuses folders in which documents could use nothing, and those in which they would write beside
// settings, secrets or keys. What is reserved they do not write there either: but who puts such a file there
// later, or gives a folder another name, would open it to them.
func (c *Config) checkOwn() error {
	type given struct{ flag, folder string }
	var use, write []given
	for _, folder := range c.AllowPaths {
		use = append(use, given{"--allow-path " + folder, folder})
	}
	for _, folder := range c.AllowWrite {
		write = append(write, given{"--allow-write " + folder, folder})
	}
	if c.Pipelines != "" {
		use = append(use, given{"the folder of pipelines, " + c.Pipelines, c.Pipelines})
		beside := filepath.Join(c.Pipelines, worker.OutFolder)
		write = append(write, given{"documents write in " + beside, beside})
	}
	for _, document := range file.Documents(c.Pipelines) {
		if filepath.Base(document) == "pipeline.yaml" {
			beside := filepath.Join(filepath.Dir(document), worker.OutFolder)
			write = append(write, given{"documents write in " + beside, beside})
		}
	}
	for _, own := range c.own() {
		for _, g := range slices.Concat(use, write) {
			if lies(g.folder, own) {
				return fmt.Errorf("%s: it lies in %s, which is this process's own: name another folder", g.flag, own)
			}
		}
		info, err := os.Stat(own)
		if err != nil || info.IsDir() && own != c.SecretsDir || slices.Contains(c.storage(), own) {
			continue
		}
		for _, g := range write {
			if lies(own, g.folder) {
				return fmt.Errorf("%s: %s is there, which this process reads as its own: "+
					"move that, or name another folder", g.flag, own)
			}
		}
	}
	return nil
}

// lies reports whether a path is a folder, or lies in it, as it is written or as links lead.
func lies(path, folder string) bool {
	within := func(path, folder string) bool {
		name, err := filepath.Rel(folder, path)
		return err == nil && filepath.IsLocal(name)
	}
	path, err := filepath.Abs(path)
	folder, failed := filepath.Abs(folder)
	if err != nil || failed != nil {
		return false
	}
	return within(path, folder) || within(file.Followed(path), file.Followed(folder))
}
