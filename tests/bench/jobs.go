package main

// job is a pipeline over the same source.
type job struct {
	name   string
	steps  string
	beside bool // the plain loop does the same
}

// document returns the job's pipeline.
func (j job) document() string { return source + j.steps }

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

// jobs are what is measured. The first is the one that is measured with few and with many rows as well.
var jobs = []job{
	{name: "gate", beside: true, steps: `steps:
  - name: band
    set: {band: "row.amount > 2500 ? 'major' : 'minor'"}
  - name: triage
    gate: row.band == 'major' && !row.paid
    routes: {"true": review, "false": continue}
sinks:
  review: {jsonl: {path: out/review.jsonl, overwrite: true}}
  all: {jsonl: {path: out/all.jsonl, overwrite: true}, from: triage}
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
