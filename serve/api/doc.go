// Package api serves Waymark over HTTP. One table of routes (routes.go) says what there is, who may use it, what a request and its answer consist of, and what
// does it: the mux, the OpenAPI document and the table in docs/api.md are made of it. What routes answer are the structs that `waymark --json` prints.
package api
