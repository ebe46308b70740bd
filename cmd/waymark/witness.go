package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	"waymark/audit/evidence/trust"
	"waymark/client/local"
	"waymark/internal/defect"
	"waymark/internal/program"
)

func (a *app) witnessCommand() *cobra.Command {
	var listen, format string
	var policies []string
	cmd := &cobra.Command{
		Use:   "witness --policy FILE",
		Short: "Cosign the logs of others, as long as each of them only grows",
		Long: `Serves C2SP's tlog-witness protocol until it gets a signal: POST /add-checkpoint. It remembers the last head of each log, and cosigns a head only if it
continues that one. A log that was cut short, forked or made again gets no cosignature. --policy names the logs: the files that their owners' waymark keys
policy prints. Owners write --log-anchor 'https://HOST/PATH?key=KEY'.

The key comes from waymark keys generate --witness NAME. The state folder keeps the last heads, in witness/: a witness that lost them can be lied to. There is no
password, because only heads that a log signed count. Put a server with a certificate in front of it. docs/log.md says more.`,
		Example: `  waymark keys generate --witness audit.example/witness
  waymark witness --listen 127.0.0.1:8787 --policy their.policy`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			logs, err := witnessedLogs(policies)
			if err != nil {
				return err
			}
			logger, err := a.serverLogger(format)
			if err != nil {
				return err
			}
			a.outlive()
			ctx, stop := signal.NotifyContext(cmd.Context(), program.Signals()...)
			defer stop()
			context.AfterFunc(ctx, defect.Guard("signal", stop))
			return a.options().Witness(ctx, local.Witnessing{Listen: listen, Logs: logs, Logger: logger, Began: a.tellWitness})
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8787", "`address` to listen on, HOST:PORT")
	cmd.Flags().StringArrayVar(&policies, "policy", nil, "trust policy: a `file` with the logs to cosign; can be repeated")
	cmd.Flags().StringVar(&format, "log-format", "text", "text or json")
	return cmd
}

// witnessedLogs returns the logs that policies name.
func witnessedLogs(files []string) (logs []trust.Log, err error) {
	if files == nil {
		return nil, wrongUsef("say which logs to cosign: --policy FILE, which their owner's waymark keys policy prints")
	}
	for _, file := range files {
		policy, err := trustPolicy(file)
		if err != nil {
			return nil, err
		}
		logs = append(logs, policy.Logs...)
	}
	return logs, nil
}

// serverLogger writes to stderr what a server does.
func (a *app) serverLogger(format string) (*slog.Logger, error) {
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(a.stderr, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(a.stderr, nil)), nil
	}
	return nil, wrongUsef("--log-format %q: write text or json", format)
}

// tellWitness tells where the witness is, and what others write to have it.
func (a *app) tellWitness(w local.Witnessed) {
	_ = a.print(w, func(to io.Writer) error { // nobody may be reading
		_, err := fmt.Fprintf(to, "listening  %s\nkey        %s\nlogs       %s\n\ntheir owners write: --log-anchor 'https://HOST/PATH?key=%s'\n", w.Address, w.Key, strings.Join(w.Logs, ", "), w.Key)
		return err
	})
}
