package pipeline_test

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/row"
)

// world is an environment in which every reference of testdata/full.yaml has a value.
func world() pipeline.Environment {
	return pipeline.Environment{
		Params: map[string]string{"rows": "500"},
		Env: func(name string) (string, bool) {
			value, ok := map[string]string{"REGION": "north-west", "EVIL": "x\n- evil: yaml", "EMPTY": "", "SHORT": "abc", "BAD": "\xff"}[name]
			return value, ok
		},
		Secret: func(name string) (string, error) {
			if name == "folder" {
				return "hunter2-hunter2", nil
			}
			return "", errors.New("no secret named " + name)
		},
		FingerprintKey: []byte("key"),
	}
}

func full(t *testing.T) []byte {
	data, err := os.ReadFile("testdata/full.yaml")
	require.NoError(t, err)
	return data
}

func TestLoadFull(t *testing.T) {
	doc, err := pipeline.Load("full.yaml", full(t), world())
	require.NoError(t, err)
	require.Equal(t, row.IntValue(500), doc.Params["rows"])
}
