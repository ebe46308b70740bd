package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waymark/internal/text"
	"waymark/pipeline"
)

// app is one invocation of the program.
type app struct {
	config
	stdout  io.Writer // results
	stderr  io.Writer // everything else
	started bool      // a command has begun: the command line and the settings are in order
	output  *output   // what is printed at the end; nil for nothing

	does     string        // what this process does, in one line, for those who wait for it
	patience time.Duration // how long it waits for others that execute runs in the state folder

	executing atomic.Pointer[string] // id of the run that this process executes; nil if it executes none
}

// rootCommand returns the command tree. Every command has a file of its own.
func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "waymark",
		Short: "Run data pipelines that people can be questioned about",
		Long: `Waymark runs data pipelines described in YAML and records every row's way from source to sink, so that
"why did this row end up there?" can be answered with proof.

Every option below, and every one of serve and worker, can also be given as an environment variable (--allow-path is
WAYMARK_ALLOW_PATH) or as a key of a settings file (allow-path). The command line overrides the environment, and the environment overrides the file.

Exit codes: 0 done · 1 failed · 2 wrong usage or invalid document · 3 done, with refused rows · 4 verify, attest or
reproduce found a difference, or rows stay that forget was to delete · 5 other processes use the state folder, and --wait is over · 130 interrupted`,
		Version:       thisBuild().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			a.does = strings.Join(append([]string{cmd.CommandPath()}, args...), " ")
			given := givenFlags(cmd.Flags())
			err := a.settle(settable(cmd))
			if err == nil {
				err = a.checkServer(cmd, given)
			}
			a.started = err == nil
			a.joinServer()
			return err
		},
	}
	root.DisableSuggestions = true // unknownCommand says it in one line
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err) })
	root.SetGlobalNormalizationFunc(shortEnvironment)
	a.bind(root.PersistentFlags())
	group(root, "Run pipelines", a.runCommand(), a.followCommand(), a.resumeCommand(), a.pauseCommand(), a.cancelCommand())
	group(root, "Ask", a.runsCommand(), a.startsCommand(), a.queueCommand(), a.statusCommand(), a.rowsCommand(), a.explainCommand(), a.findCommand(), a.payloadCommand(), a.timelineCommand(), a.subjectCommand(), a.errorsCommand(), a.effectsCommand(), a.eventsCommand(), a.replayCommand(), a.outboxCommand(),
		a.outputsCommand(), a.attestCommand(), a.verifyCommand(), a.reproduceCommand(), a.compareCommand(), a.whatIfCommand(), a.exportCommand(), a.proveCommand(), a.logCommand(), a.sealCommand(), a.signOffCommand())
	group(root, "Write pipelines", a.initCommand(), a.validateCommand(), a.planCommand(), a.scheduleCommand(), a.schemaCommand())
	group(root, "Deploy pipelines", a.deployCommand(), a.pipelinesCommand(), a.promoteCommand(), a.rollbackCommand(), a.retireCommand(),
		a.restoreCommand(), a.envCommand(), a.triggersCommand())
	group(root, "Operate", a.serveCommand(), a.workerCommand(), a.doctorCommand(), a.resolveCommand(), a.waiveCommand(), a.ordersCommand(), a.approveCommand(), a.executeCommand(), a.limitCommand(), a.endpointCommand(), a.deliveriesCommand(), a.accessCommand(), a.holdCommand(), a.purgeCommand(), a.forgetCommand(), a.archiveCommand(), a.scrubCommand(), a.landscapeCommand(), a.keysCommand(), a.witnessCommand(), a.versionCommand())
	root.SetHelpCommandGroupID("Operate")
	root.SetCompletionCommandGroupID("Operate")
	refuseEmpty(root)
	return root
}

// refuseEmpty lets no command take an empty argument or flag: no name is empty, but a variable that a script forgot to set is, and what a flag
// stands for by default may be something else than was meant.
func refuseEmpty(command *cobra.Command) {
	if check := command.Args; check != nil {
		command.Args = func(cmd *cobra.Command, args []string) error {
			if n := slices.Index(args, ""); n >= 0 {
				return fmt.Errorf("argument %d is empty: %s", n+1, cmd.UseLine())
			}
			if name := emptyFlag(cmd.Flags()); name != "" {
				return fmt.Errorf("--%s is empty: give it a value, or leave it out", name)
			}
			return check(cmd, args)
		}
	}
	for _, below := range command.Commands() {
		refuseEmpty(below)
	}
}

// emptyFlag returns the name of a flag that is given and has no value, or an empty one among its values; empty if there is none. Flags that settings
// may set are left: an empty one takes back what the environment or the file says.
func emptyFlag(flags *pflag.FlagSet) (name string) {
	settable := settingNames()
	flags.Visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if name == "" && (len(values) == 0 || slices.Contains(values, "")) && !slices.Contains(settable, flag.Name) {
			name = flag.Name
		}
	})
	return name
}

// group adds commands under a title of the help.
func group(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
	for _, command := range commands {
		command.GroupID = title
	}
	root.AddCommand(commands...)
}

// flagError says in our words which value of a flag is wrong.
func flagError(err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return err
	}
	flag := wrong.GetFlag()
	expected, known := map[string]string{"int": "a whole number", "int64": "a whole number", "bool": "true or false"}[flag.Value.Type()]
	if limited, ok := errors.AsType[limitError](err); ok {
		expected, known = limited.Error(), true
	}
	if !known {
		return err
	}
	return fmt.Errorf("--%s %q: write %s", flag.Name, wrong.GetValue(), expected)
}

// exactlyOne refuses any number of arguments but one.
func exactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("takes one %s, not %d: %s", what, len(args), cmd.UseLine())
		}
		return nil
	}
}

// help shows the help of a command that has only others below it.
func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// noArgs refuses arguments. Of a command that has others below it, they are taken for the name of one.
func noArgs(cmd *cobra.Command, args []string) error {
	if cmd.HasSubCommands() && len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return takes(0, 0)(cmd, args)
}

// unknownCommand returns the error of a name that no command below cmd has.
func unknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			names = append(names, below.Name())
		}
	}
	meant := ""
	if nearest := pipeline.Nearest(name, names); nearest != "" {
		meant = fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	return fmt.Errorf("unknown command %q for %q%s", name, cmd.CommandPath(), meant)
}

// named returns err, and unknownCommand in place of what cobra says of a command that root does not have.
func named(root *cobra.Command, args []string, err error) error {
	for _, name := range args {
		if err != nil && err.Error() == fmt.Sprintf("unknown command %q for %q", name, root.CommandPath()) {
			return unknownCommand(root, name)
		}
	}
	return err
}

// takes refuses fewer arguments, and more.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		number := fmt.Sprintf("%d to %s", least, text.Count(int64(most), "argument"))
		switch {
		case least <= len(args) && len(args) <= most:
			return nil
		case most == 0:
			number = "no arguments"
		case most == math.MaxInt:
			number = "at least " + text.Count(int64(least), "argument")
		case least == most:
			number = text.Count(int64(least), "argument")
		case least == 0:
			number = "at most " + text.Count(int64(most), "argument")
		}
		return fmt.Errorf("takes %s, not %d: %s", number, len(args), cmd.UseLine())
	}
}

// logger writes to stderr what the parts of the program have to say for themselves, if somebody wants to hear it.
func (a *app) logger() *slog.Logger {
	if !a.verbose {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
}
