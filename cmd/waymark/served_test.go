package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// TestServed: the list of what a server does names commands and flags that there are, and every other command refuses a server before it does anything.
func TestServed(t *testing.T) {
	found := map[string]*cobra.Command{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		found[strings.TrimPrefix(cmd.CommandPath(), "waymark ")] = cmd
		for _, below := range cmd.Commands() {
			walk(below)
		}
	}
	walk(new(app).rootCommand())
	for name, refused := range served {
		require.Contains(t, found, name)
		for _, flag := range refused {
			require.NotNil(t, found[name].Flags().Lookup(flag), "waymark %s has no --%s", name, flag)
		}
	}
	for name, cmd := range found {
		if !cmd.Runnable() || helps(cmd) {
			continue
		}
		a := &app{config: config{server: "https://waymark.example.com"}}
		err := a.checkServer(cmd, []string{serverFlag})
		if _, known := served[name]; known {
			require.NoError(t, err, name)
			continue
		}
		require.Error(t, err, name)
		require.NotEmpty(t, a.server, "waymark %s would ask another record", name)
	}
}
