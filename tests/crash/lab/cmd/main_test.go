package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/tests/crash/lab"
)

func TestTheCommandLineIsRead(t *testing.T) {
	o, report, err := read([]string{
		"-singles", "30", "-pairs", "all", "-only", "payload.renamed@3,run.prepared", "-seed", "7", "-fault", "short", "-report", "r.json",
		"-part", "3/20",
		"-param", "a=1", "-param", "b=2", "-global", "--allow-path=/data", "-waymark", "w", "p.yaml",
	}, nil)
	require.NoError(t, err)
	require.Equal(t, "r.json", report)
	require.Equal(t, [2]int{30, lab.All}, [2]int{o.Singles, o.Pairs})
	require.Len(t, o.Only, 2)
	require.Equal(t, []string{"--param", "a=1", "--param", "b=2"}, o.Params)
	require.Equal(t, []string{"--allow-path=/data"}, o.Flags)
	require.Equal(t, "w p.yaml short 7", o.Binary+" "+o.Pipeline+" "+o.Fault+" 7")
	require.EqualValues(t, 7, o.Seed)
	require.Equal(t, lab.Part{Nr: 3, Of: 20}, o.Part)

	o, _, err = read([]string{"p.yaml"}, nil)
	require.NoError(t, err)
	require.Equal(t, [2]int{lab.All, 0}, [2]int{o.Singles, o.Pairs})
	require.Equal(t, lab.Kill, o.Fault)
}

func TestWrongUseEndsWithTwo(t *testing.T) {
	for message, args := range map[string][]string{
		"name one document":      {},
		"write a number, or all": {"-singles", "few", "p.yaml"},
		"such as 3/20":           {"-part", "3", "p.yaml"},
		"takes one moment":       {"-only", "a.b@1,a.b@2,a.b@3", "p.yaml"},
		"not defined: -pair":     {"-pair", "3", "p.yaml"},
	} {
		var out, told bytes.Buffer
		require.Equal(t, exitWrongUse, run(args, &out, &told), message)
		require.Contains(t, told.String(), message)
		require.Empty(t, out.String())
	}
	var out, told bytes.Buffer
	require.Zero(t, run([]string{"-h"}, &out, &told))
	require.Contains(t, told.String(), "-singles")
}
