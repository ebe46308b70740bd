package postgres

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/tests/services"
	"waymark/tests/services/pg"
)

// lost is how often something is lost, or done by several at once, in the tests of that.
var lost = flag.Int("lost", 12, "how many commits, and how many replies to commits, are lost")

var idAndName = []plugin.Field{{Name: "id", Kind: row.Int}, {Name: "name", Kind: row.String}}

// addParts adds parts of rows whose ids go on.
func (w *testWriter) addParts(parts, rows int) {
	for range parts {
		var part [][]row.Value
		for i := range rows {
			part = append(part, []row.Value{row.IntValue(int64(len(w.parts)*rows + i)), row.StringValue("name")})
		}
		w.add(part...)
	}
}

// insist writes a part, again and again while that fails for reasons that pass, and returns how often it failed.
func insist(ctx context.Context, target plugin.Target, part plugin.Part, data []byte) (failed int, err error) {
	for {
		err := target.Write(ctx, part, data)
		if _, final := errors.AsType[*plugin.TargetError](err); err == nil || final || failed == 100 {
			return failed, err
		}
		failed++
	}
}

// TestCommitsWhoseReplyIsLost cuts the answer to commits, and the commits themselves. No row is lost, none is there twice.
func TestCommitsWhoseReplyIsLost(t *testing.T) {
	times := *lost
	for _, mode := range []string{pipeline.InsertMode, pipeline.UpsertMode} {
		t.Run(mode, func(t *testing.T) {
			db := pg.New(t)
			d := connect(t, db.DSN())
			d.exec("create table t (id bigint, name text, writes int not null default 1)")
			proxy := services.Cut(t, db.Address())
			spec := pipeline.PostgresSink{DSN: db.Through(proxy.Address()), Table: "t", Mode: mode}
			if mode == pipeline.UpsertMode {
				spec.Key = []string{"id"}
				d.exec(`create unique index on t (id); create function counts() returns trigger language plpgsql as $$ begin new.writes = old.writes + 1; return new; end $$;
					create trigger counts before update on t for each row execute function counts()`)
			}
			w := newWriter(t, spec, "run", idAndName)
			w.open()
			var failures int
			// Every other commit fails: half of the parts need a second attempt, which then often is the one that fails.
			for proxy.Lost() < times {
				w.addParts(1, 5)
				if len(w.parts)%3 == 0 {
					proxy.LoseRequest(pg.Commit)
				} else {
					proxy.LoseReply(pg.Commit)
				}
				last := len(w.parts) - 1
				failed, err := insist(t.Context(), w.target, w.parts[last], w.data[last])
				require.NoError(t, err)
				require.Positive(t, failed)
				failures += failed
			}
			proxy.Heal()
			rows := fmt.Sprint(5 * len(w.parts))
			require.Equal(t, rows+"|"+rows+"|1", d.one("select count(*), count(distinct id), max(writes) from t"))
			require.Equal(t, strconv.Itoa(len(w.parts)), d.one("select count(*) from waymark_parts"))
			require.Equal(t, int64(5*len(w.parts)), w.publish().Rows)
			t.Logf("%d parts, %d commits lost, %d failed attempts", len(w.parts), proxy.Lost(), failures)
		})
	}
}

// TestOpenAndPublishWhoseReplyIsLost: what is done once is done once, also where nobody heard that it was.
func TestOpenAndPublishWhoseReplyIsLost(t *testing.T) {
	db := pg.New(t)
	proxy := services.Cut(t, db.Address())
	w := newWriter(t, pipeline.PostgresSink{DSN: db.Through(proxy.Address()), Table: "made", Create: true, Key: []string{"id"}}, "run", idAndName)
	proxy.LoseReply(pg.Commit)
	_, err := w.target.Open(t.Context(), w.encoder.Header())
	require.ErrorContains(t, err, "make the table ready")
	w.open()
	w.addParts(1, 5)
	require.NoError(t, w.target.Write(t.Context(), w.parts[0], w.data[0]))
	proxy.LoseReply(pg.Commit)
	_, err = w.target.Publish(t.Context(), w.encoder.Header(), w.parts)
	require.ErrorContains(t, err, "publish")
	found, err := w.target.Verify(t.Context(), w.encoder.Header(), w.parts)
	require.NoError(t, err)
	require.Equal(t, found, w.publish())
}

// TestAttemptsAtOnePartAtTheSameTime writes each part from several processes' targets at once.
func TestAttemptsAtOnePartAtTheSameTime(t *testing.T) {
	times := *lost
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec("create table t (id bigint, name text)")
	d.exec(fmt.Sprintf(`alter role %[1]s set default_transaction_isolation = 'serializable'; alter role %[1]s set default_transaction_read_only = on`, db.Owner()))
	w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "t"}, "run", idAndName)
	w.open()
	w.addParts(times, 3)
	for i, part := range w.parts {
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				if err := w.sink.Target("run").Write(t.Context(), part, w.data[i]); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
	require.Equal(t, fmt.Sprintf("%d|%d", 3*times, 3*times), d.one("select count(*), count(distinct id) from t"))
	w.publish()
}

