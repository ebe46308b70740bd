package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waymark/client/local"
	"waymark/internal/memory"
	"waymark/serve/api"
	"waymark/worker/daemon"
	"waymark/workflows"
)

// Where Temporal and its pages are looked for.
const (
	temporalPort = 7233
	pagesAddress = "127.0.0.1:8233"
)

func (a *app) serveCommand() *cobra.Command {
	var config daemon.Config
	var own pageServing
	var door apiServing
	cmd := &cobra.Command{
		Use:   "serve [FOLDER]",
		Short: "Run Temporal, its web pages and a worker on the state folder",
		Long: `Runs a Temporal server, its web pages and a worker in this process, on the state folder, until it gets a signal. FOLDER holds the pipelines
that can be started by name, as NAME.yaml or NAME/pipeline.yaml (default the working folder). You can start runs from the pages, Temporal's
command line, schedules, services, and waymark run in another terminal, which finds the server through the state folder.

Temporal listens only on this machine and has no password: any program on this machine can start what FOLDER holds, with the rights of this
process. Documents can read files only in FOLDER and the --allow-path folders, ` +
			`and write only in the folder out beside them and the
--allow-write folders. The HTTP API asks for access tokens: waymark access grant.

After the first Ctrl-C or SIGTERM the process finishes its work in flight; the second ends it at once. Runs continue when it serves again.`,
		Example: `  waymark serve examples
  waymark serve --pages off --port 0`,
		Args: takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config.Own, config.Pipelines = daemon.OwnFiles(cmd.Flags()), "."
			if len(args) > 0 {
				config.Pipelines = args[0]
			}
			if own.link {
				door.link = api.NewLink()
			}
			serving := local.Serving{Port: own.port, Pages: own.pages, Worker: config, Turn: a.turn()}
			return a.serve(cmd.Context(), serving, &door)
		},
	}
	addServing(cmd.Flags(), &config)
	door.bind(cmd.Flags(), apiAddress)
	own.bind(cmd.Flags(), isTerminal(a.stderr))
	waitFlag(cmd.Flags(), &a.patience)
	return cmd
}

// pageServing says where Temporal and its pages are, and whether a link to sign in to ours is printed.
type pageServing struct {
	port  int
	pages string
	link  bool
}

// bind defines the flags. A link is printed by default if a person reads it.
func (s *pageServing) bind(flags *pflag.FlagSet, read bool) {
	rangeFlag(flags, &s.port, "port", "", [2]int{0, math.MaxUint16}, temporalPort,
		"`port` of Temporal on 127.0.0.1, 0 for any free one")
	flags.BoolVar(&s.link, "login-link", read,
		"print to standard error a link with which one person can sign in to the web pages, once, "+
			"within ten minutes; by default only if that is a terminal")
	flags.StringVar(&s.pages, "pages", pagesAddress,
		"`address` of Temporal's web pages, which have no password; off: none")
}

// addServing adds the options of a worker that make sense for one beside its own Temporal.
func addServing(flags *pflag.FlagSet, config *daemon.Config) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.Bind(all)
	all.VisitAll(func(flag *pflag.Flag) {
		switch flag.Name {
		case "temporal", "pipelines", "deployment", "build-id", "codec-keys-file", "codec-require", "codec-http", "codec-origin":
		default:
			flags.AddFlag(flag)
		}
	})
}

// serveBytes is for a server with runs, Temporal's server included: some 50 MB of it are alive when sixteen small runs execute at once.
const serveBytes = 360 << 20

func (a *app) serve(ctx context.Context, s local.Serving, door *apiServing) error {
	if a.temporal != "" && !a.joined {
		return wrongUsef("serve has a Temporal of its own: leave out --temporal %s", a.temporal)
	}
	if info, err := os.Stat(s.Worker.Pipelines); err != nil || !info.IsDir() {
		return wrongUsef("%q is no folder: name the one that has the pipelines", s.Worker.Pipelines)
	}
	if s.Pages == off {
		s.Pages = ""
	}
	defer memory.Limit(serveBytes, 200)()
	return a.untilTold(ctx, s.Worker, func(ctx context.Context, config daemon.Config, p daemon.Program) error {
		s.Worker, s.Program = config, p
		s.Began = func(temporal string) { a.tellServing(s, temporal, door) }
		if err := door.listen(ctx); err != nil {
			return err
		}
		if door.listener != nil {
			defer door.close()
			s.Received = &door.received
			s.Beside = func(ctx context.Context, worker daemon.Config, logger *slog.Logger) error {
				door.folder = worker.Pipelines
				return door.serve(ctx, a.apiOptions(worker, worker.Temporal, true), false, logger)
			}
		}
		return a.folder().Serve(ctx, s)
	})
}

// tellServing tells where everything is, and how to start a run.
func (a *app) tellServing(s local.Serving, temporal string, door *apiServing) {
	folder := s.Worker.Pipelines
	if whole, err := filepath.Abs(folder); err == nil {
		folder = whole
	}
	lines := [][2]string{{"temporal", temporal}, {"pages", cmp.Or(s.Pages, off)}, {"api", door.String()}, {"pipelines", folder}, {"record", s.Worker.Landscape}}
	for _, line := range lines {
		fmt.Fprintf(a.stdout, "%-10s %s\n", line[0], line[1])
	}
	if door.link != nil && door.listener != nil {
		// apart from what programs read, and keep: a reader of it could sign in
		fmt.Fprintf(a.stderr, "%-10s %s   (once, within ten minutes)\n", "sign in", door.origin()+door.link.Path())
	}
	fmt.Fprintf(a.stdout, "\nstart one: waymark run --pipeline NAME, which is that of a document in the folder or of a deployed pipeline; or on the pages a workflow of the type %s on the queue %s with the input {\"pipeline\": \"NAME\"}\n\n",
		workflows.RunPipelineName, s.Worker.Queue)
}
