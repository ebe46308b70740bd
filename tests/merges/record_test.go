package merges_test

import "waymark/tests/inprocess"

// record is the record of many runs.
type record struct{ *inprocess.Record }