// TestAnAttemptThatStandsStillIsEnded: an attempt that was given up by those who started it, but not by the server, sits in its
// transaction. The next one waits, ends it, and writes the part.
func TestAnAttemptThatStandsStillIsEnded(t *testing.T) {
	for _, at := range []string{"entered", "copied"} {
		t.Run(at, func(t *testing.T) {
			db := pg.New(t)
			d := connect(t, db.DSN())
			d.exec("create table t (id bigint, name text)")
			w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "t"}, "run", idAndName)
			w.addParts(1, 3)
			w.open()
			zombie, err := newSink("out", w.sink.spec, anywhere)
			require.NoError(t, err)
			standing, goOn, ended := make(chan bool), make(chan bool), make(chan error)
			zombie.moment = func(moment string) {
				if moment == at {
					close(standing)
					<-goOn
				}
			}
			go func() { ended <- zombie.Target("run").Write(context.Background(), w.parts[0], w.data[0]) }()
			<-standing
			w.sink.patience = "50ms"
			err = w.target.Write(t.Context(), w.parts[0], w.data[0])
			// The server of a busy machine takes longer to end it: Temporal tries again, too.
			for again := 0; err != nil && again < 200; again++ {
				require.ErrorContains(t, err, "lock timeout")
				err = w.target.Write(t.Context(), w.parts[0], w.data[0])
			}
			close(goOn)
			late := <-ended
			require.NoError(t, err)
			require.ErrorContains(t, late, "write part 0")
			require.Equal(t, "3", d.one("select count(*) from t"))
			require.NoError(t, zombie.Target("run").Write(t.Context(), w.parts[0], w.data[0]))
			require.Equal(t, "3", d.one("select count(*) from t"))
			w.publish()
		})
	}
}

// TestAZombieAfterDiscardWritesNothing: what was given up permanently stays as it is.
func TestAZombieAfterDiscardWritesNothing(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec("create table t (id bigint, name text)")
	w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "t"}, "run", idAndName)
	w.addParts(2, 3)
	w.open()
	zombie, err := newSink("out", w.sink.spec, anywhere)
	require.NoError(t, err)
	standing, ended := make(chan bool), make(chan error)
	goOn := make(chan bool)
	zombie.moment = func(moment string) {
		if moment == "copied" {
			close(standing)
			<-goOn
		}
	}
	go func() { ended <- zombie.Target("run").Write(context.Background(), w.parts[0], w.data[0]) }()
	<-standing
	_, err = d.conn.Exec(t.Context(), "select from waymark_outputs for no key update nowait")
	require.ErrorContains(t, err, "55P03", "as long as a part is being written, its output ends in no way")
	discarded := make(chan error)
	go func() { discarded <- w.target.Discard(context.Background()) }() // it waits for the zombie's end
	close(goOn)
	require.NoError(t, <-ended)
	require.NoError(t, <-discarded)
	require.Equal(t, "3|discarded", d.one("select (select count(*) from t), state from waymark_outputs"))
	require.Error(t, w.target.Write(t.Context(), w.parts[1], w.data[1]))
	require.Equal(t, "3", d.one("select count(*) from t"))
}

// TestAServerThatFailsInTheMiddle is restarted as after a failure of its machine, while parts are written and before they are published.
func TestAServerThatFailsInTheMiddle(t *testing.T) {
	server := pg.Private(t)
	db := server.Database(t)
	connect(t, db.DSN()).exec("create table t (id bigint, name text)")
	w := newWriter(t, pipeline.PostgresSink{DSN: db.DSN(), Table: "t"}, "run", idAndName)
	w.addParts(40, 200)
	w.open()
	var written atomic.Int64
	restart := make(chan bool, len(w.parts))
	var group sync.WaitGroup
	for i := range 2 {
		group.Go(func() {
			for at := i; at < len(w.parts); at += 2 {
				for { // until the server is there again
					err := w.sink.Target("run").Write(t.Context(), w.parts[at], w.data[at])
					if err == nil {
						break
					}
					if _, final := errors.AsType[*plugin.TargetError](err); final {
						t.Error(err)
						return
					}
					time.Sleep(5 * time.Millisecond)
				}
				if written.Add(1)%15 == 0 {
					restart <- true
				}
			}
		})
	}
	group.Go(func() {
		for range 2 {
			<-restart
			server.Restart(t, true)
		}
	})
	group.Wait()
	server.Restart(t, true)
	d := connect(t, db.DSN())
	require.Equal(t, "8000|8000", d.one("select count(*), count(distinct id) from t"))
	require.Equal(t, int64(8000), w.publish().Rows)
}

