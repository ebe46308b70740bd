package sqlitestore_test

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/plugin"
)

// attack is a statement that must be refused, and a part of the refusal.
type attack struct{ sql, want string }

func TestAttacks(t *testing.T) {
	path := attacked(t)
	plain, strict := stranger(t, path, ""), stranger(t, path, foreignKeys)
	attacks := runAttacks()
	maps.Copy(attacks, graphAttacks())
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			db := plain
			if attack.want == "FOREIGN KEY" {
				db = strict
			}
			tx, err := db.Begin()
			require.NoError(t, err)
			defer tx.Rollback() //nolint:errcheck // it may be over
			_, err = tx.Exec(attack.sql)
			if err == nil {
				err = tx.Commit()
			}
			require.ErrorContains(t, err, attack.want)
		})
	}
}

// attestedSQL inserts attestations of r1.
func attestedSQL(key, looked, result string) string {
	return `insert into attestations select run_id, ` + key + `, unit, sample, ` + looked + `, 3, 0, 0, 0, 0, '` + result + `', '', '[]', actor, at_us from attestations where run_id = 'r1'`
}

// runAttacks are attacks on what every run has.
func runAttacks() map[string]attack {
	return map[string]attack{
		"a payload that a run needs may be deleted":    {`insert into deletions select pack, 1, 1, 1 from chunks where run_id = 'r1' and chunk = 0`, "payload in use"},
		"a payload may be deleted twice":               {`insert into deletions select payload, 2, 1, 1 from deletions union all select payload, 3, 1, 1 from deletions`, "deletions"},
		"a payload that may not be deleted is deleted": {`insert into deleted_payloads values ('` + strings.Repeat("e", 64) + `', 1, 1, 1)`, "FOREIGN KEY"},
		"a payload is back that was not deleted":       {`insert into returned_payloads values ('` + strings.Repeat("e", 64) + `', 1, 'r1', 1)`, "FOREIGN KEY"},
		"a run is purged before it is due":             {`insert into purged_runs select 1, run_id, 'derived', epoch, finished_us - 1 from runs where run_id = 'r5'`, "not due"},
		"a run is purged that goes on":                 {`insert into purged_runs select 1, run_id, 'derived', epoch, 1 from runs where run_id = 'r2'`, "has not ended"},
		"an order to purge has another number":         {`insert into purges values (7, 'eve', 'x', '{}', 1)`, "the next number"},
		"a hold has another number":                    {`insert into holds values (7, 'r1', '', null, null, 'eve', 'x', 1)`, "the next number"},
		"a hold of a run that is not there":            {`insert into holds values (2, 'x', '', null, null, 'eve', 'x', 1)`, "its run is recorded"},
		"a hold ends twice":                            {`insert into hold_ends values (1, 'eve', 'x', 1)`, "it is there already"},

		"an event has a position when it is recorded": {`insert into outbox select about || '/', event, kind, subject, seq, run_id, pipeline, environment, body, at_us, 1 from outbox where run_id = 'r1'`, "gets its position later"},
		"an event gets a position that nobody gave":   {`update outbox set position = 1000000 where run_id = 'r1'`, "only its position is set, once"},
		"a position is taken back":                    {`update outbox set position = 0 where position = 2`, "only its position is set, once"},
		"an event is changed":                         {`update outbox set body = '{}' where run_id = 'r1'`, "only its position is set, once"},
		"events are dropped out of order":             {`delete from outbox where position = 2`, "dropped by the head"},
		"an endpoint is changed":                      {`update endpoints set url = 'x'`, "append-only"},
		"an endpoint begins with its removal":         {`insert into endpoints select 'other', 0, 'remove', url, format, ordering, kinds, pipelines, environment, secrets, 1, actor, why, at_us from endpoints`, "comes after the one before it"},
		"deliveries go back":                          {`update endpoint_states set cursor = cursor - 1`, "only how far it is changes"},
		"a delivery was never tried":                  {`update deliveries set attempts = 0, tries = 0 where attempts = 1`, "only what became of it changes"},
		"a delivery is removed before its event":      {`delete from deliveries`, "dropped with its event"},
		"an attempt is removed before its event":      {`delete from delivery_attempts`, "dropped with its event"},
		"an attempt is left out":                      {`insert into delivery_attempts select endpoint, position, 3, at_us, ms, status, error, answer from delivery_attempts`, "comes after the one before it"},
		"an access token gets another secret":         {`update access_tokens set sha256 = replace(sha256, 'a', 'b')`, "append-only"},
		"a revoked access token counts again":         {`insert into access_tokens select token, 2, 'grant', name, sha256, roles, pipelines, expires_us, actor, why, at_us from access_tokens where seq = 1`, "granted, and then revoked"},
		"an access token begins with its end":         {`insert into access_tokens select 'other', 0, 'revoke', name, sha256, roles, pipelines, expires_us, actor, why, at_us from access_tokens where seq = 0`, "granted, and then revoked"},
		"who looked at values is forgotten":           {`delete from disclosures`, "append-only"},
		"dropped events are counted again":            {`update outbox_head set dropped = dropped - 1`, "in order"},

		"an attestation is left out":                 {attestedSQL("2, sink, path", "3", "equal"), "the number is not the next one"},
		"an attestation is of what is not published": {attestedSQL("1, sink, 'elsewhere'", "3", "equal"), "published no such output"},
		"an attestation does not add up":             {attestedSQL("1, sink, path", "4", "equal"), "CHECK"},
		"an attestation has another result":          {attestedSQL("1, sink, path", "3", "fine"), "CHECK"},
		"an attestation is changed":                  {`update attestations set result = 'equal'`, "append-only"},
		"an attestation is removed":                  {`delete from attestations`, "append-only"},

		"a policy that passed is evaluated again": {policySQL("as ever", 1, "failed", ""), "the policy stands"},
		"a policy that was waived fails":          {policySQL("few refused", 2, "failed", ""), "the policy stands"},
		"a result is left out":                    {policySQL("many", 2, "passed", ""), "not the next one"},
		"a result of a later epoch":               {strings.Replace(policySQL("many", 1, "passed", ""), "1, 0, 'passed'", "1, 1, 'passed'", 1), "not the next one"},
		"a policy is waived before it failed":     {strings.Replace(policySQL("many", 0, "waived", "eve"), "r9", "r1", 1), "not the next one"},
		"nobody waives a policy":                  {policySQL("many", 1, "waived", ""), "CHECK"},
		"somebody passes a policy":                {policySQL("many", 1, "passed", "eve"), "CHECK"},
		"a result that is no word":                {policySQL("many", 1, "maybe", ""), "CHECK"},
		"a result of no policy":                   {policySQL("none", 0, "passed", ""), "FOREIGN KEY"},

		"a run's document changes":    {`update runs set document = 'x', status = 'failed', finished_us = 1`, "only status"},
		"a run's start changes":       {`update runs set started_us = 1, status = 'failed', finished_us = 1`, "only status"},
		"a run is born completed":     {bornSQL(map[string]string{"status": "'completed'", "finished_us": "1"}), "begins as running"},
		"a status that is no word":    {`update runs set status = 'done', finished_us = 1`, "CHECK"},
		"an ended run without a time": {`update runs set status = 'failed'`, "CHECK"},
		"a reason without a status":   {`update runs set reason = 'x'`, "illegal change"},

		"a run is born in an epoch":                      {bornSQL(map[string]string{"epoch": "1"}), "in epoch 0"},
		"a run is born final":                            {bornSQL(map[string]string{"final": "1"}), "CHECK"},
		"a run of a run that is not there":               {bornSQL(map[string]string{"parent_run": "'x'", "link": "'fork'"}), "of one that is there"},
		"a run of itself":                                {bornSQL(map[string]string{"parent_run": "'r4'", "link": "'fork'"}), "of one that is there"},
		"a run of another one without a link":            {bornSQL(map[string]string{"parent_run": "'r1'"}), "CHECK"},
		"a link that is no word":                         {bornSQL(map[string]string{"parent_run": "'r1'", "link": "'copy'"}), "CHECK"},
		"a run becomes another one's":                    {`update runs set parent_run = 'r1', link = 'fork', status = 'failed', finished_us = 1 where run_id = 'r2'`, "only status"},
		"an epoch that nobody resumed":                   {`update runs set epoch = 1 where run_id = 'r2'`, "illegal change"},
		"an epoch that jumps":                            {`update runs set epoch = epoch + 2, status = 'running', finished_us = null where run_id = 'r5'`, "illegal change"},
		"an epoch that goes back":                        {`update runs set epoch = epoch - 1, status = 'running', finished_us = null where run_id = 'r5'`, "illegal change"},
		"a stopped run runs in its epoch":                {`update runs set status = 'running', finished_us = null where run_id = 'r5'`, "illegal change"},
		"a run is stopped in another epoch":              {resumedSQL("r2", 1) + `update runs set epoch = 1, status = 'failed', finished_us = 1 where run_id = 'r2'`, "illegal change"},
		"a cancelled run fails":                          {`update runs set status = 'failed' where run_id = 'r5'`, "illegal change"},
		"a failed run is final":                          {`update runs set status = 'failed', finished_us = 1, final = 1 where run_id = 'r2'`, "CHECK"},
		"a final run is final no more":                   {finalSQL + `update runs set final = 0 where run_id = 'r5'`, "illegal change"},
		"a final run is resumed":                         {finalSQL + `update runs set epoch = 3, status = 'running', finished_us = null, final = 0 where run_id = 'r5'`, "illegal change"},
		"a resumption of a final run":                    {finalSQL + resumedSQL("r5", 3), "not the next epoch"},
		"a complete run is cancelled":                    {`update runs set status = 'completed', finished_us = 1 where run_id = 'r2'; update runs set status = 'cancelled', finished_us = 2 where run_id = 'r2'`, "illegal change"},
		"a complete run is resumed":                      {`update runs set status = 'empty', finished_us = 1 where run_id = 'r2'; ` + resumedSQL("r2", 1), "CHECK"},
		"a resumption of an epoch that is far":           {resumedSQL("r2", 2), "not the next epoch"},
		"a resumption of a run that was not so":          {`insert into resumptions values ('r2', 1, 'c', 'failed', '', '', '', '', 1)`, "not the next epoch"},
		"an execution that begins nothing":               {`insert into executions values ('r2', 1, 0, 'c', 'w', '', '', '', '', '', 1)`, "neither begins"},
		"an execution in another one's epoch":            {`insert into executions values ('r5', 3, 0, 'c', 'w', '', '', '', '', '', 1)`, "neither begins"},
		"an execution that continues none":               {`insert into executions values ('r5', 2, 2, 'c', 'w', '', '', '', '', '', 1)`, "neither begins"},
		"an execution without an id":                     {`insert into executions values ('r5', 2, 1, '', 'w', '', '', '', '', '', 1)`, "CHECK"},
		"a version without a bundle":                     {versionSQL("orders", 3, "3"), "a version has a bundle"},
		"a version that leaves one out":                  {versionSQL("others", 2, "1"), "comes after the one before it"},
		"a second version of a bundle":                   {versionSQL("orders", 3, "2"), "it is there already"},
		"a deployment of no version":                     {deploymentSQL("default", 2, "rollback", 3, 2), "of a version that is there"},
		"a deployment that leaves one out":               {deploymentSQL("default", 3, "rollback", 1, 2), "comes after the one before it"},
		"a deployment after another version":             {deploymentSQL("default", 2, "rollback", 1, 1), "comes after the one before it"},
		"a rollback of nothing":                          {deploymentSQL("prod", 0, "rollback", 1, 0), "comes after the one before it"},
		"a deployment that is no word":                   {deploymentSQL("default", 2, "lose", 1, 2), "CHECK"},
		"a schedule of no version":                       {scheduleSQL("default", 1, "set", 7), "of a version that is there"},
		"a schedule that leaves a row out":               {scheduleSQL("default", 2, "pause", 1), "comes after the one before it"},
		"a schedule begins with a pause":                 {scheduleSQL("prod", 0, "pause", 1), "comes after the one before it"},
		"a schedule of another name":                     {`insert into schedules select 'x', 0, environment, pipeline, name, action, spec, 1, 1, 0, null, '', '', 1, origin from schedules`, "CHECK"},
		"a document deletes a schedule":                  {strings.ReplaceAll(scheduleSQL("default", 1, "delete", 1), "command", "document"), "CHECK"},
		"a request for no schedule":                      {`insert into slot_requests values ('q9', 'x', 'run', 'a', 'a', 1, 0, '', '', 1)`, "no such schedule"},
		"a slot that is done at once":                    {slotSQL("default/orders/nightly", "done", "r1", 1), "at first"},
		"a slot that runs at once":                       {slotSQL("default/orders/nightly", "running", "r1", 1), "at first"},
		"a slot of no schedule":                          {slotSQL("default/orders/weekly", "due", "", 0), "at first"},
		"a slot is missed without a reason":              {slotSQL("default/orders/nightly", "missed", "", 0), "CHECK"},
		"a slot covers another time":                     {`update slots set to_us = to_us + 1, changes = changes + 1`, "only what became of a slot"},
		"a slot changes uncounted":                       {`update slots set state = 'done' where slot = '2026-11-01'`, "illegal change"},
		"a slot forgets an attempt":                      {`update slots set changes = changes + 1, attempts = 0, run_id = '', state = 'due' where slot = '2026-11-01'`, "illegal change"},
		"a slot is done without a run":                   {`update slots set changes = changes + 1, state = 'done' where slot = '2026-11-03'`, "illegal change"},
		"a slot is done, and missed":                     {`update slots set changes = changes + 1, state = 'missed', reason = 'x' where slot = '2026-11-02'`, "illegal change"},
		"a slot is done, and due, unasked":               {`update slots set changes = changes + 1, state = 'due' where slot = '2026-11-02'`, "illegal change"},
		"a slot is late for no promise":                  {`update slots set changes = changes + 1, deadline_us = null, late_us = 1`, "only what became of a slot"},
		"an event of a slot that leaves one out":         {`insert into slot_events select schedule, slot, 9, event, state, run_id, attempt, reason, request, at_us from slot_events where seq = 0`, "comes after the one before it"},
		"an event of a slot that is no word":             {`insert into slot_events values ('default/orders/nightly', '2026-11-03', 2, 'lost', 'due', '', 0, '', '', 1)`, "CHECK"},
		"a run of a version that is not there":           {bornSQL(map[string]string{"version": "3", "pipeline": "'orders'"}), "has the document of that version"},
		"a run of a version, another document":           {bornSQL(map[string]string{"version": "1", "pipeline": "'orders'"}), "has the document of that version"},
		"a run of another version":                       {`update runs set version = 1`, "only status"},
		"values that leave some out":                     {`insert into environments values ('prod', 3, '{}', '', '', 1)`, "come after those before them"},
		"values before the first":                        {`insert into environments values ('prod', 0, '{}', '', '', 1)`, "CHECK"},
		"values that are no object":                      {`insert into environments values ('prod', 2, '{', '', '', 1)`, "CHECK"},
		"a run with values that never were":              {bornSQL(map[string]string{"environment": "'prod'", "environment_seq": "2"}), "values that its environment had"},
		"a run of another environment":                   {`update runs set environment = 'prod'`, "only status"},
		"a run with other values":                        {`update runs set environment_seq = 1`, "only status"},
		"a start of another environment":                 {`update starts set environment = 'prod'`, "only slot, state"},
		"a start that begins at once":                    {startSQL("r8", 0, "begun", 1), "is open or has failed"},
		"a start beside one that is open":                {startSQL("r7", 1, "accepted", 0), "comes after one that is decided"},
		"a start that leaves one out":                    {startSQL("r8", 1, "accepted", 0), "comes after one that is decided"},
		"a start begins no run":                          {`update starts set state = 'begun', decided_us = 1 where run_id = 'r7'`, "illegal change"},
		"a refused start begins":                         {`update starts set state = 'begun', refusal = '', reason = '' where run_id = 'r6' and seq = 0`, "illegal change"},
		"a refused start has another reason":             {`update starts set reason = 'x' where run_id = 'r6' and seq = 0`, "illegal change"},
		"a start is somebody else's":                     {`update starts set actor = 'x', state = 'refused', refusal = 'x', decided_us = 1 where run_id = 'r7'`, "only slot, state"},
		"a start is refused without a type":              {`update starts set state = 'refused', decided_us = 1 where run_id = 'r7'`, "CHECK"},
		"a start is decided at no time":                  {`update starts set state = 'cancelled' where run_id = 'r7'`, "CHECK"},
		"a start whose state is no word":                 {`update starts set state = 'lost', decided_us = 1 where run_id = 'r7'`, "CHECK"},
		"a start whose terms are no JSON":                {`update starts set terms = 'x' where run_id = 'r7'`, "CHECK"},
		"a gate that begins later":                       {`insert into gates values ('pool:x', 1)`, "not the beginning"},
		"a gate that skips a turn":                       {`update gates set turn = turn + 2`, "comes after the one before it"},
		"a gate that turns back":                         {`update gates set turn = turn - 1`, "comes after the one before it"},
		"an entry that leaves one out":                   {`insert into log values (3, 'a', 'x', zeroblob(32))`, "comes after the last one"},
		"a second entry about a run":                     {`insert into log values (2, 'key/k', 'x', zeroblob(32))`, "comes after the last one, once"},
		"a second genesis":                               {`insert into log select 2, 'genesis ', 'x', zeroblob(31)`, "CHECK"},
		"an entry without a hash":                        {`insert into log values (2, 'a', 'x', x'00')`, "CHECK"},
		"an entry that is too long":                      {`insert into log values (2, 'a', hex(zeroblob(700)), zeroblob(32))`, "CHECK"},
		"a head counts what is not there":                {`update log_head set size = 3`, "counts the entries"},
		"a head counts less":                             {`update log_head set size = 1`, "counts the entries"},
		"a signed head of more than there is":            {`insert into log_heads values (3, zeroblob(32), 'x', 1)`, "fewer entries"},
		"an anchor of a head that nobody signed":         {`insert into log_anchors values ('x', 1, 1, '')`, "no such head"},
		"a limit that leaves one out":                    {`insert into limits values ('pool:db', 2, 1, '', '', 1)`, "comes after the one before it"},
		"a limit of no pool":                             {`insert into limits values ('pipeline:orders', 0, 1, '', '', 1)`, "CHECK"},
		"salts of half a key":                            {`insert into salts values ('x', '', -1, x'00')`, "CHECK"},
		"salts of a chunk without a source":              {`insert into salts values ('x', 'strikes', -1, zeroblob(16))`, "CHECK"},
		"salts of a chunk of which nothing is forgotten": {`insert into salts values ('r2', 'strikes', 0, zeroblob(16))`, "no row of the run is forgotten"},
		"salts of a run that is not there":               {`insert into salts values ('x', '', -1, zeroblob(16))`, "FOREIGN KEY"},
		"a seal of a chunk that is not there":            {`insert into chunk_seals values ('r2', 'strikes', 9, zeroblob(32))`, "FOREIGN KEY"},
		"a seal of a chunk that is too short":            {`insert into chunk_seals values ('r2', 'strikes', 0, x'00')`, "CHECK"},
		"a seal of a run that goes on":                   {`insert into run_seals values ('r2', 0, 0, zeroblob(32), 1, 0, '{}', zeroblob(4), 1)`, "has not ended"},
		"a seal of another epoch":                        {`insert into run_seals values ('r5', (select count(*) from run_seals where run_id = 'r5'), 1, zeroblob(32), 1, 0, '{}', zeroblob(4), 1)`, "has not ended"},
		"a seal without a mark for each leaf":            {`insert into run_seals select run_id, seq + 1, epoch, root, leaves + 1, 0, '{}', marks, 1 from run_seals s where run_id = 'r5' and seq = (select max(seq) from run_seals where run_id = 'r5')`, "CHECK"},
		"a sign-off of a run that goes on":               {signOffSQL("'r2', 0, 0"), "not of the last seal"},
		"a sign-off that leaves one out":                 {signOffSQL("'r5', 2, (select max(seq) from run_seals where run_id = 'r5')"), "not the next one"},
		"a sign-off of a seal that is not there":         {signOffSQL("'r5', 1, 9"), "not of the last seal"},
		"a rule that leaves one out":                     {`insert into approval_rules values ('waive', 5, 2, 'ann', 'x', 1)`, "not the next one"},
		"an order about a run that is not there":         {`insert into approval_requests select 'rx', 'a' || substr(request_sha256, 2), verb, person, statement, signature, approver, expires_us, at_us from approval_requests`, "its run is not recorded"},
		"an order that has two runs":                     {`insert into approval_requests select 'r1', request_sha256, verb, person, statement, signature, approver, expires_us, at_us from approval_requests`, "it is there already"},
		"an approval of who proposed the order":          {approvalSQL("review", "ann"), "of who proposed the order"},
		"an approval of what was executed":               {approvalSQL("approval", "eve"), "an approval of what was executed"},
		"an execution that nobody proposed":              {`insert into approved_executions values ('r5', 'x', 1, 0, '', null, 'ann', 1)`, "FOREIGN KEY"},
		"a limit below nothing":                          {`insert into limits values ('pool:db', 1, -1, '', '', 1)`, "CHECK"},
		"a resumption that nobody claims":                {`insert into resumptions values ('r2', 1, '', 'running', '', '', '', '', 1)`, "CHECK"},
		"a retry of a record that is in a sink":          {`insert into retried values ('r1', 'strikes', 10, 'r5')`, "not a quarantined record"},
		"a retry of a record of another run":             {`insert into retried values ('r2', 'strikes', 15, 'r5')`, "not a quarantined record"},
		"a retry by a run that is no retry":              {`insert into retried values ('r1', 'strikes', 15, 'r2')`, "not a quarantined record"},
		"a retry of a record that is fed":                {`insert into retried values ('r1', 'strikes', 5, 'r5')`, "append-only"},
		"a blocked write that nobody resolved":           {blockedSQL + `update effects set state = 'finalized', receipt = '{}' ` + reviewSQL, "illegal change"},
		"a blocked write is tried again":                 {blockedSQL + `update effects set state = 'in_flight', fence = 2 ` + reviewSQL, "illegal change"},
		"not applied, and finalized":                     {blockedSQL + resolvedSQL("not_applied") + `update effects set state = 'finalized', receipt = '{}' ` + reviewSQL, "illegal change"},
		"applied, and in flight":                         {blockedSQL + resolvedSQL("applied") + `update effects set state = 'in_flight' ` + reviewSQL, "illegal change"},
		"resolved by no word":                            {blockedSQL + resolvedSQL("perhaps"), "CHECK"},

		"a write is finalized before it began":                      {`update effects set state = 'finalized', receipt = '{}', fence = 1 where run_id = 'r2' and kind = 'write'`, "illegal change"},
		"a write begins without a place":                            {`update effects set state = 'in_flight', fence = 1 where run_id = 'r2' and kind = 'write'`, "CHECK"},
		"a fence that jumps":                                        {`update effects set state = 'in_flight', fence = 2, ordinal = 0, byte_offset = 0 where run_id = 'r2' and kind = 'write'`, "illegal change"},
		"a finalized write begins again":                            {`update effects set state = 'in_flight', fence = fence + 1, receipt = null where run_id = 'r1' and kind = 'write'`, "illegal change"},
		"a finalized write gets another receipt":                    {`update effects set receipt = '{"x":1}' where run_id = 'r1'`, "illegal change"},
		"a finalized write moves":                                   {`update effects set ordinal = ordinal + 10 where run_id = 'r1' and kind = 'write'`, "illegal change"},
		"a publication is finalized from reserved":                  {`update effects set state = 'finalized', receipt = '{}', fence = 1 where run_id = 'r2' and kind = 'publish'`, "illegal change"},
		"a write is finalized with rows refused that have no error": {flightSQL + `update effects set state = 'finalized', receipt = '{}', refused = 1 ` + reviewSQL, "than errors say"},
		"fewer rows are refused than have errors":                   {flightSQL + lateSQL(10, "__quarantine__") + lateSQL(20, "__quarantine__") + `update effects set state = 'finalized', receipt = '{}', refused = 1 ` + reviewSQL, "than errors say"},
		"more rows are refused than the write has":                  {flightSQL + lateSQL(10, "__quarantine__") + `update effects set state = 'finalized', receipt = '{}', refused = 100 ` + reviewSQL, "effects"},
		"fewer than no rows are refused":                            {flightSQL + `update effects set state = 'finalized', receipt = '{}', refused = -1 ` + reviewSQL, "effects"},
		"rows are refused before the write ends":                    {flightSQL + lateSQL(10, "__quarantine__") + `update effects set refused = 1 ` + reviewSQL, "effects"},
		"rows are refused while it begins":                          {`update effects set state = 'in_flight', fence = 1, ordinal = 7, byte_offset = 7, refused = 1 ` + reviewSQL, "effects"},
		"what was refused changes":                                  {flightSQL + lateSQL(10, "__quarantine__") + `update effects set state = 'finalized', receipt = '{}', refused = 1 ` + reviewSQL + `; update effects set refused = 0 ` + reviewSQL, "effects"},
		"rows are refused of a write that ended":                    {`update effects set refused = 1 where run_id = 'r1' and kind = 'write'`, "effects"},
		"a publication refuses rows":                                {`update effects set refused = 1 where run_id = 'r1' and kind = 'publish'`, "effects"},
		"a write is born with refused rows":                         {`insert into effects values ('r2', 'all', 'strikes', 9, 'write', lower(hex(zeroblob(32))), 1, 1, 'prepared', 0, null, null, null, 1, 1, '')`, "effects"},
		"an error at a sink that confirmed the row":                 {lateSQLOf("r1", 10, "__quarantine__"), "did not refuse it"},
		"an error at a sink of which nothing was written":           {lateSQL(10, "__quarantine__"), "did not refuse it"},
		"an error at a sink that was sent elsewhere":                {flightSQL + lateSQL(10, "rejects"), "did not refuse it"},

		"a write's hash changes":                   {`update effects set sha256 = lower(hex(zeroblob(32))), state = 'in_flight', fence = 1, ordinal = 0, byte_offset = 0 where run_id = 'r2' and kind = 'write' and chunk = 0`, "never changes"},
		"a part's fields change":                   {`update effects set beyond = '{"fields":[]}', state = 'in_flight', fence = 1, ordinal = 0, byte_offset = 0 where run_id = 'r2' and kind = 'write' and chunk = 0`, "never changes"},
		"a write is born finalized":                {effectSQL(`'r2', 'review', 'strikes', 0, 'write', lower(hex(zeroblob(32))), 1, 1, 'finalized', 1, 9, 9, '{}', 1`), "not the beginning"},
		"a write of a chunk that did not pass":     {effectSQL(`'r2', 'review', 'strikes', 2, 'write', lower(hex(zeroblob(32))), 1, 1, 'prepared', 0, null, null, null, 1`), "not the beginning"},
		"a write to a step":                        {effectSQL(`'r2', 'score', 'strikes', 0, 'write', lower(hex(zeroblob(32))), 1, 1, 'prepared', 0, null, null, null, 1`), "not the beginning"},
		"a write without rows":                     {effectSQL(`'r2', 'all', 'strikes', 9, 'write', lower(hex(zeroblob(32))), 0, 1, 'prepared', 0, null, null, null, 1`), "not the beginning"},
		"an event of an effect that is not there":  {`insert into effect_events values ('r2', 'review', 'strikes', 77, 1, 'began', '', 1, '')`, "FOREIGN KEY"},
		"an event that is no word":                 {`insert into effect_events values ('r1', 'review', 'strikes', 0, 1, 'guessed', '', 1, '')`, "CHECK"},
		"two parts of a sink in one place":         {`update effects set state = 'in_flight', fence = 1, ordinal = 0, byte_offset = 0 where run_id = 'r2' and kind = 'write' and sink = 'review'`, "one place"},
		"a chunk without a payload":                {`insert into chunks select run_id, source, 7, file, first_row, rows, first_line, first_offset, bytes, blank, comments, null, cursor, last, fold, attempt, read_us from chunks limit 1`, "NOT NULL"},
		"a chunk with an empty payload":            {`insert into chunks select run_id, source, 7, file, first_row, rows, first_line, first_offset, bytes, blank, comments, '', cursor, last, fold, attempt, read_us from chunks limit 1`, "CHECK"},
		"a passage of another run's chunk":         {`insert into passages values ('r4', 'strikes', 0, 0, 0, 1, x'', 1, 1, 1, '')`, "FOREIGN KEY"},
		"a passage with other rows than its chunk": {`insert into passages values ('r2', 'strikes', 2, 0, 3, 1, x'000000', 1, 1, 1, '')`, "FOREIGN KEY"},
		"codes that do not cover the rows":         {`insert into passages values ('r2', 'strikes', 2, 0, 20, 1, x'00', 1, 1, 1, '')`, "CHECK"},
		"hashes of a chunk that did not pass":      {`insert into hashes values ('r2', 'strikes', 2, 0, 'score', 0, 1, null, zeroblob(32))`, "FOREIGN KEY"},
		"hashes at a node of no run":               {`insert into hashes values ('r2', 'strikes', 0, 0, 'nowhere', 0, 1, null, zeroblob(32))`, "FOREIGN KEY"},
		"half a hash":                              {`insert into hashes values ('r2', 'strikes', 0, 0, 'keep', 0, 1, null, zeroblob(48))`, "CHECK"},
		"an error in another run's chunk":          {`insert into errors select 'r2', source, 999, lane, node, 2, code, field, message, error_hash, raw, raw_is_text, raw_bytes, line, byte_offset, sent_to, at_us from errors where run_id = 'r1' limit 1`, "FOREIGN KEY"},
		"an artifact of a sink that is not there":  {`insert into artifacts values ('r2', 'x', 'p', 1, 1, lower(hex(zeroblob(32))), 1, '', '', '')`, "FOREIGN KEY"},
		"a way that another run took":              {`insert into chunk_ways select 'r2', source, 0, lane, 200, way || '', rows from chunk_ways where run_id = 'r1' and chunk = 9 union select 'r2', 'strikes', 0, 0, 200, '0123456789abcdef', 1`, "FOREIGN KEY"},
		"a way that no row took":                   {`insert into chunk_ways select run_id, source, 99, lane, 200, way, 0 from chunk_ways limit 1`, "CHECK"},
		"text where a number belongs":              {`insert into actions values ('r1', 'nine', 'v', '', '', 1)`, "cannot store"},
		"2^63 is no number":                        {`insert into actions values ('r1', 9223372036854775808, 'v', '', '', 1)`, "cannot store"},
		"a node that looks like a reserved word":   {`insert into nodes select run_id, '__quarantine__', 99, kind, operation, config, determinism, guarantee, hashes from nodes where kind = 'step' limit 1`, "CHECK"},
	}
}

