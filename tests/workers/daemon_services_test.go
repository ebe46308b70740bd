package workers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/landscape/pgstore"
	"waymark/tests/sample"
	"waymark/tests/services/pg"
	"waymark/worker/daemon"
)

// TestAProcessNamesTheServiceThatIsAway starts a process while the payloads cannot be reached.
func TestAProcessNamesTheServiceThatIsAway(t *testing.T) {
	sample.Rarely(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	s := newSite(t)
	c := s.config(s.address(t))
	c.Payloads = "s3://payloads/here?endpoint=http://127.0.0.1:1&path_style=true&region=us-east-1"
	p := begin(t, c, daemon.Program{}, nil)
	pages := p.said(t, "listening")["address"]
	why := p.said(t, "waiting for payloads")["error"]
	require.Contains(t, why, "127.0.0.1:1")
	code, text := get(t, pages, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Regexp(t, `^temporal: ok\nlandscape: ok\npayloads: .*127\.0\.0\.1:1.*\nwork: not reached yet\n$`, text)
	p.end(t)
}

// TestAProcessMayWriteBeforeItWorks starts a process as a role that only reads; then it is given the right, and loses it again.
func TestAProcessMayWriteBeforeItWorks(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	db := pg.New(t)
	_, _, err := pgstore.Migrate(t.Context(), db.DSN())
	require.NoError(t, err)
	owner, err := pgx.Connect(t.Context(), db.Superuser())
	require.NoError(t, err)
	defer func() { require.NoError(t, owner.Close(t.Context())) }()
	role := db.Owner() + "_worker"
	url := db.Login(t, role)

	s := newSite(t)
	c := s.config(s.address(t))
	c.Landscape = url
	p := begin(t, c, daemon.Program{}, nil)
	pages := p.said(t, "listening")["address"]
	require.Contains(t, p.said(t, "waiting for landscape")["error"], "the role "+role+" may not read the schema waymark")

	require.NoError(t, pgstore.Grant(t.Context(), db.DSN(), pgstore.Roles{Reader: role}))
	const lacks = "may not work for runs: it lacks insert on access_tokens, "
	for { // what it says of the time before the grant may come first
		why, is := p.said(t, "waiting for landscape")["error"].(string)
		require.True(t, is)
		if code, text := get(t, pages, "/readyz"); code == http.StatusServiceUnavailable && strings.Contains(why, lacks) {
			require.Contains(t, text, "landscape: landscape postgres://")
			require.Contains(t, text, lacks)
			require.Contains(t, text, "waymark landscape grant --writer "+role)
			break
		}
	}

	require.NoError(t, pgstore.Grant(t.Context(), db.DSN(), pgstore.Roles{Writer: role}))
	p.said(t, "working")
	code, text := get(t, pages, "/readyz")
	require.Equal(t, http.StatusOK, code, text)
	require.NotContains(t, p.text(), "owns the record")

	_, err = owner.Exec(t.Context(), `revoke execute on function waymark.hold_run from `+role)
	require.NoError(t, err)
	require.Eventually(t, func() bool { // an answer counts for a moment
		code, text = get(t, pages, "/readyz")
		return code == http.StatusServiceUnavailable
	}, patience, 100*time.Millisecond)
	require.Contains(t, text, "it lacks execute on hold_run: the owner of the schema, "+db.Owner())
	p.end(t)
}

// TestAProcessThatOwnsTheRecordSaysSo starts a process as the record's owner.
func TestAProcessThatOwnsTheRecordSaysSo(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	db := pg.New(t)
	_, _, err := pgstore.Migrate(t.Context(), db.DSN())
	require.NoError(t, err)
	s := newSite(t)
	c := s.config(s.address(t))
	c.Landscape = db.DSN()
	p := begin(t, c, daemon.Program{}, nil)
	p.said(t, "working")
	require.Contains(t, p.text(), "the role "+db.Owner()+" owns the record, and so could change what is there")
	p.end(t)
}
