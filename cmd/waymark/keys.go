package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/audit/evidence"
	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
)

func (a *app) keysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "List the keys that sign the landscape's log, and whether each counts",
		Long: `Two kinds of keys sign the landscape's log: a sealer's key signs entries; the log's key signs heads and decides which sealers' keys count. Heads can
also be signed by a key that was replaced less than 30 days ago, and by a post-quantum key (log-pq).
The first run creates one of each in the state folder, beside the landscape. Anyone who can change the landscape can then also sign, and only an
anchor elsewhere protects the log. For better protection, keep the log's key under another account or on another machine.`,
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
	cmd.AddCommand(a.keysGenerateCommand(), a.keysPolicyCommand(), a.keysRotateCommand(),
		a.keyOrderCommand("admit", "admitted", "Admit a sealer's key, so that its entries count from now on", (*local.Home).AdmitKey),
		a.keyOrderCommand("revoke", "revoked", "Revoke a sealer's key; its earlier entries still count", (*local.Home).RevokeKey))
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
		if k.Replaced > 0 {
			since += fmt.Sprintf(", replaced in %d", k.Replaced)
		}
		if !k.Until.IsZero() {
			since += ", also signs heads until " + k.Until.UTC().Format(time.DateOnly)
		}
		lines = append(lines, []string{k.Name, k.Kind, cmp.Or(k.Where, "not here"), since, cmp.Or(k.Worth, "-")})
	}
	return text.Table(w, lines...)
}

func (a *app) keysGenerateCommand() *cobra.Command {
	var wanted local.NewKeys
	cmd := &cobra.Command{
		Use:   "generate [--sealer NAME] [--log NAME [--signer WHO]] [--pq] [--witness NAME]",
		Short: "Generate keys in the --keys folder",
		Long: `Generates a sealer's key for a worker, or the key of a new log named NAME, each in a file that only its owner can read. Names start with a
host: worker-a.example/waymark, waymark.example/prod. A sealer's key counts once the holder of the log's key has admitted it. A witness's key cosigns the
logs of others, in waymark witness.

With --signer, the log's private key stays where nobody can copy it, and the folder gets a file that names it: agent:SHA256:…, an Ed25519 key of the
ssh-agent at SSH_AUTH_SOCK, or exec:/path/of/a/program, which reads a message from standard input and writes its 64-byte Ed25519 signature.

With --pq, the log also gets a key of ML-DSA-44, which quantum computers should not be able to forge: heads have a second signature from then on. Without --log
it is made beside the log's key in the folder, for the log that has it.`,
		Args: noArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			switch {
			case wanted.Log+wanted.Sealer+wanted.Witness == "" && !wanted.PQ:
				return wrongUsef("say which keys: --sealer NAME, --log NAME, --pq or --witness NAME")
			case wanted.Signer != "" && wanted.Log == "":
				return wrongUsef("--signer is for the key of a log: add --log NAME")
			case strings.HasPrefix(wanted.Signer, "exec:") != (wanted.PublicKey != ""):
				return wrongUsef("--public-key names the public key of an exec: signer: give both, or neither")
			}
			made, err := a.options().GenerateKeys(wanted)
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
	cmd.Flags().StringVar(&wanted.Log, "log", "", "`name` of the new log to generate a key for")
	cmd.Flags().BoolVar(&wanted.PQ, "pq", false, "also generate a post-quantum key (ML-DSA-44) for the log")
	cmd.Flags().StringVar(&wanted.Sealer, "sealer", "", "`name` of the sealer to generate a key for")
	cmd.Flags().StringVar(&wanted.Signer, "signer", "", "`who` has the log's private key: agent:SHA256:… or exec:/path/of/a/program")
	cmd.Flags().StringVar(&wanted.PublicKey, "public-key", "", "PEM `file` with the public key of the exec: program")
	cmd.Flags().StringVar(&wanted.Witness, "witness", "", "`name` of the witness to generate a key for")
	return cmd
}

func (a *app) keysPolicyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "policy",
		Short: "Print the trust policy for auditors",
		Long: `Prints what an auditor needs to verify the log without trusting this landscape: the log's public key and those of the witnesses in
--log-anchor, more than half of which must have cosigned, in C2SP tlog-policy format. Send it to auditors by another channel than the landscape, or send them
its SHA-256, which fits in a letter.`,
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

func (a *app) keysRotateCommand() *cobra.Command {
	var wanted local.RotateRequest
	cmd := &cobra.Command{
		Use:   "rotate log|sealer --why TEXT [--signer WHO]",
		Short: "Replace the log's key, or the sealer's, by a new one",
		Long: `Generates a new key and lets it take the place of the one in the --keys folder. This needs the log's key, which signs an entry that names the new one.

log: the old key signs the log up to this entry, and the new one everything after it. For 30 days the old key also signs heads, beside the new one, so that
readers and witnesses who know only the old key go on. Until then, send the new trust policy (waymark keys policy) to auditors, and to the operators of
witnesses. --signer and --public-key are as for waymark keys generate.

sealer: the new key counts from this entry on. The old one still counts, because running processes have it: restart them, then revoke it.`,
		Args: exactlyOne("kind of key: log or sealer"),
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted.Kind = args[0]
			switch {
			case wanted.Kind != local.RotateLog && wanted.Kind != local.RotateSealer:
				return wrongUsef("%q is no key that can be rotated: write log or sealer", args[0])
			case wanted.Signer != "" && wanted.Kind != local.RotateLog:
				return wrongUsef("--signer is for the key of a log: write waymark keys rotate log")
			case strings.HasPrefix(wanted.Signer, "exec:") != (wanted.PublicKey != ""):
				return wrongUsef("--public-key names the public key of an exec: signer: give both, or neither")
			}
			if err := whyGiven(wanted.Why); err != nil {
				return err
			}
			return a.existing(cmd.Context(), func(home *local.Home) error {
				done, err := home.RotateKey(cmd.Context(), wanted)
				if err != nil {
					return err
				}
				return a.print(done, func(w io.Writer) error { return writeRotation(w, done) })
			})
		},
	}
	whyFlag(cmd, &wanted.Why)
	cmd.Flags().StringVar(&wanted.Signer, "signer", "", "`who` has the log's new private key: agent:SHA256:… or exec:/path/of/a/program")
	cmd.Flags().StringVar(&wanted.PublicKey, "public-key", "", "PEM `file` with the public key of the exec: program")
	return cmd
}