func effectSQL(values string) string { return `insert into effects values (` + values + `, 0, '')` }

// TestLegalOutcomes tries every outcome with every path and kind of sink: exactly the legal ones are taken.
func TestLegalOutcomes(t *testing.T) {
	db := stranger(t, attacked(t), foreignKeys)
	legal := 0
	for _, outcome := range []pipeline.Outcome{pipeline.Success, pipeline.Failure, pipeline.Transient, ""} {
		for _, path := range []pipeline.Path{
			pipeline.DefaultFlow, pipeline.GateRouted, pipeline.GateDiscarded, pipeline.FilterDropped, pipeline.OnErrorRouted,
			pipeline.QuarantinedAtSource, pipeline.Unrouted, pipeline.SinkDiscarded, pipeline.Coalesced, pipeline.ForkParent,
			pipeline.ExpandParent, pipeline.BatchConsumed, pipeline.BranchNotNeeded, pipeline.Buffered, "",
		} {
			for _, sink := range []string{"", "review", pipeline.QuarantineSink, pipeline.DiscardSink, "__other__"} {
				tx, err := db.Begin()
				require.NoError(t, err)
				_, err = tx.Exec(`insert into ways values ('r1', '0000000000000000', 's', ?, ?, 'score', ?, 0, 0)`, string(outcome), string(path), sink)
				require.NoError(t, tx.Rollback())
				if err == nil {
					legal++
					require.Equal(t, path.Outcome(), outcome, "%s %s", outcome, path)
				}
			}
		}
	}
	require.Equal(t, 2+2+3*2+1+1+2+1, legal, "what ends in a batch has no way that says so")
}

