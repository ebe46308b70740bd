package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/client/local"
	"waymark/internal/text"
)

func (a *app) keysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "List the keys that sign the record's log, and what they are worth",
		Long: `Two kinds of keys sign the log of the record: a sealer's key signs entries, and the key of the log signs heads and says which sealers' keys
count. The first run makes one of each in the state folder, beside the record: so who may change the record may sign as well, and only an
anchor elsewhere helps. Better let another account, or another machine, have the key of the log.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				list, err := home.LogKeys(cmd.Context())
				if err != nil {
					return err
				}
				return printList(a, list, func(w io.Writer) error { return writeKeys(w, list) })
			})
		},
	}
	cmd.AddCommand(a.keysGenerateCommand(), a.keysPolicyCommand(),
		a.keyOrderCommand("admit", "Let the entries of a sealer's key count from now on", (*local.Home).AdmitKey),
		a.keyOrderCommand("revoke", "Let the entries of a sealer's key count no more; those before keep counting", (*local.Home).RevokeKey))
	return cmd
}

func writeKeys(w io.Writer, list []local.LogKey) error {
	lines := [][]string{{"name", "kind", "where", "since", "worth"}}
	for _, k := range list {
		since := "-"
		if k.Since >= 0 {
			since = fmt.Sprintf("entry %d", k.Since)
		}
		if k.Revoked > 0 {
			since += fmt.Sprintf(", revoked in %d", k.Revoked)
		}
		lines = append(lines, []string{k.Name, k.Kind, cmp.Or(k.Where, "not here"), since, cmp.Or(k.Worth, "-")})
	}
	return text.Table(w, lines...)
}

func (a *app) keysGenerateCommand() *cobra.Command {
	var origin, sealer string
	cmd := &cobra.Command{
		Use:   "generate --sealer NAME [--log NAME]",
		Short: "Make keys in the folder of --keys",
		Long: `Makes a sealer's key for a worker, or the key of a new log whose name is then NAME, each in a file that only its owner may read. Names begin
with a host: worker-a.example/waymark, waymark.example/prod. A sealer's key counts when who has the key of the log has admitted it.`,
		Args: noArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			if origin == "" && sealer == "" {
				return wrongUsef("say which keys: --sealer NAME, --log NAME, or both")
			}
			made, err := a.options().GenerateKeys(origin, sealer)
			if err != nil {
				return err
			}
			return printList(a, made, func(w io.Writer) error {
				for _, k := range made {
					fmt.Fprintf(w, "%s  %s  %s\n", k.Kind, k.Where, k.Key)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&origin, "log", "", "`name` of a new log, whose key is made")
	cmd.Flags().StringVar(&sealer, "sealer", "", "`name` of a sealer, whose key is made")
	return cmd
}

func (a *app) keysPolicyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "policy",
		Short: "Print the trust policy, which auditors need",
		Long: `Prints what somebody needs to verify the log without trusting this record: its public key, in the form of the C2SP's tlog-policy. Give it to
auditors in another way than the record, or give them its SHA-256, which fits in a letter.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				policy, err := home.TrustPolicy(cmd.Context())
				if err != nil {
					return err
				}
				a.note("sha256 %s", policy.SHA256)
				return a.print(policy, func(w io.Writer) error {
					_, err := io.WriteString(w, policy.Policy)
					return err
				})
			})
		},
	}
}

func (a *app) keyOrderCommand(verb, short string, do func(*local.Home, context.Context, string, string) error) *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:   verb + " KEY --why TEXT",
		Short: short,
		Long:  short + `. KEY is a public key, name+hash+base64. It stands in the log. Only who has the key of the log can do it.`,
		Args:  exactlyOne("public key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := whyGiven(why); err != nil {
				return err
			}
			return a.existing(cmd.Context(), func(home *local.Home) error { return do(home, cmd.Context(), args[0], why) })
		},
	}
	whyFlag(cmd, &why)
	return cmd
}
