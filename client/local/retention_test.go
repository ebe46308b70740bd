package local

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"waymark/audit/retain"
	"waymark/client"
	"waymark/landscape"
)

// person writes a private key, and returns its file and the line of an approvers file.
func person(t *testing.T, folder, name string) (file, line string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(private, name)
	require.NoError(t, err)
	file = filepath.Join(folder, name)
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	key, err := ssh.NewPublicKey(public)
	require.NoError(t, err)
	return file, name + "@example.com " + string(ssh.MarshalAuthorizedKey(key))
}

// TestSeveralPersonsApprovePeriods: under a rule about purges, shorter periods wait, doctor says so and with which
// command they are proposed, and the order about them brings them into force. Nobody approves what is then deleted by
// them.
func TestSeveralPersonsApprovePeriods(t *testing.T) {
	ctx, folder := t.Context(), t.TempDir()
	ann, first := person(t, folder, "ann")
	bob, second := person(t, folder, "bob")
	approvers := filepath.Join(folder, "approvers")
	require.NoError(t, os.WriteFile(approvers, []byte(first+second), 0o600))
	home, err := Open(ctx, Options{State: Folder(folder), Approvers: approvers, Actor: "tester"})
	require.NoError(t, err)
	defer func() { require.NoError(t, home.Close()) }()
	says := func() client.Check {
		t.Helper()
		return doctor{Options: &home.options}.retention(ctx)
	}
	log := home.stores.Log
	turn := func(text string) landscape.RetentionTurn {
		t.Helper()
		deposit, err := home.Deposit(ctx, true)
		require.NoError(t, err)
		k := retain.Keeper{Log: log, Payloads: deposit.Payloads, Actor: "waymark at here"}
		require.NoError(t, k.Periods.Set(text))
		done, _, err := k.Turn(ctx)
		require.NoError(t, err)
		return done
	}
	require.Empty(t, says(), "nothing is configured")
	require.NoError(t, home.options.Retention.Set("{source: 90d}"))
	require.Equal(t, client.StartRetaining, says().Cure, "no process has had the settings")
	turn("{source: 90d}")
	require.Equal(t, client.Healthy, says().State)
	require.Regexp(t, "^source 90d, last executed 20", says().Detail)
	_, err = home.ApprovePeriods(ctx, client.By{Why: "so"})
	require.ErrorContains(t, err, "no retention periods wait for approval")

	_, err = home.RuleOrders(ctx, landscape.OrderPurge, 2, client.By{Why: "four eyes"})
	require.NoError(t, err)
	require.NoError(t, home.options.Retention.Set("{source: 7d}"))
	turn("{source: 7d}")
	check := says()
	require.Equal(t, client.Doubtful, check.State)
	require.Equal(t, "shorter periods wait for approval (source: 7d, 90d before); until then what counts is source 90d",
		check.Detail)
	require.Contains(t, client.CheckTexts([]client.Check{check}, "", nil)[0].Cure,
		"waymark purge --periods --why TEXT --propose --key FILE")

	_, err = home.ApprovePeriods(ctx, client.By{Why: "so"})
	require.ErrorContains(t, err, "purge needs 2 persons")

	args, err := home.PeriodsArgs(ctx)
	require.NoError(t, err)
	propose := func() *OrderCase {
		t.Helper()
		order, err := home.Propose(ctx, ProposeRequest{
			Verb: landscape.OrderPurge, Args: args, Why: "7 days suffice", Expires: time.Hour, Key: ann,
		})
		require.NoError(t, err)
		require.Equal(t, "source: 7d, 90d before", order.OrderStatement.State["shorter"])
		_, err = home.Assent(ctx, AssentRequest{Order: order.Digest, Why: "they do", Key: bob})
		require.NoError(t, err)
		return order
	}
	order := propose()
	turn("{source: 6d}")
	_, err = home.Execute(ctx, ExecuteRequest{Order: order.Digest})
	require.ErrorContains(t, err, "other retention periods wait for approval by now",
		"what was approved is what counts")
	turn("{source: 7d}")
	done, err := home.Execute(ctx, ExecuteRequest{Order: propose().Digest})
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(done.Did, "are in force (source: 7d, 90d before)"), done.Did)
	turn("{source: 7d}")
	require.Equal(t, client.Healthy, says().State)

	now, asked, err := log.Periods(ctx)
	require.NoError(t, err)
	require.Nil(t, asked)
	require.Equal(t, "ann@example.com, bob@example.com", now.Actor)
	_, err = log.RecordRetention(ctx, landscape.RetentionTurn{
		Periods: now.SHA256, Actor: "waymark at here", Why: "due", Problem: "payloads: the bucket is away",
	})
	require.NoError(t, err)
	check = says()
	require.Equal(t, []any{client.Unhealthy, client.LetPurge}, []any{check.State, check.Cure})
	require.Contains(t, check.Detail, "payloads: the bucket is away; source 7d")
	late, err := retain.NewOutlook(context.WithoutCancel(ctx), log.Reader, time.Now().Add(72*time.Hour))
	require.NoError(t, err)
	require.True(t, late.Late, "no process has had a turn for three days")
}
