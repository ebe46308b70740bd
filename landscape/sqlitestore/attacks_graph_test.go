package sqlitestore_test

import (
	"fmt"
	"strings"
)

// graphAttacks are attacks on what runs have that fork, merge and gather.
func graphAttacks() map[string]attack {
	return map[string]attack{
		"a chunk of a source from a fold":           {chunkSQL(`'r1', 'strikes', 9`, 0), "a source's has none"},
		"a chunk of a barrier from no fold":         {chunkSQL(`'r3', 'totals', 9`, "null"), "has a fold"},
		"a chunk of a fold that is not there":       {chunkSQL(`'r3', 'totals', 9`, 77), "FOREIGN KEY"},
		"a passage in another source's lane":        {`insert into passages select run_id, source, chunk, 4, rows, code_bytes, way_codes, 1, 1, 1, '' from passages where run_id = 'r3' and source = 'orders' and lane = 0`, "FOREIGN KEY"},
		"a way of another lane":                     {`insert into chunk_ways select run_id, source, chunk, 1, 99, way, 1 from chunk_ways where run_id = 'r3' and source = 'orders' and lane = 0 limit 1`, "FOREIGN KEY"},
		"a lane of no source":                       {`insert into lanes values ('r3', 99, 'nowhere', '', null, '', '', '')`, "FOREIGN KEY"},
		"a lane of another source's lane":           {`insert into lanes values ('r3', 99, 'totals', 'x', 0, 'split', 'x', 'split')`, "FOREIGN KEY"},
		"a lane that is its own parent":             {`insert into lanes values ('r3', 99, 'orders', 'x', 99, 'split', 'x', 'split')`, "CHECK"},
		"a second root lane":                        {`insert into lanes values ('r3', 99, 'orders', '', null, '', '', '')`, "append-only"},
		"a lane without a fork":                     {`insert into lanes values ('r3', 99, 'orders', 'x', 0, 'split', '', '')`, "CHECK"},
		"a branch without its name":                 {`insert into lanes values ('r3', 99, 'orders', 'x', 0, 'split', '', 'split')`, "CHECK"},
		"a fold of a chunk that did not pass":       {`insert into folds values ('r3', 'totals', 77, 'chunk', 'orders', 77, 1, null, 0, 0, 0, 0, 0, null)`, "did not go through"},
		"a chunk that did not pass feeds a barrier": {`insert into feeds values ('r2', 'strikes', 2, 'strikes')`, "did not go through"},
		"a chunk feeds a source":                    {`insert into feeds values ('r1', 'strikes', 0, 'strikes')`, "not a barrier"},
		"a chunk feeds a step that is no barrier":   {`insert into feeds values ('r3', 'orders', 0, 'price')`, "FOREIGN KEY"},
		"a fold of no barrier":                      {`insert into folds values ('r3', 'price', 0, 'tick', '', -1, 1, null, 0, 0, 0, 0, 0, null)`, "FOREIGN KEY"},
		"a fold that is no word":                    {`insert into folds values ('r3', 'totals', 77, 'guess', '', -1, 1, null, 0, 0, 0, 0, 0, null)`, "CHECK"},
		"a tick with a chunk":                       {`insert into folds values ('r3', 'totals', 77, 'tick', 'orders', 0, 1, null, 0, 0, 0, 0, 0, null)`, "CHECK"},
		"a chunk folded twice":                      {`insert into folds select run_id, node, 77, kind, source, chunk, 1, null, 0, 0, 0, 0, 0, null from folds where run_id = 'r3' and node = 'totals' and fold = 0`, "append-only"},
		"two ends of a barrier":                     {`insert into folds values ('r3', 'totals', 77, 'end', '', -1, 1, null, 0, 0, 0, 0, 0, null)`, "append-only"},
		"a fold of a source":                        {`insert into folds values ('r1', 'strikes', 0, 'tick', '', -1, 1, null, 0, 0, 0, 0, 0, null)`, "not of a barrier"},
		"more open batches than were opened":        {`insert into folds values ('r3', 'totals', 77, 'tick', '', -1, 1, null, 1, 2, 0, 0, 0, null)`, "CHECK"},
		"a batch that ends on another path":         {batchSQL(`0, 'rows', 'default_flow', 1, 1, 1, null`), "CHECK"},
		"a batch that nothing fired":                {batchSQL(`0, '', 'batch_consumed', 1, 1, 1, null`), "CHECK"},
		"a batch fired by no word":                  {batchSQL(`0, 'whim', 'batch_consumed', 1, 1, 1, null`), "CHECK"},
		"a batch that fired before it opened":       {batchSQL(`0, 'rows', 'batch_consumed', 1, 2, 1, null`), "CHECK"},
		"a batch without rows":                      {batchSQL(`0, 'rows', 'batch_consumed', 0, 1, 1, null`), "CHECK"},
		"a batch of a fold that is not there":       {batchSQL(`77, 'rows', 'batch_consumed', 1, 1, 1, null`), "FOREIGN KEY"},
		"a batch that is late for itself":           {batchSQL(`0, 'arrival', 'branch_not_needed', 1, 1, 1, 77`), "CHECK"},
		"a batch that is late for no batch":         {batchSQL(`0, 'arrival', 'branch_not_needed', 1, 1, 1, 78`), "FOREIGN KEY"},
		"a consumed batch that is late":             {batchSQL(`0, 'rows', 'batch_consumed', 1, 1, 1, 1`), "CHECK"},
		"members that do not fill their column":     {`insert into members values ('r3', 'totals', 'orders', 0, 3, 9, 0, 2, zeroblob(4))`, "CHECK"},
		"half a member":                             {`insert into members values ('r3', 'totals', 'orders', 0, 3, 9, 0, 1, zeroblob(6))`, "CHECK"},
		"members of a lane without a passage":       {`insert into members values ('r3', 'totals', 'orders', 77, 3, 0, 0, 1, zeroblob(4))`, "FOREIGN KEY"},
		"members of a fold that is not there":       {`insert into members values ('r3', 'totals', 'orders', 0, 3, 9, 77, 1, zeroblob(4))`, "FOREIGN KEY"},
		"a merge without a kind":                    {mergeSQL(`null, '[]', 0, null`), "not the merge of its batch"},
		"a merge of a kind that is not there":       {mergeSQL(`'0123456789abcdef', '[{},{}]', 0, 9`), "not the merge of its batch"},
		"a merge without arrivals":                  {mergeSQL(`kind, null, 0, 9`), "not the merge of its batch"},
		"a merge with other arrivals":               {mergeSQL(`kind, '[{}]', 0, 9`), "not the merge of its batch"},
		"a merge that waited for less than nothing": {mergeSQL(`kind, arrivals, -1, 9`), "CHECK"},
		"a merge without a row":                     {mergeSQL(`kind, arrivals, 0, null`), "not the merge of its batch"},
		"a merge of a batch that is not there":      {`insert into merges select run_id, node, 77, kind, source, lane, 77, arrivals, 0, 77 from merges limit 1`, "not the merge of its batch"},
		"a merge kind without metadata":             {kindSQL(`null, 'union', null, null, '["a"]', '["a"]', '{}', '[]', 'all', '[]', '{}', 'merged', ''`), "NOT NULL"},
		"a merge kind without what was expected":    {kindSQL(`'first', 'union', null, null, null, '["a"]', '{}', '[]', 'all', '[]', '{}', 'merged', ''`), "NOT NULL"},
		"a merge kind without what fired it":        {kindSQL(`'first', 'union', null, null, '["a"]', '["a"]', '{}', '[]', null, '[]', '{}', 'merged', ''`), "NOT NULL"},
		"a merge kind without origins":              {kindSQL(`'first', 'union', null, null, '["a"]', '["a"]', '{}', '[]', 'all', '[]', null, 'merged', ''`), "NOT NULL"},
		"a merge kind with a list that is none":     {kindSQL(`'first', 'union', null, null, '["a"]', '"a"', '{}', '[]', 'all', '[]', '{}', 'merged', ''`), "CHECK"},
		"a quorum without its number":               {kindSQL(`'quorum', 'union', null, null, '["a"]', '["a"]', '{}', '[]', 'all', '[]', '{}', 'merged', ''`), "CHECK"},
		"a number without a quorum":                 {kindSQL(`'first', 'union', 1, null, '["a"]', '["a"]', '{}', '[]', 'all', '[]', '{}', 'merged', ''`), "CHECK"},
		"nothing made of branches that came":        {kindSQL(`'first', 'union', null, null, '["a"]', '["a"]', '{}', '[]', 'all', '[]', '{}', 'nothing', ''`), "CHECK"},
		"a row made of nothing":                     {kindSQL(`'first', 'union', null, null, '["a"]', '[]', '{}', '[]', 'lost', '[]', '{}', 'merged', ''`), "CHECK"},
		"a refusal without its code":                {kindSQL(`'first', 'union', null, null, '["a"]', '["a"]', '{}', '[]', 'all', '[]', '{}', 'refused', ''`), "CHECK"},
		"a code without a refusal":                  {kindSQL(`'first', 'union', null, null, '["a"]', '["a"]', '{}', '[]', 'all', '[]', '{}', 'merged', 'X'`), "CHECK"},
		"joins of a chunk that did not pass":        {`insert into merge_codes values ('r2', 'strikes', 2, 0, 20, 1, zeroblob(20))`, "did not go through"},
		"joins that do not cover the rows":          {`insert into merge_codes values ('r3', 'orders', 0, 1, 6, 1, zeroblob(5))`, "CHECK"},
		"joins of another number of rows":           {`insert into merge_codes values ('r3', 'orders', 0, 1, 5, 1, zeroblob(5))`, "FOREIGN KEY"},
		"joins of no kind":                          {`insert into chunk_merges values ('r3', 'orders', 0, 3, 99, '0123456789abcdef', 1)`, "FOREIGN KEY"},
		"parents of a chunk that is not there":      {`insert into parents values ('r3', 'totals', 77, 0, 1, zeroblob(4), null)`, "FOREIGN KEY"},
		"parents that do not cover the rows":        {`insert into parents values ('r3', 'totals', 0, 9, 2, zeroblob(4), null)`, "CHECK"},
		"half a parent":                             {`insert into parents values ('r3', 'totals', 0, 9, 1, zeroblob(4), zeroblob(4))`, "CHECK"},
		"a table without its digest":                {`insert into lookup_tables values ('r3', 'decide', 'p', '', 1, 1)`, "CHECK"},
		"a table of no node":                        {`insert into lookup_tables values ('r3', 'nowhere', 'p', lower(hex(zeroblob(32))), 1, 1)`, "FOREIGN KEY"},
		"keys of a chunk that did not pass":         {`insert into key_hashes values ('r2', 'strikes', 2, 'f', zeroblob(80))`, "did not go through"},
		"a source whose rows are its records'":      {`insert into nodes select 'r3', 'x', 99, kind, operation, config, determinism, guarantee, 'record' from nodes where kind = 'source' limit 1`, "CHECK"},
	}
}

// chunkSQL inserts the first chunk of r1 again, with another key and fold.
func chunkSQL(key string, fold any) string {
	return fmt.Sprintf(`insert into chunks select %s, file, first_row, rows, first_line, first_offset, bytes, blank, comments, pack, cursor, last, %v, 1, 1
		from chunks where run_id = 'r1' and chunk = 0`, key, fold)
}

func batchSQL(values string) string {
	return `insert into batches values ('r3', 'totals', 77, ` + values + `)`
}

// mergeSQL inserts a merge of a batch that has none, about another fork parent, with columns of one that is there.
func mergeSQL(columns string) string {
	const batch = `insert into batches values ('r3', 'both', 77, 0, 'first', 'coalesced', 2, 1, 1, null); `
	kind, rest, _ := strings.Cut(columns, ", ")
	return batch + `insert into merges select run_id, node, 77, ` + kind + `, source, lane, 77, ` + rest + ` from merges where run_id = 'r3' and batch = 1`
}

func kindSQL(values string) string {
	return `insert into merge_kinds values ('r3', '0123456789abcdef', 'decide', ` + values + `)`
}
