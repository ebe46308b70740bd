package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waymark/audit/retain"
	"waymark/internal/settings"
	"waymark/worker"
	"waymark/workflows"
)

// config is everything that holds for every command. Nothing else in this package reads flags that all commands have,
// environment variables or settings files.
type config struct {
	env settings.Lookup

	settings   string   // path of the settings file; empty for the one in the working folder, if there is one
	state      string   // folder for what runs leave behind
	server     string   // address of the server whose HTTP API is asked; empty for the record that this machine reaches
	landscape  string   // URL of the record; empty for the one in the state folder
	payloads   string   // URL of the payload store; empty for the one in the state folder
	temporal   string   // address of the Temporal cluster that executes runs; empty for the server in the program
	joined     bool     // the cluster is a process that serves on the state folder
	queue      string   // the cluster's task queue
	files      string   // name of the files that this machine sees; empty for the host's name
	codecKeys  string   // file with the keys for what the cluster stores; empty for those in the environment, if there are any
	allowPaths []string // folders, besides the document's own, that a document may use
	secretsDir string   // folder with one file for each secret

	allowNetworks worker.Networks // networks, besides the public web, that a document may lead to

	documentProfile string // of the AWS SDK, with which documents reach buckets; empty for the keys in the environment

	retention retain.Periods // after which servers and workers delete what is due: documents may only lengthen them

	keys       string   // folder of the keys that sign the log of the record; empty for the one in the state folder
	approvers  string   // file that says whose SSH keys may sign off runs; empty for the one in the state folder
	logAnchors []string // folders, buckets and witnesses to which the heads of that log go, besides the one in the state folder

	keyFile string // file with the fingerprint key that workers share; empty for the state folder's own key
	json    bool
	quiet   bool
	verbose bool
}

const defaultState = ".waymark"

// bind defines the flags. Their defaults are the lowest layer of the configuration.
func (c *config) bind(flags *pflag.FlagSet) {
	flags.StringVar(&c.settings, settings.FileFlag, "", "settings `file` (default "+settings.DefaultFile+", if there is one)")
	flags.StringVar(&c.state, "state", defaultState, "`folder` where runs keep their state")
	flags.StringVar(&c.server, serverFlag, "", "`URL` of a server that is asked over its HTTP API, in place of a record that this machine reaches, such as https://waymark.example.com; WAYMARK_TOKEN is the access token")
	flags.StringVar(&c.landscape, "landscape", "", "`URL` of the landscape (default sqlite:STATE/landscape.db)")
	flags.StringVar(&c.payloads, "payloads", "", "`URL` of the payload store (default file:STATE/payloads)")
	flags.StringVar(&c.temporal, "temporal", "", "Temporal cluster that executes runs: `HOST:PORT`, or env for what TEMPORAL_ADDRESS says (default: the server in this program)")
	flags.StringVar(&c.queue, "queue", workflows.TaskQueue, "with --temporal: `name` of the workers' task queue")
	flags.StringVar(&c.files, "files", "", "with --temporal: `name` of the set of files that this machine sees, as its workers' --files says (default the host's name)")
	flags.StringVar(&c.codecKeys, "codec-keys-file", "", "with --temporal: `file` with the keys with which the workers encrypt what Temporal stores (default WAYMARK_CODEC_KEYS)")
	flags.StringArrayVar(&c.allowPaths, "allow-path", nil, "additional `folder` that documents may use; can be repeated")
	flags.Var(&c.allowNetworks, "allow-network", "additional `network` that documents may connect to, such as 10.0.0.0/8; can be repeated")
	flags.StringVar(&c.documentProfile, "document-profile", "", "AWS SDK `profile` with which documents access buckets (default this process's)")
	flags.StringVar(&c.secretsDir, "secrets-dir", "", "`folder` with one file for each secret")
	flags.Var(&c.retention, "retention",
		"`periods` after which servers and workers delete what is due, best as a mapping "+
			"of the settings file; here documents that would shorten them are refused")
	flags.StringVar(&c.keys, "keys", "", "`folder` of the keys that sign the landscape's log (default STATE/keys)")
	flags.StringVar(&c.approvers, "approvers", "", "`file` that says whose SSH keys may sign off runs, in the form of OpenSSH's allowed_signers (default STATE/approvers)")
	flags.StringArrayVar(&c.logAnchors, "log-anchor", nil, "additional `anchor` for the log's signed heads: a folder, best on another disk, a bucket, s3://BUCKET/PREFIX?lock=3650d, a repository of git, git:PATH, a time-stamping authority, tsa:URL?roots=FILE, or a witness, https://HOST/PATH?key=KEY; can be repeated")
	flags.StringVar(&c.keyFile, "fingerprint-key-file", "", "`file` with the key for fingerprints of secrets (default STATE/fingerprint.key)")
	flags.BoolVar(&c.json, "json", false, "print results as JSON, one per line")
	flags.BoolVarP(&c.quiet, "quiet", "q", false, "print no progress and no hints")
	flags.BoolVarP(&c.verbose, "verbose", "v", false, "write logs to stderr")
}

// settle gives every one of these flags that is not on the command line its value from the environment, or else from
// the settings file. The error names the place of the wrong value.
func (c *config) settle(flags *pflag.FlagSet) error {
	if err := settings.Apply(flags, append(settingNames(), servingSettings()...), c.env); err != nil {
		return err
	}
	return c.check()
}

// settable returns the flags of a command that the environment and the settings file may set: those that all commands
// have, the environment of a pipeline, how long to wait, and all flags of a process that serves. A flag that only
// shares its name with a setting is none of them: --pipelines of a token is not the folder that a worker serves.
func settable(cmd *cobra.Command) *pflag.FlagSet {
	serves := slices.Contains([]string{"serve", "worker", "witness"}, cmd.Name())
	shared := cmd.Root().PersistentFlags()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if serves || flag.Name == inEnvironment || flag.Name == waiting || shared.Lookup(flag.Name) == flag {
			flags.AddFlag(flag)
		}
	})
	return flags
}

// settingNames returns the flags of all commands that the environment and the settings file may set.
func settingNames() []string {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(config).bind(flags)
	return settings.Names(flags)
}

// notFile refuses the path of a file, or one below a file, where a folder is meant that is made if need be.
func notFile(flag, folder string) error {
	info, err := os.Stat(folder)
	switch {
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s %s is a file: name a folder, which the first run makes", flag, folder)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s %s lies below a file: name a folder, which the first run makes", flag, folder)
	}
	return nil
}

func (c *config) check() error {
	if c.state == "" {
		return errors.New("--state is empty: name a folder")
	}
	if err := errors.Join(notFile("--state", c.state), notFile("--keys", c.keys)); err != nil {
		return err
	}
	folders := c.allowPaths
	if c.secretsDir != "" {
		folders = append([]string{c.secretsDir}, folders...)
	}
	for _, folder := range folders {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return fmt.Errorf("%q is not a folder: --allow-path and --secrets-dir name folders that exist", folder)
		}
	}
	return nil
}
