package activities_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
)

func TestParamsAreTextsHoweverTheyAreWritten(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       activities.Params
		fault      string
	}{
		{"texts", `{"limit":"2500","name":"a \"b\""}`, activities.Params{"limit": "2500", "name": `a "b"`}, ""},
		{"numbers", `{"limit": 2500 ,"rate":-1.50,"big":12345678901234567890,"far":1e3}`, activities.Params{"limit": "2500", "rate": "-1.50", "big": "12345678901234567890", "far": "1e3"}, ""},
		{"bools", `{"yes":true,"no":false}`, activities.Params{"yes": "true", "no": "false"}, ""},
		{"none", `{}`, nil, ""},
		{"nothing", `null`, nil, ""},
		{"a list among others", `{"a":"1","b":[1],"c":2,"d":{}}`, activities.Params{"a": "1", "c": "2"}, `the value of parameter "b"`},
		{"a list", `{"limit":[1]}`, nil, `the value of parameter "limit" must be a string, a number, true or false`},
		{"an object", `{"limit":{}}`, nil, `the value of parameter "limit"`},
		{"null", `{"limit":null}`, nil, `the value of parameter "limit"`},
		{"no object", `"limit=1"`, nil, "cannot unmarshal string"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p activities.Params
			err := json.Unmarshal([]byte(test.text), &p)
			if test.fault != "" {
				require.ErrorContains(t, err, test.fault)
				if test.want != nil {
					require.Equal(t, test.want, p, "what can be read is kept")
				}
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, p)
		})
	}
}

func TestParamsAreAnObject(t *testing.T) {
	for want, params := range map[string]activities.Params{`{"limit":"2500"}`: {"limit": "2500"}, `{}`: nil} {
		text, err := json.Marshal(params)
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
}
