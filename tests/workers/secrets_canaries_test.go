package workers_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
)

// word returns a word that is nowhere else.
func word() string { return "kn" + rand.Text()[:10] }

// passwords are those of roles of the database that the documents use: each of another make.
func passwords() map[string]string {
	return map[string]string{
		"plain":   word(),
		"percent": word() + "@/:%?#[]&=+ " + word(),
		"quotes":  word() + `'"\` + word() + `''`,
		"unicode": word() + "-söng日本-" + word(),
		"short":   rand.Text()[:6],
		"long":    strings.Repeat(word(), 5),
		"regexp":  "^.*(" + word() + "|[b-d]{2})+?$" + word(),
		"json":    word() + `","<b>&\u0041{` + word(),
	}
}

// others are the canaries that are no passwords of roles. Those whose names are in upper case are variables of documents.
func others() map[string]string {
	codecKey := make([]byte, 32)
	fingerprintKey := make([]byte, 32)
	_, _ = rand.Read(codecKey) // it never fails
	_, _ = rand.Read(fingerprintKey)
	canaries := map[string]string{
		"codec key": base64.StdEncoding.EncodeToString(codecKey), "codec key, raw": string(codecKey),
		"fingerprint key": hex.EncodeToString(fingerprintKey), "fingerprint key, raw": string(fingerprintKey),
		"api key": word() + "." + word(),
	}
	for _, name := range []string{
		"ENV_TOKEN", "ENV_TEXT", "literal password", "literal token", "literal user", "literal secret key",
		"worker's password", "worker's codec key", "worker's fingerprint key", "worker's S3 key",
	} {
		canaries[name] = word() + word()
	}
	return canaries
}

// secrets are the values of ${secret:NAME}: those in upper case are in variables, the others in files.
func (w *world) makeSecrets() map[string]string {
	at := func(role, password, database string, parameters url.Values) string {
		u := url.URL{Scheme: "postgres", User: url.UserPassword(role, password), Host: w.goods.Address(), Path: "/" + database, RawQuery: parameters.Encode()}
		return u.String()
	}
	plain := url.Values{"sslmode": {"disable"}}
	host, port, _ := strings.Cut(w.goods.Address(), ":")
	escape := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	secrets := map[string]string{
		"dsn_quotes": fmt.Sprintf("host=%s port=%s user=role_quotes password='%s' dbname=%s sslmode=disable",
			host, port, escape.Replace(w.canaries["quotes"]), w.goods.Owner()),
		"token": word() + "+/=" + word(), "TOKEN_TOO": word() + `"\` + word(),
		"option": word() + word(), "header_bad": word() + "\n" + word(),
	}
	w.own(secrets, "token", "TOKEN_TOO", "option", "header_bad")
	for name := range passwords() {
		if name != "quotes" {
			secrets["dsn_"+name] = at("role_"+name, w.canaries[name], w.goods.Owner(), plain)
		}
	}
	wrong := func(name, dsn string) {
		canary := word() + "@:/?%" + word()
		w.canaries["wrong: "+name] = canary
		secrets["dsn_"+name] = strings.ReplaceAll(strings.ReplaceAll(dsn, "ESCAPED", url.QueryEscape(canary)), "RAW", canary)
	}
	base := at("role_plain", "ESCAPED", w.goods.Owner(), plain)
	wrong("password", base)
	wrong("host", strings.Replace(base, w.goods.Address(), "127.0.0.1:1", 1))
	wrong("name", strings.Replace(base, w.goods.Address(), "nowhere.invalid:5432", 1))
	wrong("tls", strings.Replace(base, "disable", "verify-full", 1))
	wrong("port", strings.Replace(base, w.goods.Address(), "127.0.0.1:five", 1))
	wrong("escape", strings.Replace(base, "ESCAPED", "%zzRAW", 1))
	wrong("parameter", base+"&connect_timeout=RAW")
	wrong("unclosed", "host=localhost password='RAW")
	wrong("backslash", `host=localhost port=x password=RAW\`)
	wrong("service", "service=RAW password=RAW")
	wrong("sslkey", base+"&sslmode=verify-full&sslpassword=ESCAPED&sslkey=/nowhere&sslcert=/nowhere")
	wrong("nonsense", "RAW")
	secrets["dsn_database"] = at("role_plain", w.canaries["plain"], "no_such_database", plain)
	return secrets
}

// own makes the secrets with these names canaries.
func (w *world) own(secrets map[string]string, names ...string) {
	for _, name := range names {
		w.canaries["secret "+name] = secrets[name]
	}
}

// What becomes of a run.
const (
	ends  = true
	fails = false // permanently, or again and again
)

// document is a deployed document and what becomes of a run of it.
type document struct {
	name string
	ends bool
	text string
}

const goodSource = "schema: {fields: {id: int, text: string}}"

// documents are those that are deployed. GOODS, WEB and BUCKET are addresses.
func (w *world) documents() []document {
	postgres := func(name, dsn string) document {
		return document{name, fails, "name: " + name + "\nsources: {in: {postgres: {dsn: \"${secret:" + dsn + "}\", table: public.words}, " + goodSource +
			"}}\nsinks: {out: {jsonl: {path: \"s3://BUCKET/out/" + name + "\", parts: true, s3: {path_style: true}}}}\n"}
	}
	web := func(name string, fate bool, path, headers string) document {
		return document{name, fate, "name: " + name + "\ndescription: \"${ENV_TEXT}\"\n" +
			"sources: {in: {csv: {path: \"" + path +
			"\", http: {headers: {" + headers + "}}}, " + goodSource + "}}\nsinks: {out: {jsonl: {path: \"s3://BUCKET/out/" + name +
			"\", parts: true, s3: {path_style: true}}}}\n"}
	}
	option := func(name, text string) document {
		return document{"option-" + name, fails, "name: option-" + name + "\nsources: {in: {csv: {path: \"WEB/rows.csv\"}, " + goodSource + "}}\n" + text + "\n"}
	}
	const out = "\nsinks: {out: {jsonl: {path: \"s3://BUCKET/out/option\", parts: true, s3: {path_style: true}}}}"
	all := []document{
		{"tables", ends, `
name: tables
description: "${ENV_TEXT}"
sources:
  one: {postgres: {dsn: "${secret:dsn_percent}", table: public.words}, ` + goodSource + `}
  two: {postgres: {dsn: "${secret:dsn_quotes}", table: public.words}, ` + goodSource + `}
  three: {postgres: {dsn: "${secret:dsn_unicode}", query: "select id, text from public.words", order_by: [id]}, ` + goodSource + `}
  four: {postgres: {dsn: "${secret:dsn_plain}", query: "select 'x' || id as id, text from public.words", order_by: [id]}, ` + goodSource + `}
steps:
  - {name: sort, gate: "row.id % 3 == 0 ? 'a' : row.id % 3 == 1 ? 'b' : 'c'", routes: {a: long, b: regexp, c: json}}
sinks:
  long: {postgres: {dsn: "${secret:dsn_long}", table: public.checked}}
  regexp: {postgres: {dsn: "${secret:dsn_regexp}", table: public.regexp, create: true}}
  json: {postgres: {dsn: "${secret:dsn_json}", table: public.json, create: true}}
`},
		{"short", ends, `
name: short
sources: {in: {postgres: {dsn: "${secret:dsn_short}", table: public.words}, ` + goodSource + `}}
sinks: {out: {postgres: {dsn: "${secret:dsn_short}", table: public.short, create: true}}}
`},
		{"planted", ends, `
name: PLANTED
params: {p: {type: string, default: none}}
sources: {in: {postgres: {dsn: "${secret:dsn_plain}", table: public.words}, ` + goodSource + `}}
sinks: {out: {jsonl: {path: "s3://BUCKET/out/planted", parts: true, s3: {path_style: true}}}}
`},
		web("web", ends, "WEB/rows.csv", `Authorization: "Bearer ${secret:token}", X-Env: "${ENV_TOKEN}", X-Too: "${secret:TOKEN_TOO}"`),
		web("echo-401", fails, "WEB/echo/401", `Authorization: "Bearer ${secret:token}", X-Env: "${ENV_TOKEN}"`),
		web("echo-404", fails, "WEB/echo/404", `Authorization: "Bearer ${secret:token}"`),
		web("echo-302", fails, "WEB/echo/302", `Authorization: "Bearer ${secret:token}"`),
		web("echo-416", fails, "WEB/echo/416", `Authorization: "Bearer ${secret:token}"`),
		web("echo-500", fails, "WEB/echo/500", `Authorization: "Bearer ${secret:token}", X-Env: "${ENV_TOKEN}"`),
		web("echo-cut", fails, "WEB/echo/cut", `Authorization: "Bearer ${secret:token}"`),
		web("header", fails, "WEB/rows.csv", `Authorization: "${secret:header_bad}"`),
		web("header-name", fails, "WEB/rows.csv", `"${secret:option}": x`),
		web("query", fails, "WEB/rows.csv?token=${secret:token}", `X: y`),
		web("user", fails, "https://${secret:option}:x@example.org/rows.csv", `X: y`),
		web("host", fails, "https://${secret:option}.invalid/rows.csv", `X: y`),
		web("away", fails, "http://127.0.0.1:1/rows.csv", `Authorization: "Bearer ${secret:token}"`),
		{"words", fails, `
name: words
sources: {in: {postgres: {dsn: "${secret:dsn_plain}", query: "select nothing from public.nowhere", order_by: [id]}, ` + goodSource + `}}
sinks: {out: {postgres: {dsn: "${secret:dsn_json}", table: public.out, create: true}}}
`},
		{"target", fails, `
name: target
sources: {in: {postgres: {dsn: "${secret:dsn_plain}", table: public.words}, ` + goodSource + `}}
sinks: {out: {postgres: {dsn: "${secret:dsn_json}", table: public.nowhere}}}
`},
		postgres("database", "dsn_database"), postgres("password", "dsn_password"), postgres("address", "dsn_host"),
		postgres("hostname", "dsn_name"), postgres("tls", "dsn_tls"), postgres("port", "dsn_port"),
		postgres("escape", "dsn_escape"), postgres("parameter", "dsn_parameter"), postgres("unclosed", "dsn_unclosed"),
		postgres("backslash", "dsn_backslash"), postgres("service", "dsn_service"), postgres("sslkey", "dsn_sslkey"),
		postgres("nonsense", "dsn_nonsense"),
		option("delimiter", `sinks: {out: {csv: {path: "s3://BUCKET/x", delimiter: "${secret:option}"}}}`),
		option("table", `sinks: {out: {postgres: {dsn: "${secret:dsn_plain}", table: "${secret:option}"}}}`),
		option("mode", `sinks: {out: {postgres: {dsn: "${secret:dsn_plain}", table: a, mode: "${secret:option}"}}}`),
		option("boolean", `sinks: {out: {postgres: {dsn: "${secret:dsn_plain}", table: a, create: "${secret:option}"}}}`),
		option("key", `"${secret:option}": x`+out),
		option("chunk", `chunk: {rows: "${secret:option}"}`+out),
		option("set", `steps: [{name: s, set: {a: "row.nope + '${secret:option}'"}}]`+out),
		option("route", `steps: [{name: s, gate: row.text, routes: {"${secret:option}": "${secret:option}"}}]`+out),
		option("name", `steps: [{name: "${secret:option}", filter: "true"}]`+out),
		option("bucket", `sinks: {out: {jsonl: {path: "s3://${secret:option}/out", parts: true}}}`),
		option("endpoint", `sinks: {out: {jsonl: {path: "s3://BUCKET/out", parts: true, s3: {endpoint: "http://${secret:option}:80"}}}}`),
		option("missing", `description: "${secret:option} ${secret:not_there} ${NOT_SET_ANYWHERE}"`+out),
		{"literal", fails, "name: literal\nsources: {in: {postgres: {dsn: \"postgres://u:LITERAL PASSWORD@GOODS/x\", table: t}, " + goodSource + "}}" + out + "\n"},
		{"literal-dsn", fails, "name: literal\nsources: {in: {postgres: {dsn: \"host=GOODS password=LITERAL PASSWORD\", table: t}, " + goodSource + "}}" + out + "\n"},
		web("literal-token", fails, "WEB/rows.csv?token=LITERAL TOKEN", `X: y`),
		web("literal-user", fails, "https://LITERAL USER:LITERAL USER@example.org/rows.csv", `X: y`),
	}
	replace := strings.NewReplacer("PLANTED", w.planted, "GOODS", w.goods.Address(), "WEB", w.web.URL, "BUCKET", w.bucket.Name,
		"LITERAL PASSWORD", w.canaries["literal password"], "LITERAL TOKEN", w.canaries["literal token"], "LITERAL USER", w.canaries["literal user"])
	for i := range all {
		all[i].text = replace.Replace(all[i].text)
	}
	return all
}