// TestSecretsAreInNoError has every way to fail say something, and looks for the password in it.
func TestSecretsAreInNoError(t *testing.T) {
	const password = "canary-Pa55:wörd/%@ #"
	db := pg.New(t)
	super := connect(t, db.Superuser())
	super.exec(fmt.Sprintf("alter role %s password '%s'", db.Owner(), password))
	host, port, err := net.SplitHostPort(db.Address())
	require.NoError(t, err)
	dsn := fmt.Sprintf("host=%s port=%s user=%s dbname=%s sslmode=disable password='%s'", host, port, db.Owner(), db.Owner(), password)
	var said []string
	say := func(err error) {
		require.Error(t, err)
		said = append(said, fmt.Sprintf("%v %+v %#v", err, err, err))
		for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
			said = append(said, fmt.Sprintf("%v %#v", inner, inner))
		}
	}
	for _, d := range []string{
		dsn, strings.Replace(dsn, "port="+port, "port=1", 1), strings.Replace(dsn, password, password+"x", 1), dsn + " nonsense", dsn + " application_name",
		strings.Replace(dsn, "dbname=", "dbname=no", 1), strings.Replace(dsn, "sslmode=disable", "sslmode=require", 1),
	} {
		s, err := NewSource("in", pipeline.PostgresSource{DSN: d, Table: "t"}, pipeline.Schema{}, anywhere, nil)
		if err != nil {
			say(err)
		} else {
			_, err = s.Stat(t.Context())
			say(err)
			info := plugin.SourceInfo{}
			_, err = s.Open(t.Context(), plugin.Cursor{}, info)
			say(err)
		}
		sink, err := NewSink("out", pipeline.PostgresSink{DSN: d, Table: "t"}, anywhere)
		if err != nil {
			say(err)
			continue
		}
		require.NotContains(t, sink.Location(), "canary")
		target := sink.Target("run").(plugin.RowRejecter)
		_, err = target.Open(t.Context(), []byte(`{"columns":[{"name":"a"}]}`))
		say(err)
		say(target.Write(t.Context(), plugin.Part{}, []byte("x")))
		_, err = target.Rejected(t.Context(), plugin.Part{})
		say(err)
	}
	place, err := newDatabase(dsn, anywhere)
	require.NoError(t, err)
	require.ErrorIs(t, place.fault("try", &pgconn.PgError{Code: "53100"}), syscall.ENOSPC, "for which a run waits")
	require.NotErrorIs(t, place.fault("try", &pgconn.PgError{Code: "53200"}), syscall.ENOSPC)
	say(place.fault("try", fmt.Errorf("the driver said: %w", errors.New("no entry for "+password))))
	for _, text := range said {
		require.NotContains(t, text, "canary")
		require.NotContains(t, text, "Pa55")
	}
}

// BenchmarkWrite writes parts of 32,768 rows of 10 columns with the sink, and in turn with it the same bytes into a table alike with
// COPY alone: share is how much of that speed is left beside record and checks.
func BenchmarkWrite(b *testing.B) {
	db := pg.New(b)
	d := connect(b, db.DSN())
	fields := []plugin.Field{
		{Name: "id", Kind: row.Int}, {Name: "name", Kind: row.String}, {Name: "city", Kind: row.String}, {Name: "amount", Kind: row.Decimal}, {Name: "share", Kind: row.Float},
		{Name: "day", Kind: row.Date}, {Name: "moment", Kind: row.Timestamp}, {Name: "paid", Kind: row.Bool}, {Name: "channel", Kind: row.String}, {Name: "note", Kind: row.String, Optional: true},
	}
	const rows = 32_768
	values := func(i int64) []row.Value {
		amount, _ := row.Parse(row.Decimal, fmt.Sprintf("%d.%02d", i%1000, i%100))
		return []row.Value{
			row.IntValue(i), row.StringValue(fmt.Sprintf("customer %d", i)), row.StringValue("Ulm"), amount, row.FloatValue(float64(i) / 7),
			row.DateValue(i % 20_000), row.TimestampValue(i*1000, 0), row.BoolValue(i%2 == 0), row.StringValue("web"), row.NullValue(),
		}
	}
	runs := 0
	for _, c := range []struct {
		name, mode string
		key        []string
	}{{"insert", pipeline.InsertMode, nil}, {"insert with a key", pipeline.InsertMode, []string{"id"}}, {"upsert of new rows", pipeline.UpsertMode, []string{"id"}}, {"upsert of rows that are there", pipeline.UpsertMode, []string{"id"}}} {
		b.Run(c.name, func(b *testing.B) {
			d.exec("drop table if exists t, bare")
			runs++
			w := newWriter(b, pipeline.PostgresSink{DSN: db.DSN(), Table: "t", Create: true, Mode: c.mode, Key: c.key}, fmt.Sprint(runs), fields)
			w.open()
			d.exec("create table bare (like t including all)")
			for n := range b.N {
				var part [][]row.Value
				for i := range rows {
					part = append(part, values(int64(n*rows+i)))
				}
				w.add(part...)
			}
			if c.name == "upsert of rows that are there" {
				for i, part := range w.parts {
					require.NoError(b, w.target.Write(b.Context(), part, w.data[i]))
				}
				d.exec("vacuum analyze t")
				w = &testWriter{t: b, sink: w.sink, target: w.sink.Target(fmt.Sprint(runs, " again")).(plugin.RowRejecter), encoder: w.encoder, parts: w.parts, data: w.data}
				w.open()
			}
			var alone time.Duration
			b.ResetTimer()
			for i, part := range w.parts {
				require.NoError(b, w.target.Write(b.Context(), part, w.data[i]))
				b.StopTimer()
				began := time.Now()
				_, err := d.conn.PgConn().CopyFrom(b.Context(), bytes.NewReader(w.data[i]), "copy bare from stdin")
				require.NoError(b, err)
				alone += time.Since(began)
				b.StartTimer()
			}
			b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(alone.Seconds()/b.Elapsed().Seconds(), "share")
		})
	}
}

