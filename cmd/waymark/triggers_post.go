package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"waymark/client/local"
)

// posted is what became of a delivery that somebody tried.
type posted struct {
	Trigger string          `json:"trigger"`
	Status  int             `json:"status"` // of HTTP
	Answer  json.RawMessage `json:"answer"`
}

// postTime is how long a server has to answer.
const postTime = 30 * time.Second

func (a *app) triggersTestCommand() *cobra.Command {
	var file, address string
	cmd := &cobra.Command{
		Use:   "test TRIGGER --file FILE",
		Short: "Post a file to a trigger, signed with its secret, as another service would",
		Long: `Signs the content of a file as the trigger's document says, with the trigger's secret from --secrets-dir, and posts it to a server. It is a delivery like others: it is recorded, and
a run reads it. Sent again it is a new one, if the signature covers an id, or a time and a second has passed. The record must be here. Exit code 1: the server did not take it.`,
		Example: `  waymark triggers test calls --file sample.json --secrets-dir secrets`,
		Args:    exactlyOne("trigger"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				return wrongUsef("what is to be posted? --file FILE names it; - is standard input")
			}
			from, err := a.openInput(file)
			if err != nil {
				return err
			}
			defer from.Close()
			body, err := io.ReadAll(from)
			if err != nil {
				return err
			}
			return a.existing(cmd.Context(), func(home *local.Home) error {
				id, err := home.TriggerID(cmd.Context(), cmd.Flag(inEnvironment).Value.String(), args[0])
				if err != nil {
					return err
				}
				done, err := post(cmd.Context(), home, id, address, body)
				if err != nil {
					return err
				}
				code := exitDone
				if done.Status != http.StatusAccepted {
					code = exitFailed
				}
				return endWith(code, a.print(done, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "%d %s: %s\n", done.Status, http.StatusText(done.Status), done.Answer)
					return err
				}))
			})
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "the `file` with the body; - for standard input")
	cmd.Flags().StringVar(&address, "url", "http://"+apiAddress, "`URL` of the server")
	return cmd
}

// post posts a body to a trigger of a server.
func post(ctx context.Context, home *local.Home, trigger, address string, body []byte) (posted, error) {
	done := posted{Trigger: trigger}
	path, header, err := home.SignDelivery(ctx, trigger, body)
	if err != nil {
		return done, err
	}
	ctx, cancel := context.WithTimeout(ctx, postTime)
	defer cancel()
	server, err := url.Parse(address)
	if err != nil || server.Host == "" || server.RawQuery+server.Fragment != "" || server.Scheme != "http" && server.Scheme != "https" {
		return done, wrongUsef("--url %q: write http://HOST:PORT, or https://", address)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return done, err
	}
	request.Header = header
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return done, fmt.Errorf("nobody took the delivery: %w; waymark serve takes deliveries, and --url says where it listens", err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if done.Status, done.Answer = answer.StatusCode, bytes.TrimSpace(text); err == nil && !json.Valid(done.Answer) {
		err = fmt.Errorf("what listens at %s takes no deliveries: it answered with %s, and no JSON. --url is the address of waymark serve alone, such as http://%s", address, answer.Status, apiAddress)
	}
	return done, err
}