// writeRotation says which key took over, and what is left to do.
func writeRotation(w io.Writer, done evidence.Rotation) error {
	var b strings.Builder
	fmt.Fprintf(&b, "entry %d: the %s key is now %s\nthe old key is kept in %s\n", done.Entry, done.Kind, done.New, done.Kept)
	if !done.Until.IsZero() {
		fmt.Fprintf(&b, "the old key also signs heads until %s: leave its file there until then\n", done.Until.UTC().Format(time.DateOnly))
	}
	for _, why := range done.Waiting {
		fmt.Fprintf(&b, "waiting: %s\n", why)
	}
	next := "send the new trust policy to auditors and to the operators of witnesses: waymark keys policy"
	if done.Kind == local.RotateSealer {
		next = "the old key still counts: restart the processes that use it, then waymark keys revoke " + done.Old + " --why TEXT"
	}
	fmt.Fprintln(&b, next)
	_, err := io.WriteString(w, b.String())
	return err
}

// keyOrdered is what an order about a key prints.
type keyOrdered struct {
	Key     string `json:"key"`
	Changed bool   `json:"changed"` // else it was so already
	Next    string `json:"next,omitempty"`
}

func (k keyOrdered) write(w io.Writer, done string) error {
	_, err := fmt.Fprintf(w, "key %s is %s%s\n", k.Key, done, already(k.Changed))
	if k.Next != "" && err == nil {
		_, err = fmt.Fprintln(w, k.Next)
	}
	return err
}

func (a *app) keyOrderCommand(verb, done, short string, do func(*local.Home, context.Context, string, string) (bool, error)) *cobra.Command {
	var why string
	var p proposal
	cmd := &cobra.Command{
		Use:   verb + " KEY --why TEXT",
		Short: short,
		Long:  short + `. KEY is a public key, name+hash+base64. The change is an entry in the log and needs the log's key.`,
		Args:  exactlyOne("public key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(whyGiven(why), p.check(why)); err != nil {
				return err
			}
			if p.propose {
				return a.propose(cmd, p, local.ProposeRequest{Verb: landscape.OrderRevoke, Args: map[string]string{"key": args[0]}, Why: why})
			}
			return a.existing(cmd.Context(), func(home *local.Home) error {
				changed, err := do(home, cmd.Context(), args[0], why)
				if err != nil {
					return err
				}
				ordered := keyOrdered{Key: args[0], Changed: changed}
				if ordered.Next, err = home.Refused(cmd.Context()); err != nil {
					return err
				}
				return a.print(ordered, func(w io.Writer) error { return ordered.write(w, done) })
			})
		},
	}
	whyFlag(cmd, &why)
	if verb == "revoke" {
		p.flags(cmd)
	}
	return cmd
}
