package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/pflag"

	"waymark/activities"
	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/worker"
	"waymark/worker/daemon"
)

// options are what the library has to know of the configuration.
func (a *app) options() local.Options {
	key, _ := a.env(daemon.FingerprintKeyVariable)
	o := local.Options{
		State: a.folder(), Landscape: a.landscape, Payloads: a.payloads, Allow: a.allowPaths,
		Secrets: a.secretsDir, Profile: a.documentProfile, KeyFile: a.keyFile, Key: key, Trigger: activities.TriggerCLI, Version: version,
		Retention: a.retention, Keys: a.keys, Approvers: a.approvers, LogAnchors: a.logAnchors,
		Logger: a.logger(), Env: a.env, Warn: func(message string) { a.note("%s", message) }, LimitMemory: true,
		Turn: a.turn(),
	}
	o.Networks = networkTexts(a.allowNetworks)
	if a.onCluster() {
		keys, _ := a.env(daemon.CodecKeysVariable)
		o.Cluster = &client.Cluster{Address: a.temporal, Queue: a.queue, Files: a.files, CodecFile: a.codecKeys, CodecKeys: keys, Env: a.env}
		if a.joined {
			o.Cluster.Gone = a.folder().Gone()
			o.Cluster.Present = func() string {
				address, _ := a.folder().Server()
				return address
			}
		}
	}
	return o
}

func networkTexts(networks worker.Networks) (texts []string) {
	for _, network := range networks {
		texts = append(texts, network.String())
	}
	return texts
}

// onCluster reports whether runs are executed by the workers of a Temporal cluster instead of in this process.
func (c *config) onCluster() bool { return c.temporal != "" }

// joinServer makes the process that serves on the state folder, if there is one, the cluster that executes runs.
func (c *config) joinServer() {
	if c.onCluster() || c.server != "" {
		return
	}
	if address, queue := c.folder().Server(); address != "" {
		c.temporal, c.queue, c.joined = address, queue, true
	}
}

// turn is how this process waits for others that execute runs in the state folder.
func (a *app) turn() local.Turn {
	return local.Turn{Does: a.does, Patience: a.patience, Tell: func(message string) { a.note("%s", message) }}
}

// inTurn does something for which this process has to execute runs in the state folder. If another process has begun to
// serve there while this one waited, or before, it is done again: that process executes the runs.
func (a *app) inTurn(do func() error) error {
	err := do()
	if busy, ok := errors.AsType[*client.Error](err); ok && busy.Code == client.StateFolderBusy {
		if a.joinServer(); a.joined {
			return do()
		}
	}
	return err
}

// waiting is the flag that says how long a command waits for its turn.
const waiting = "wait"

// waitFlag defines it.
func waitFlag(flags *pflag.FlagSet, to *time.Duration) {
	*to = local.Forever
	flags.Var(patience{to}, waiting,
		"`time`, such as 90s, to wait for other processes that execute runs in the state folder; 0 fails at once "+
			"(default as long as they take)")
}

// patience is the value of a flag that says how long to wait.
type patience struct{ to *time.Duration }

// Set refuses what is no length of time.
func (p patience) Set(word string) error {
	long, err := time.ParseDuration(word)
	if err != nil || long < 0 {
		return limitError("a length of time, such as 90s, or 0")
	}
	*p.to = long
	return nil
}

// String is empty for the default.
func (p patience) String() string {
	if p.to == nil || *p.to == local.Forever {
		return ""
	}
	return p.to.String()
}

// Type is what the help calls it.
func (patience) Type() string { return "duration" }

// folder is the state folder.
func (c *config) folder() local.Folder { return local.Folder(c.state) }

// with opens what the options name, does something with it, closes it, and prints what a run wrote to standard output.
func (a *app) with(ctx context.Context, o local.Options, do func(*local.Home) error) (err error) {
	if a.server != "" { // checkServer lets nothing come here
		return wrongUsef("this needs a record in reach, and cannot be done over the HTTP API: leave out --server")
	}
	home, err := local.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		err = closing(err, home.Close)
		if failed := a.printOutput(); failed != nil {
			err = failed // what else there is to say was said
		}
	}()
	return do(home)
}

// existing opens what is there, and does something with it.
func (a *app) existing(ctx context.Context, do func(*local.Home) error) error {
	o := a.options()
	o.Existing = true
	return a.with(ctx, o, do)
}

// query opens what is there and hands it to ask together with the run that word means.
func (a *app) query(ctx context.Context, word string, ask func(*local.Home, landscape.Run) error) error {
	return a.existing(ctx, func(home *local.Home) error {
		run, err := home.Find(ctx, word)
		if err != nil {
			return err
		}
		return ask(home, run)
	})
}

// order is query for an order that only a run obeys that has begun.
func (a *app) order(ctx context.Context, word string, give func(*local.Home, landscape.Run) error) error {
	return a.existing(ctx, func(home *local.Home) error {
		run, err := home.FindBegun(ctx, word)
		if err != nil {
			return err
		}
		return give(home, run)
	})
}

// withSession opens what executes runs, makes what is missing, and does something with it.
func withSession(ctx context.Context, home *local.Home, do func(*client.Session) error) (err error) {
	s, err := home.Session(ctx, client.ToStart)
	if err != nil {
		return err
	}
	defer func() { err = closing(err, s.Close) }()
	return do(s)
}

// closing returns err, or else what closing says.
func closing(err error, close func() error) error {
	if closed := close(); err == nil {
		return closed
	}
	return err
}

// gone is said of a run that is running on record, and nobody works for it.
func (a *app) gone() string {
	if a.onCluster() || a.server != "" {
		return " (no workflow is open for it; waymark resume continues it)"
	}
	return " (its process is gone; waymark resume continues it)"
}

// statusText is the status for people.
func (a *app) statusText(run *client.Run) string {
	switch {
	case run.Dead():
		return string(run.Status) + a.gone()
	case run.Final:
		return string(run.Status) + " (permanently)"
	}
	return string(run.Status)
}
