package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waymark/client"
	"waymark/landscape"
)

// environmentFlag lets a person say in which environment pipelines are deployed.
func environmentFlag(flags *pflag.FlagSet, environment *string) {
	flags.StringVar(environment, "environment", landscape.DefaultEnvironment, "`environment` in which the pipeline is deployed; also --env")
}

// shortEnvironment lets people write --env for --environment.
func shortEnvironment(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "env" {
		name = "environment"
	}
	return pflag.NormalizedName(name)
}

func (a *app) promoteCommand() *cobra.Command {
	var r client.RedeployRequest
	cmd := &cobra.Command{
		Use:     "promote NAME[@VERSION] --from ENVIRONMENT --to ENVIRONMENT",
		Short:   "Make a version from one environment the current version in another",
		Example: `  waymark promote orders@7 --from test --to prod --why "tried for a week"`,
		Args:    exactlyOne("pipeline"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.redeploy(cmd.Context(), args[0], r, record.Promote)
		},
	}
	cmd.Flags().StringVar(&r.From, "from", landscape.DefaultEnvironment, "`environment` in which the version is deployed")
	cmd.Flags().StringVar(&r.Environment, "to", landscape.DefaultEnvironment, "`environment` in which it becomes current")
	whyFlag(cmd, &r.Why)
	return cmd
}

func (a *app) rollbackCommand() *cobra.Command {
	var r client.RedeployRequest
	cmd := &cobra.Command{
		Use:   "rollback NAME",
		Short: "Make the previous version current again",
		Long: `Makes the previously current version of a pipeline current again; a second rollback goes back one more. Runs that have started keep
their version.`,
		Args: exactlyOne("pipeline"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.redeploy(cmd.Context(), args[0], r, record.Rollback)
		},
	}
	numberFlag(cmd.Flags(), &r.Version, "to", "", 1, 0, "`version` to return to (default the one before the current one)")
	environmentFlag(cmd.Flags(), &r.Environment)
	whyFlag(cmd, &r.Why)
	return cmd
}

func (a *app) retireCommand() *cobra.Command {
	var r client.RedeployRequest
	cmd := &cobra.Command{
		Use:   "retire NAME",
		Short: "Stop new runs of a pipeline from starting",
		Long: `Stops new runs of a pipeline from starting in an environment. Existing runs continue and can be resumed; versions and recorded runs are kept.
waymark restore undoes it.`,
		Args: exactlyOne("pipeline"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.redeploy(cmd.Context(), args[0], r, record.Retire)
		},
	}
	environmentFlag(cmd.Flags(), &r.Environment)
	whyFlag(cmd, &r.Why)
	return cmd
}

func (a *app) restoreCommand() *cobra.Command {
	var r client.RedeployRequest
	cmd := &cobra.Command{
		Use:   "restore NAME",
		Short: "Allow runs of a retired pipeline to start again",
		Args:  exactlyOne("pipeline"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.redeploy(cmd.Context(), args[0], r, record.Unretire)
		},
	}
	environmentFlag(cmd.Flags(), &r.Environment)
	whyFlag(cmd, &r.Why)
	return cmd
}

// redeploy gives an order about a pipeline, and says what became of it.
func (a *app) redeploy(
	ctx context.Context, name string, r client.RedeployRequest, order func(record, context.Context, client.RedeployRequest) (*client.Redeployed, error),
) error {
	if err := whyGiven(r.Why); err != nil {
		return err
	}
	r.Pipeline, r.By = name, a.by(r.Why)
	return a.ask(ctx, func(home record) error {
		done, err := order(home, ctx, r)
		if err != nil {
			return err
		}
		a.noteAdopted(done.Adopted, fmt.Sprintf("%s@%d", done.Pipeline, done.Version), false)
		return a.print(done, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, redeployText(done))
			return err
		})
	})
}

// redeployText says what became of an order about a pipeline.
func redeployText(d *client.Redeployed) string {
	name, there := fmt.Sprintf("%s@%d", d.Pipeline, d.Version), inText(d.Environment)
	switch {
	case !d.Changed && d.Action == landscape.Retire:
		return d.Pipeline + " is retired" + there + already(false)
	case !d.Changed:
		return name + " is current" + there + already(false)
	case d.Action == landscape.Retire:
		return d.Pipeline + " is retired" + there + ": no run of it starts until it is restored; its current version stays " + name
	case d.Action == landscape.Restore:
		return d.Pipeline + " is restored" + there + ": runs start with " + name
	case d.Before == 0:
		return name + " is current" + there + ": the first version there"
	}
	return fmt.Sprintf("%s is current%s in the place of %s@%d", name, there, d.Pipeline, d.Before)
}
