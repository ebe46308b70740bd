package activities_test

// ordersDocument has every kind of node and of end: a row is delivered, routed, dropped, discarded, or rejected at the
// source or at a step, to a sink or to quarantine. Its sinks are of all layouts.
const ordersDocument = `name: orders
chunk: {rows: 4}
sources:
  orders:
    csv: {path: "in/*.csv", comment: "#"}
    key: [id]
    schema:
      fields: {id: {type: string, unique: true}, amount: int, parts: int, note: string}
    on_invalid: quarantine
steps:
  - {name: share, set: {share: row.amount / row.parts}, on_error: refused}
  - {name: paid, filter: row.amount > 0}
  - name: triage
    gate: "row.share > 50 ? 'big' : row.note == 'drop' ? 'trash' : 'small'"
    routes: {big: review, trash: discard, small: continue}
sinks:
  review: {csv: {path: out/review.csv}}
  ledger: {jsonl: {path: out/ledger.jsonl, overwrite: true}, from: triage}
  refused: {csv: {path: out/refused, parts: true}}
`

// ordersFiles have 13 records: in two files, with blank lines, a comment, and two values that come twice.
var ordersFiles = map[string]string{
	"in/a.csv": "id,amount,parts,note\n" +
		"o1,100,2,fine\no2,300,2,big one\n\no3,0,1,unpaid\no4,10,0,divides by zero\n" +
		"# a comment\no5,12,4,drop\no1,5,1,the first again\no6,many,1,no number\no7,9,3,fine\n",
	"in/b.csv": "id,amount,parts,note\no8,800,4,\"two\nlines\"\no9,7,0,divides too\no10,50,5,fine\n\no8,1,1,the eighth again\no11,\"1,1,never closed\n",
}