// BenchmarkRead reads rows of 10 columns.
func BenchmarkRead(b *testing.B) {
	db := pg.New(b)
	d := connect(b, db.DSN())
	const rows = 200_000
	d.exec(fmt.Sprintf(`create table t as select i as id, 'customer ' || i as name, 'Ulm' as city, (i %% 1000)::numeric(10,2) as amount, i / 7.0::float8 as share,
		date '2001-01-01' + i %% 1000 as day, timestamptz '2001-01-01' + i * interval '1 s' as moment, i %% 2 = 0 as paid, 'web' as channel, null::text as note
		from generate_series(1, %d) i; alter table t add primary key (id); analyze t`, rows))
	s := source(b, pipeline.PostgresSource{DSN: db.DSN(), Table: "t"}, pipeline.Schema{})
	b.ResetTimer()
	for range b.N {
		records, _, _ := read(b, s, plugin.Limits{Rows: 32_768, Bytes: 8 << 20}, false)
		require.Len(b, records, rows)
	}
	b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkRefuse writes parts of which the table rejects every row, every second one, or drops every second one without a word.
func BenchmarkRefuse(b *testing.B) {
	db := pg.New(b)
	d := connect(b, db.DSN())
	d.exec(`create function drops() returns trigger language plpgsql as $$ begin if new.v = -1 then return null; end if; return new; end $$`)
	const rows = 32_768
	runs := 0
	for _, c := range []struct {
		name, mode string
		v          func(i int) int64
	}{
		{"every row", pipeline.InsertMode, func(int) int64 { return 0 }},
		{"every row of an upsert", pipeline.UpsertMode, func(int) int64 { return 0 }},
		{"every second row", pipeline.InsertMode, func(i int) int64 { return int64(i % 2) }},
		{"every ninth row", pipeline.InsertMode, func(i int) int64 { return int64(min(i%9, 1)) }},
		{"every second row dropped", pipeline.InsertMode, func(i int) int64 { return int64(i%2*2 - 1) }},
		{"every second row dropped of an upsert", pipeline.UpsertMode, func(i int) int64 { return int64(i%2*2 - 1) }},
		{"every ninth row dropped", pipeline.InsertMode, func(i int) int64 { return int64(min(i%9, 1)*2 - 1) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			d.exec("drop table if exists t; create table t (id bigint primary key, v bigint check (v <> 0)); create trigger drops before insert or update on t for each row execute function drops()")
			spec := pipeline.PostgresSink{DSN: db.DSN(), Table: "t", Mode: c.mode}
			if c.mode == pipeline.UpsertMode {
				spec.Key = []string{"id"}
			}
			runs++
			w := newWriter(b, spec, fmt.Sprint(runs), []plugin.Field{{Name: "id", Kind: row.Int}, {Name: "v", Kind: row.Int}})
			w.open()
			for n := range b.N {
				var part [][]row.Value
				for i := range rows {
					part = append(part, []row.Value{row.IntValue(int64(n*rows + i)), row.IntValue(c.v(i))})
				}
				w.add(part...)
			}
			b.ResetTimer()
			for i, part := range w.parts {
				require.NoError(b, w.target.Write(b.Context(), part, w.data[i]))
			}
		})
	}
}