// TestGuarantees holds that every stored word of the packages above is taken.
func TestGuarantees(t *testing.T) {
	store, _ := create(t)
	defer store.Close()
	log := landscape.New(store, nil)
	run, graph := landscapetest.Scene{Run: "words"}.Graph()
	add := func(n landscape.Node) {
		n.Seq = int64(len(graph.Nodes))
		n.Node = "extra" + string(rune('a'+len(graph.Nodes)))
		graph.Nodes = append(graph.Nodes, n)
	}
	for _, g := range []plugin.Guarantee{plugin.Transactional, plugin.Idempotent, plugin.Reconcilable, plugin.AtLeastOnce} {
		n := graph.Nodes[5]
		n.Guarantee = g
		add(n)
	}
	for _, d := range []pipeline.Determinism{
		pipeline.Deterministic, pipeline.Seeded, pipeline.ReadsIO, pipeline.WritesIO, pipeline.ExternalCall, pipeline.NonDeterministic,
	} {
		n := graph.Nodes[1]
		n.Determinism = d
		add(n)
	}
	for _, h := range []landscape.HashMode{landscape.OwnHashes, landscape.InputHashes, landscape.RecordHashes} {
		n := graph.Nodes[1]
		n.Hashes = h
		add(n)
	}
	require.NoError(t, log.BeginRun(t.Context(), run, graph))
}

