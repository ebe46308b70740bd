package workers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// clusterOrders is a document that reads an object of a bucket and writes a table, and parts in a bucket.
const clusterOrders = `
name: orders
params:
  out: {type: string}
sources:
  orders:
    csv: {path: s3://BUCKET/in/orders.csv, s3: {path_style: true}}
    key: [id]
    schema:
      fields: {id: int, customer: string, city: string, channel: string, total: decimal, items: int, weight: float, paid: bool, placed: date, note: string}
steps:
  - {name: size, set: {large: "row.total > decimal('990')"}}
  - {name: triage, gate: row.large, routes: {"true": review, "false": continue}}
sinks:
  review: {postgres: {dsn: "${secret:goods_dsn}", table: "${param:out}", create: true}}
  all: {jsonl: {path: "s3://BUCKET/out/${param:out}", parts: true, s3: {path_style: true}}, from: triage}
`

// deploy stores the input in the bucket and makes the document known to workers.
func (c *topology) deploy(rows int) {
	c.t.Helper()
	c.put("in/orders.csv", input(rows))
	c.document(clusterOrders)
}

// put stores an object in the bucket.
func (c *topology) put(key string, data []byte) {
	c.t.Helper()
	object := &s3.PutObjectInput{Bucket: &c.bucket.Name, Key: aws.String(key), Body: bytes.NewReader(data)}
	_, err := c.bucket.Client().PutObject(c.t.Context(), object)
	require.NoError(c.t, err)
}

// document makes the document of orders known to workers.
func (c *topology) document(text string) {
	c.t.Helper()
	text = strings.ReplaceAll(text, "BUCKET", c.bucket.Name)
	require.NoError(c.t, os.WriteFile(filepath.Join(c.folder, "orders.yaml"), []byte(text), 0o600))
}

// input is so many orders.
func input(rows int) []byte { return inputFrom(0, rows) }

// inputFrom is the orders from one on up to another one. Each 400th is refused: its number of items is none.
func inputFrom(first, end int) []byte {
	out := []byte("id,customer,city,channel,total,items,weight,paid,placed,note\n")
	cities, channels := []string{"Bergen", "Porto", "Graz", "Turku", "Lyon"}, []string{"web", "shop", "phone"}
	for i := first; i < end; i++ {
		items := fmt.Sprint(i % 7)
		if i%refusedEvery == 0 {
			items = "many"
		}
		out = fmt.Appendf(out, "%d,customer %d,%s,%s,%d.%02d,%s,%.2f,%t,2026-%02d-%02d,note on order %d\n",
			i, i%9973, cities[i%5], channels[i%3], i*7919%1000, i%100, items, float64(i%997)/4, i%2 == 0, 1+i%12, 1+i%28, i)
	}
	return out
}

const refusedEvery = 400

// goes says where an order ends.
func goes(i int) string {
	switch {
	case i%refusedEvery == 0:
		return "quarantine"
	case i*7919%1000 >= 991 || i*7919%1000 == 990 && i%100 > 0:
		return "review"
	default:
		return "all"
	}
}

// result is all that a run leaves behind, in a form that two runs can be compared by.
type result struct {
	review      []int64 // ids in the table, ascending
	reviewSum   string  // digest of the table's rows
	all         string  // the bytes of the parts, in their order
	hashes      string  // digest of all hashes of rows on record
	ways        string  // digest of all ways on record
	quarantined int64
}

func (c *topology) result(run, out string) result {
	c.t.Helper()
	var r result
	goods, err := pgx.Connect(c.t.Context(), c.goods.DSN())
	require.NoError(c.t, err)
	defer func() { require.NoError(c.t, goods.Close(background())) }()
	table := pgx.Identifier{out}.Sanitize()
	rows, err := goods.Query(c.t.Context(), "select id from "+table+" order by id")
	require.NoError(c.t, err)
	r.review, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	require.NoError(c.t, err)
	one(c, goods, &r.reviewSum, "select md5(string_agg(r::text, ',' order by id)) from "+table+" r")
	record, err := pgx.Connect(c.t.Context(), strings.ReplaceAll(c.record.DSN(), "schema=waymark", ""))
	require.NoError(c.t, err)
	defer func() { require.NoError(c.t, record.Close(background())) }()
	one(c, record, &r.hashes, `select md5(string_agg(encode(sha256(hashes), 'hex'), ',' order by source collate "C", chunk, lane, node collate "C", slice)) from waymark.hashes where run_id = $1`, run)
	one(c, record, &r.ways, `select md5(string_agg(encode(sha256(way_codes), 'hex'), ',' order by source collate "C", chunk, lane)) from waymark.passages where run_id = $1`, run)
	one(c, record, &r.quarantined, `select rows_quarantined from waymark.run_summary where run_id = $1`, run)
	r.all = c.parts("out/" + out)
	return r
}

func one[T any](c *topology, conn *pgx.Conn, into *T, query string, args ...any) {
	c.t.Helper()
	require.NoError(c.t, conn.QueryRow(c.t.Context(), query, args...).Scan(into), query)
}

// parts returns the bytes of the parts that the manifest in the folder of the bucket names.
func (c *topology) parts(folder string) string {
	c.t.Helper()
	var manifest struct {
		Folder string `json:"folder"`
		Parts  []struct {
			File string `json:"file"`
		} `json:"parts"`
	}
	require.NoError(c.t, json.Unmarshal(c.object(folder+"/manifest.json"), &manifest))
	var all bytes.Buffer
	for _, part := range manifest.Parts {
		all.Write(c.object(path.Join(folder, manifest.Folder, part.File)))
	}
	return all.String()
}

func (c *topology) object(key string) []byte {
	c.t.Helper()
	got, err := c.bucket.Client().GetObject(c.t.Context(), &s3.GetObjectInput{Bucket: &c.bucket.Name, Key: &key})
	require.NoError(c.t, err, key)
	defer func() { require.NoError(c.t, got.Body.Close()) }()
	data, err := io.ReadAll(got.Body)
	require.NoError(c.t, err, key)
	return data
}

// check holds a result against the input: every order is where it belongs, once.
func (r result) check(c *topology, rows int) {
	c.t.Helper()
	var review, all []int64
	var quarantined int64
	for i := range rows {
		switch goes(i) {
		case "review":
			review = append(review, int64(i))
		case "all":
			all = append(all, int64(i))
		default:
			quarantined++
		}
	}
	require.Equal(c.t, review, r.review)
	require.Equal(c.t, quarantined, r.quarantined)
	var found []int64
	for line := range strings.Lines(r.all) {
		var order struct{ ID int64 }
		require.NoError(c.t, json.Unmarshal([]byte(line), &order))
		found = append(found, order.ID)
	}
	require.Equal(c.t, all, found)
}
