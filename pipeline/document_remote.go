package pipeline

import "encoding/json"

// S3 says how to reach a bucket. What is left out is as the worker's environment says: AWS_REGION, AWS_ENDPOINT_URL_S3, and the
// credentials, which a document never holds.
type S3 struct {
	Endpoint  string `yaml:"endpoint,omitempty" text:"path"` // address of another service than Amazon's, such as https://minio.example.org; in a private network only if the operator allows it
	Region    string `yaml:"region,omitempty" text:"path"`   // default: that of the worker's environment
	PathStyle bool   `yaml:"path_style,omitempty"`           // the bucket is in the path of addresses and not in the host name, as most other services want it
}

// HTTP says what a request carries.
type HTTP struct {
	Headers Map[string] `yaml:"headers" text:"sent"` // names and values of request headers, such as Authorization: "Bearer ${secret:TOKEN}"
}

// MarshalJSON leaves the values out: they are secrets, and short ones could not be found in texts.
func (h HTTP) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string][]string{"Headers": h.Headers.names()})
}