// finalSQL cancels r5, which is in epoch 2, permanently.
const finalSQL = `update runs set final = 1 where run_id = 'r5'; `

// reviewSQL is a write of r2 that no attempt was made at; blockedSQL blocks it.
const (
	reviewSQL  = `where run_id = 'r2' and sink = 'review' and source = 'strikes' and chunk = 0`
	blockedSQL = `update effects set state = 'in_flight', fence = 1, ordinal = 7, byte_offset = 7 ` + reviewSQL + `; update effects set state = 'blocked' ` + reviewSQL + `; `
)

// flightSQL begins the write of r2 to review.
const flightSQL = `update effects set state = 'in_flight', fence = 1, ordinal = 7, byte_offset = 7 ` + reviewSQL + `; `

// lateSQL says that the target of review refused a row of the first chunk of r2.
func lateSQL(row int, sentTo string) string { return lateSQLOf("r2", row, sentTo) }

func lateSQLOf(run string, row int, sentTo string) string {
	return fmt.Sprintf(`insert into errors values ('%s', 'strikes', %d, 0, 'review', 0, 'SINK_UNIQUE', '', '', '%s', x'', 1, 0, 1, 0, '%s', 1); `,
		run, row, strings.Repeat("0", 64), sentTo)
}

// resolvedSQL says something of the write that is blocked.
func resolvedSQL(word string) string {
	return `insert into effect_events values ('r2', 'review', 'strikes', 0, 1, 'resolved', 'ann', 1, '` + word + `'); `
}

