package workers_test

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// scaleJob is a run that BenchmarkScale measures.
type scaleJob struct {
	name     string
	document string
	store    func(c *topology) // stores its input
}

// csvParts is orders from one object to parts of two outputs in a bucket.
var csvParts = strings.Replace(clusterOrders, tableSink, partsSink, 1)

const (
	tableSink  = `{postgres: {dsn: "${secret:goods_dsn}", table: "${param:out}", create: true}}`
	partsSink  = `{jsonl: {path: "s3://BUCKET/out/${param:out}.review", parts: true, s3: {path_style: true}}}`
	allSink    = `{jsonl: {path: "s3://BUCKET/out/${param:out}", parts: true, s3: {path_style: true}}, from: triage}`
	oneObject  = `csv: {path: s3://BUCKET/in/orders.csv, s3: {path_style: true}}`
	groups     = 100_000
	scaleFiles = 500
)

// scaleJobs are all of them. The first is the one that a new worker joins in the middle, and that the last line is
// about.
var scaleJobs = []scaleJob{
	{"csv-parts", csvParts, storeObject},
	{"unique", strings.Replace(csvParts, "id: int,", "id: {type: int, unique: true},", 1), storeObject},
	{"aggregate", csvParts[:strings.Index(csvParts, "steps:")] + fmt.Sprintf(`steps:
  - {name: group, set: {group: row.id %% %d}}
  - name: totals
    aggregate: {group_by: [group], compute: {orders: count(), total: sum(row.total)}}
sinks:
  all: `, groups) + strings.Replace(allSink, ", from: triage", "", 1) + "\n", storeObject},
	{"postgres", strings.NewReplacer(
		oneObject, `postgres: {dsn: "${secret:goods_dsn}", table: orders}`,
		allSink, strings.Replace(tableSink, "}}", "}, from: triage}", 1),
		tableSink, strings.Replace(tableSink, "${param:out}", "${param:out}_review", 1),
	).Replace(clusterOrders), storeTable},
	{"skewed", strings.Replace(csvParts, "steps:", "steps:\n  - {name: dear, filter: \""+dear+"\"}", 1), storeObject},
	{"files", strings.Replace(csvParts, "orders.csv", "orders-*.csv", 1), storeFiles},
}

// dear is true of all rows, and takes a thousand steps for 16,000 of them that follow each other: the chunks with them
// take some thirty times as long as others.
const (
	dear = "row.id / 16000 != 30 || " + digits + ".all(a, " +
		digits + ".all(b, " + digits + ".all(c, a + b + c < 30)))"
	digits = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
)

func storeObject(c *topology) { c.put("in/orders.csv", input(*rows)) }

func storeFiles(c *topology) {
	for i := range scaleFiles {
		c.put(fmt.Sprintf("in/orders-%03d.csv", i), inputFrom(i**rows/scaleFiles, (i+1)**rows/scaleFiles))
	}
}

func storeTable(c *topology) {
	c.t.Helper()
	db, err := pgx.Connect(c.t.Context(), c.goods.DSN())
	require.NoError(c.t, err)
	defer func() { require.NoError(c.t, db.Close(background())) }()
	for _, statement := range []string{
		`create table orders (id bigint primary key, customer text, city text, channel text, total numeric,
			items bigint, weight double precision, paid boolean, placed date, note text)`,
		fmt.Sprintf(`insert into orders select i, 'customer ' || i %% 9973,
			(array['Bergen', 'Porto', 'Graz', 'Turku', 'Lyon'])[1 + i %% 5],
			(array['web', 'shop', 'phone'])[1 + i %% 3], i::bigint * 7919 %% 1000 + (i %% 100) / 100.0,
			i %% 7, (i %% 997) / 4.0, i %% 2 = 0,
			make_date(2026, 1 + i %% 12, 1 + i %% 28), 'note on order ' || i from generate_series(0, %d) i`, *rows-1),
		`analyze orders`,
	} {
		_, err = db.Exec(c.t.Context(), statement)
		require.NoError(c.t, err, statement)
	}
}
