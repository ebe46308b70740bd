package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"waymark/client/local"
	"waymark/internal/text"
)

func (a *app) signOffCommand() *cobra.Command {
	var request local.SignOffRequest
	cmd := &cobra.Command{
		Use:   "sign-off RUN --as ROLE --meaning TEXT --key FILE",
		Short: "Sign with your SSH key that you looked at a run, as what, and what that means",
		Long: `Signs the root of the run's seal, which binds all its records, and the digests of its outputs, with your printed name, the time, your role and what the signature
means. Everybody verifies the signature with ssh-keygen -Y verify; waymark verify, status, explain and bundles show it. The run must have ended and be sealed, and its
record must fit the seal.

--key is a private key of Ed25519, whose passphrase is asked for, or the .pub file of one that the ssh-agent has, such as that of a security key: then the signature
proves that somebody touched it. --approvers names the people whose keys count, one per line, as in OpenSSH's allowed_signers. docs/sign-off.md says more.

` + runArgument,
		Example: `  waymark sign-off last --as reviewer --meaning "checked against the ledger, fit for filing" --key ~/.ssh/id_ed25519
  waymark sign-off 0198c1 --as owner --meaning "released" --key ~/.ssh/id_ed25519_sk.pub`,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, flag := range []struct{ name, value, what string }{
				{"as", request.Role, "as what you sign"}, {"meaning", request.Meaning, "what the signature means"}, {"key", request.Key, "with which key"},
			} {
				if strings.TrimSpace(flag.value) == "" {
					return wrongUsef("say %s: --%s", flag.what, flag.name)
				}
			}
			request.Run, request.Ask = args[0], a.askSecret
			return a.signing(cmd, func(home *local.Home) error {
				signed, err := home.SignOff(cmd.Context(), request)
				if err != nil {
					return err
				}
				return a.print(signed, func(w io.Writer) error {
					said := signed.SignOff
					said.NoRelease = "" // it is said below
					fmt.Fprintf(w, "run %s signed off by %s; entry %d of the log\n", signed.Run, text.Visible(said.String()), signed.Entry)
					if signed.NoRelease != "" {
						fmt.Fprintf(w, "it does not count for the release: %s\n", signed.NoRelease)
					}
					switch {
					case signed.Awaited != nil:
						fmt.Fprintf(w, "it publishes nothing until it is signed off as %s, each by another person\n", strings.Join(signed.Awaited, " and as "))
					case signed.Ready:
						fmt.Fprintf(w, "waymark resume %s publishes its outputs\n", signed.Run)
					}
					return nil
				})
			})
		},
	}
	cmd.Flags().StringVar(&request.Role, "as", "", "`role` in which you sign, such as reviewer")
	cmd.Flags().StringVar(&request.Meaning, "meaning", "", "`what` the signature means, in one line")
	cmd.Flags().StringVar(&request.Key, "key", "", "`file` with your SSH key: a private one, or the .pub file of one that the ssh-agent has")
	return cmd
}

// signing opens the landscape with the keys of this process, also if others execute runs: what a person signs needs no cluster.
func (a *app) signing(cmd *cobra.Command, do func(*local.Home) error) error {
	o := a.options()
	o.Existing, o.Cluster = true, nil
	return a.with(cmd.Context(), o, do)
}

// askSecret asks at the terminal; without one it takes the first line of the standard input.
func (a *app) askSecret(what string) ([]byte, error) {
	input := int(os.Stdin.Fd())
	if !term.IsTerminal(input) {
		line, err := bufio.NewReader(os.Stdin).ReadString('\n')
		if err != nil && (line == "" || !errors.Is(err, io.EOF)) {
			return nil, fmt.Errorf("the %s is asked for at a terminal, or is the first line of the standard input: %w", what, err)
		}
		return []byte(strings.TrimRight(line, "\r\n")), nil
	}
	fmt.Fprintf(a.stderr, "%s: ", what)
	secret, err := term.ReadPassword(input)
	fmt.Fprintln(a.stderr)
	return secret, err
}