// resumedSQL takes a run up that is what its record says.
func resumedSQL(run string, epoch int) string {
	return fmt.Sprintf(`insert into resumptions select run_id, %d, 'c', status, '', '', '', '', 1 from runs where run_id = '%s'; `, epoch, run)
}

// bornSQL begins a run like the first one, but for these columns.
func bornSQL(other map[string]string) string {
	names := []string{
		"epoch", "pipeline", "status", "final", "started_us", "finished_us", "reason", "link", "parent_run", "code", "actor", "trigger", "host",
		"base_dir", "document_file", "document_sha256", "plan_sha256", "document", "plan", "params", "refs", "version",
		"environment", "environment_seq",
	}
	columns := []string{"'r4'"}
	for _, name := range names {
		columns = append(columns, cmp.Or(other[name], name))
	}
	return `insert into runs (run_id, ` + strings.Join(names, ", ") + `) select ` + strings.Join(columns, ", ") + ` from runs order by run_id limit 1`
}

// TestLegalStatuses tries every change of a run's status, in its epoch and in the next one: exactly the legal ones are taken.
func TestLegalStatuses(t *testing.T) {
	db := stranger(t, attacked(t), foreignKeys)
	statuses := []pipeline.RunStatus{
		pipeline.Running, pipeline.Completed, pipeline.CompletedWithFailures, pipeline.Empty, pipeline.Failed, pipeline.Interrupted,
		pipeline.Blocked, pipeline.Cancelled,
	}
	ended := func(s pipeline.RunStatus) any {
		if s == pipeline.Running {
			return nil
		}
		return 1
	}
	legal := map[string]bool{}
	for _, from := range statuses {
		for _, to := range statuses {
			for epoch := range 2 {
				tx, err := db.Begin()
				require.NoError(t, err)
				if from != pipeline.Running {
					_, err = tx.Exec(`update runs set status = ?, finished_us = 1 where run_id = 'r2'`, string(from))
					require.NoError(t, err)
				}
				if epoch == 1 {
					if _, err = tx.Exec(resumedSQL("r2", 1)); err != nil {
						require.ErrorContains(t, err, "CHECK", "of a run that is complete")
					}
				}
				_, err = tx.Exec(`update runs set status = ?, epoch = ?, finished_us = ? where run_id = 'r2'`, string(to), epoch, ended(to))
				require.NoError(t, tx.Rollback())
				if err == nil {
					legal[fmt.Sprintf("%s %s %d", from, to, epoch)] = true
				}
			}
		}
	}
	want := map[string]bool{}
	for _, status := range statuses[1:] {
		want["running "+string(status)+" 0"] = true
	}
	for _, status := range []string{"failed", "interrupted", "blocked"} {
		want[status+" cancelled 0"] = true
	}
	for _, status := range []string{"running", "failed", "interrupted", "blocked", "cancelled"} {
		want[status+" running 1"] = true
	}
	require.Equal(t, want, legal)
}

