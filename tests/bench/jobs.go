package main

import "strings"

// job is a pipeline over the same source.
type job struct {
	name    string
	steps   string
	plain   bool // the plain loop does the same
	unique  bool // no two orders have the same id
	parquet bool // the orders are in Parquet files
}

// document returns the job's pipeline.
func (j job) document() string {
	if j.parquet {
		return parquetSource + j.steps
	}
	if j.unique {
		return strings.Replace(source, "id: int", "id: {type: int, unique: true}", 1) + j.steps
	}
	return source + j.steps
}

const source = `name: bench
sources:
  orders:
    csv: {path: orders.csv}
    schema:
      mode: fixed
      fields:
        id: int
        customer: string
        city: string
        channel: string
        amount: int
        quantity: int
        price: float
        ordered: date
        paid: bool
        note: string
`

const (
	parquetSource = "name: bench\nsources:\n  orders: {parquet: {path: parquet/*.parquet}}\n"
	toParquet     = source + "sinks:\n  all: {parquet: {path: parquet, overwrite: true}}\n"
)

// jobs are what is measured. The first is the one that is measured with few and with many rows as well.
var jobs = []job{
	{name: "gate", plain: true, steps: `steps:
  - name: band
    set: {band: "row.amount > 2500 ? 'major' : 'minor'"}
  - name: triage
    gate: row.band == 'major' && !row.paid
    routes: {"true": review, "false": continue}
sinks:
  review: {jsonl: {path: out/review.jsonl, overwrite: true}}
  all: {jsonl: {path: out/all.jsonl, overwrite: true}, from: triage}
`},
	{name: "no step", steps: `sinks:
  all: {jsonl: {path: out/all.jsonl, overwrite: true}}
`},
	{name: "no step, from Parquet", parquet: true, steps: `sinks:
  all: {jsonl: {path: out/all.jsonl, overwrite: true}}
`},
	{name: "unique", unique: true, steps: `sinks:
  all: {jsonl: {path: out/all.jsonl, overwrite: true}}
`},
	{name: "deduplicate, no repeats", steps: `steps:
  - {name: once, deduplicate: {key: [id, customer]}}
sinks:
  all: {jsonl: {path: out/all.jsonl, overwrite: true}}
`},
	{name: "deduplicate, half of the rows repeats, anywhere", steps: `steps:
  - {name: pair, set: {pair: row.id * 7919 % 1000003 / 2}}
  - {name: once, deduplicate: {key: [pair]}}
sinks:
  all: {jsonl: {path: out/all.jsonl, overwrite: true}}
`},
	{name: "deduplicate, all rows repeats but one", steps: `steps:
  - {name: same, set: {one: "1"}}
  - {name: once, deduplicate: {key: [one]}}
sinks:
  all: {jsonl: {path: out/all.jsonl, overwrite: true}}
`},
	{name: "aggregate, a group of each row: all but 200,000 are refused", steps: `steps:
  - {name: sums, aggregate: {group_by: [id], compute: {total: sum(row.amount)}}}
sinks:
  all: {jsonl: {path: out/all.jsonl, overwrite: true}}
`},
	{name: "fork and coalesce", steps: `steps:
  - {name: opinions, fork: [by_amount, by_city]}
  - {name: amounts, from: by_amount, set: {band: "row.amount > 2500 ? 'major' : 'minor'"}}
  - {name: cities, from: by_city, set: {near: row.city == 'Springfield'}}
  - {name: decide, coalesce: {by_amount: amounts, by_city: cities}}
sinks:
  all: {jsonl: {path: out/all.jsonl, overwrite: true}}
`},
	{name: "group-by aggregate", steps: `steps:
  - name: totals
    aggregate:
      group_by: [city, channel]
      compute: {orders: count(), total: sum(row.amount), price: mean(row.price)}
sinks:
  report: {jsonl: {path: out/report.jsonl, overwrite: true}}
`},
}
