package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waymark/internal/settings"
)

// serverFlag names the server that is asked in place of a record that this machine reaches.
const serverFlag = "server"

// served are the commands that a server obeys, each with its flags for which the HTTP API has no word.
var served = map[string][]string{
	"runs": nil, "status": nil, "errors": {"pipeline", "wait"},
	"rows": nil, "explain": {"all", "limit"}, "effects": {"all"}, "timeline": nil, "events": nil, "compare": nil, "find": nil, "payload": nil, "starts": nil, "queue": nil,
	"pipelines": nil, "pipelines show": nil, "pipelines diff": {"param"}, "pipelines history": nil, "schedule list": nil,
	"schedule grid": nil, "schedule pause": nil, "schedule resume": nil,
	"access list": nil, "access revoke": nil, "access disclosures": nil, "outbox": nil,
	"verify": {"deep"}, "what-if": nil, "prove": nil,
	"triggers": nil, "triggers arrivals": nil, "triggers pause": nil, "triggers resume": nil, "triggers ignore": nil, "triggers again": nil,
	"promote": nil, "rollback": nil, "retire": nil, "restore": nil,
	"run": {"wait"}, "follow": nil, "resume": {"fork", "wait"}, "cancel": {"propose", "key", "expires", "wait"},
	"pause": nil, "resolve": {"propose", "key", "expires"},
}

// recordless are the commands that need no record: they do the same whatever the environment says of a server.
var recordless = []string{"init", "validate", "plan", "schema", "replay", "version", "help", "completion", "completion bash", "completion zsh", "completion fish", "completion powershell", "__complete", "__completeNoDesc"}

// alike are the flags of all commands that mean the same with a server.
var alike = []string{settings.FileFlag, serverFlag, "json", "quiet", "verbose", "help"}

// elsewhere are the flags that name another record, or another place that executes runs.
var elsewhere = []string{"state", "landscape", "payloads", "temporal"}

// checkServer refuses what a server cannot do, before anything is done. given are the flags of the command line; others come from the environment or the settings file.
func (a *app) checkServer(cmd *cobra.Command, given []string) error {
	if a.server == "" {
		return nil
	}
	name := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	refused, known := served[name]
	switch {
	case slices.Contains(recordless, name) && !slices.Contains(given, serverFlag), helps(cmd):
		a.server = ""
		return nil
	case slices.Contains(recordless, name):
		return fmt.Errorf("waymark %s needs no record: leave out --server", name)
	case !known:
		return fmt.Errorf("waymark %s cannot be done over the HTTP API: run it where the record is, without --server or WAYMARK_SERVER; docs/remote.md lists what a server does", name)
	}
	for _, flag := range given {
		_, common := commonFlag(flag)
		switch {
		case slices.Contains(elsewhere, flag):
			return fmt.Errorf("--server and --%s exclude each other: the server has its own record. Leave one out", flag)
		case slices.Contains(refused, flag):
			return fmt.Errorf("the HTTP API has no word for --%s of waymark %s: leave it out, or run the command where the record is", flag, name)
		case common && !slices.Contains(alike, flag):
			return fmt.Errorf("--%s means nothing to a server: leave it out", flag)
		}
	}
	return a.checkSettled(cmd.Flags(), given)
}

// helps reports whether a command does nothing but show its help.
func helps(cmd *cobra.Command) bool {
	return cmd.RunE != nil && reflect.ValueOf(cmd.RunE).Pointer() == reflect.ValueOf(help).Pointer()
}

// checkSettled refuses a record that the environment or the settings file names beside a server.
func (a *app) checkSettled(flags *pflag.FlagSet, given []string) error {
	for _, flag := range elsewhere {
		if found := flags.Lookup(flag); found != nil && !slices.Contains(given, flag) && found.Value.String() != found.DefValue {
			return fmt.Errorf("--server and %s exclude each other: take one back, with --server '' or --%s ''", settings.Variable(flag), flag)
		}
	}
	return nil
}

// commonFlag returns a flag that all commands have.
func commonFlag(name string) (*pflag.Flag, bool) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(config).bind(flags)
	found := flags.Lookup(name)
	return found, found != nil
}

// givenFlags are the flags that were given so far.
func givenFlags(flags *pflag.FlagSet) (names []string) {
	flags.Visit(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return names
}