// startSQL records a start.
func startSQL(run string, seq int, state string, decided int) string {
	return fmt.Sprintf(`insert into starts values (
		'%s', %d, '', '{}', '', '', '', '', '', '', '', 1, '%s', '', '', nullif(%d, 0), '', '', '', '')`, run, seq, state, decided)
}

// versionSQL records a version of a pipeline with the bundle of this digit.
func versionSQL(pipeline string, version int, digit string) string {
	return fmt.Sprintf(`insert into pipeline_versions values ('%s', %d, '%s', '', '', '', '', '', '', 0, 1)`, pipeline, version, strings.Repeat(digit, 64))
}

// deploymentSQL makes a version current.
func deploymentSQL(environment string, seq int, action string, version, before int) string {
	return fmt.Sprintf(`insert into deployments values ('%s', 'orders', %d, '%s', %d, %d, '', '', 1)`, environment, seq, action, version, before)
}

// scheduleSQL changes a schedule of the pipeline orders.
func scheduleSQL(environment string, seq int, action string, version int) string {
	return fmt.Sprintf(`insert into schedules values ('%[1]s/orders/nightly', %[2]d, '%[1]s', 'orders', 'nightly', '%[3]s', '{}', %[4]d, 1, 0, null, '', '', 1, 'command')`,
		environment, seq, action, version)
}

// slotSQL records a slot.
func slotSQL(schedule, state, run string, attempts int) string {
	return fmt.Sprintf(`insert into slots values ('%s', '2026-11-09', 0, 1, 1, null, 1, 0, '%s', '%s', %d, 0, '', '', 1, null, 1)`, schedule, state, run, attempts)
}

// policySQL inserts a result of a policy of r9.
func policySQL(policy string, attempt int, result, actor string) string {
	return fmt.Sprintf(`insert into policy_results values ('r9', '%s', %d, 0, '%s', 'x', '{}', '%s', 1)`, policy, attempt, result, actor)
}

// signOffSQL records that somebody signed off a run; of is its id, the number of the sign-off, and that of the seal.
func signOffSQL(of string) string {
	return fmt.Sprintf(`insert into sign_offs values (%s, 'ann', 'owner', '{}', 's', 'k', 1)`, of)
}

// approvalSQL signs the order once more.
func approvalSQL(kind, person string) string {
	return fmt.Sprintf(`insert into approvals select run_id, request_sha256, 1, '%s', '%s', '{}', 's', 'k', 1 from approval_requests`, kind, person)
}
