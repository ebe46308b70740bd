package crash

import (
	"flag"
	"os"
	"testing"
)

// beside is how many of the tests that kill servers go on at a time: they wait for timeouts, and need no processor meanwhile.
const beside = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", beside); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
