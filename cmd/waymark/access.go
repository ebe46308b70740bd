package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
)

func (a *app) accessCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "access", Short: "Grant, list and revoke access tokens of the HTTP API; list who was shown values", Args: noArgs, RunE: help}
	cmd.AddCommand(a.accessGrantCommand(), a.accessListCommand(), a.accessRevokeCommand(), a.accessDisclosuresCommand())
	return cmd
}

// tokenDays is for how many days an access token counts if nobody says otherwise.
const tokenDays = 90

func (a *app) accessGrantCommand() *cobra.Command {
	var request client.AccessRequest
	var roles []string
	var why, expires string
	cmd := &cobra.Command{
		Use:   "grant NAME --role ROLE --why TEXT",
		Short: "Make an access token, and print it: it is told only once",
		Long: `Makes an access token for the HTTP API of waymark serve, and prints it. Only a SHA-256 of its secret is recorded: nobody can print it again.

NAME is who acts with it, as the record says: a person or a service. Roles add up:
  viewer    sees runs, pipelines and schedules, without values of rows
  auditor   sees these, and values: each time that is recorded before
  service   starts runs, and sees those that it started
  operator  sees runs without values, starts them, gives orders to them
  deployer  does what an operator does, and changes which version of a deployed pipeline is current
  admin     sees runs without values, who has access tokens, and who was shown values`,
		Example: `  waymark access grant shop --role service --pipelines 'orders*' --why "orders of the shop"
  waymark access grant ann@example.com --role auditor --expires 2027-01-01 --why "audit of 2026"`,
		Args: exactlyOne("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := whyGiven(why)
			request.Name, request.By, request.Roles = args[0], a.by(why), nil
			for _, role := range roles {
				request.Roles = append(request.Roles, landscape.Role(role))
			}
			switch {
			case err != nil:
			case expires == "":
				request.Expires = time.Now().AddDate(0, 0, tokenDays)
			case expires != "never":
				request.Expires, err = expiry(expires, time.Now())
			}
			if err != nil {
				return err
			}
			return a.existing(cmd.Context(), func(home *local.Home) error {
				granted, err := home.GrantAccess(cmd.Context(), request)
				if err != nil {
					return err
				}
				return a.print(granted, func(w io.Writer) error {
					_, err := fmt.Fprintln(w, granted.Token)
					return err
				})
			})
		},
	}
	cmd.Flags().StringSliceVar(&roles, "role", nil, "`role`; can be repeated")
	cmd.Flags().StringSliceVar(&request.Pipelines, "pipelines", nil, "`names` of the pipelines that it is about, with * for any characters, separated by commas (default all)")
	cmd.Flags().StringVar(&expires, "expires", "", fmt.Sprintf("last `day` or time, such as 2027-01-01, or after how long, such as 12h or 30d; or never (default in %d days)", tokenDays))
	whyFlag(cmd, &why)
	return cmd
}

func (a *app) accessListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the access tokens, also those that do not count any more", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ask(cmd.Context(), func(home record) error {
				list, err := home.AccessTokens(cmd.Context())
				if err != nil {
					return err
				}
				lines := [][]string{{"access token", "name", "roles", "pipelines", "state", "by", "why"}}
				for _, t := range list {
					var roles []string
					for _, role := range t.Roles {
						roles = append(roles, string(role))
					}
					lines = append(lines, []string{
						t.ID, text.Cell(t.Name), strings.Join(roles, " "), cmp.Or(strings.Join(t.Pipelines, " "), "all"), accessState(t, time.Now()), text.Cell(t.Actor), text.Cell(t.Why),
					})
				}
				return printList(a, list, func(w io.Writer) error { return text.Table(w, lines...) })
			})
		},
	}
}

// accessState says for people whether an access token counts.
func accessState(t client.Access, now time.Time) string {
	switch {
	case t.Revoked:
		return "revoked " + moment(t.At)
	case !t.Expires.Known():
		return "valid"
	case !now.Before(t.Expires.Time()):
		return "expired " + moment(t.Expires)
	}
	return "valid until " + moment(t.Expires)
}

// accessChanged is what a change of an access token prints.
type accessChanged struct {
	Access  string `json:"access_token"`
	Changed bool   `json:"changed"` // else it was revoked before
}

func (a *app) accessRevokeCommand() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use: "revoke ID --why TEXT", Short: "Revoke an access token for ever, from the next request on", Args: exactlyOne("access token"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := whyGiven(why); err != nil {
				return err
			}
			return a.ask(cmd.Context(), func(home record) error {
				changed, err := home.RevokeAccess(cmd.Context(), args[0], a.by(why))
				if err != nil {
					return err
				}
				return a.print(accessChanged{args[0], changed}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "access token %s is revoked\n", args[0])
					return err
				})
			})
		},
	}
	whyFlag(cmd, &why)
	return cmd
}

func (a *app) accessDisclosuresCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "disclosures", Short: "List who was shown values of rows through the API, the last first", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ask(cmd.Context(), func(home record) error {
				list, err := home.Disclosures(cmd.Context(), "", limit)
				if err != nil {
					return err
				}
				lines := [][]string{{"time", "who", "access token", "run", "what", "about"}}
				for _, d := range list {
					lines = append(lines, []string{moment(d.At), text.Cell(d.Actor), d.Access, d.Run, d.What, text.Cell(d.Subject)})
				}
				return printList(a, list, func(w io.Writer) error { return text.Table(w, lines...) })
			})
		},
	}
	numberFlag(cmd.Flags(), &limit, "limit", "n", 0, 50, "how many to show, 0 for `all`")
	return cmd
}

// expiry reads when an access token expires: a moment, or how long from now.
func expiry(word string, now time.Time) (time.Time, error) {
	if days, found := strings.CutSuffix(word, "d"); found {
		if n, err := strconv.Atoi(days); err == nil && n > 0 {
			return now.AddDate(0, 0, n), nil
		}
	}
	if d, err := time.ParseDuration(word); err == nil && d > 0 {
		return now.Add(d), nil
	}
	return momentGiven("expires", word)
}
