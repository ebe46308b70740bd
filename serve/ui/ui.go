// Package ui writes the pages that people look at: HTML that works without scripts, with the graph of a run drawn in SVG. It asks nobody anything: what a page
// shows is given to it. Whatever a stranger may have written stands in text or in quoted attributes, and html/template escapes it.
package ui

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"waymark/audit"
	"waymark/audit/compare"
	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/pipeline"
)

//go:embed pages/*.html assets/app.css assets/live.js assets/digest.js assets/bytes.js assets/slide.js
var files embed.FS

// Policy is the Content-Security-Policy of all pages: they are a document, a style sheet, forms, and one script that may ask for the page again.
const Policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types waymark"

// Asset is a file that pages need. What is at its path never changes: the path has its digest.
type Asset struct {
	Path    string
	Type    string // media type
	Content []byte
}

// The assets.
var (
	stylesheet = asset("app.css", "text/css; charset=utf-8")
	script     = asset("live.js", "text/javascript; charset=utf-8")
	digest     = asset("digest.js", "text/javascript; charset=utf-8")
	marking    = asset("bytes.js", "text/javascript; charset=utf-8")
	slide      = asset("slide.js", "text/javascript; charset=utf-8")
)

func asset(name, mediaType string) Asset {
	content, err := files.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	sum := sha256.Sum256(content)
	return Asset{"/assets/" + hex.EncodeToString(sum[:8]) + "/" + name, mediaType, content}
}

// Assets returns the files that pages need.
func Assets() []Asset { return []Asset{stylesheet, script, digest, marking, slide} }

// Page is what one page shows.
type Page struct {
	Title   string
	Who     string // is signed in; empty for nobody
	Nav     []Link // to the main pages that who is signed in may see
	MayFind bool   // who is signed in may look for things
	Crumbs  []Link // where it is; the last is the page itself
	Refresh bool   // it changes by itself: it is shown again and again
	Command string // that says the same
	Path    string // of the API, that says the same
	SQL     string // that says the same, of a landscape in SQLite or Postgres
	Body    any    // one of the types of this package that are named for pages
	Now     string // when it was made; Render fills it
}

// Link is a text that leads to a page.
type Link struct{ Text, To string }

// bodies returns the templates of the bodies. They are parsed when the first page is written: most processes write none.
var bodies = sync.OnceValue(func() map[string]*template.Template {
	frame := template.Must(template.New("frame").Funcs(functions).ParseFS(files, "pages/frame.html", "pages/parts.html"))
	parsed := map[string]*template.Template{}
	for _, name := range []string{"home", "runs", "run", "past", "rows", "journey", "whynot", "errors", "compare", "compared", "evidence", "find", "timeline", "effects", "pipelines", "pipeline", "diff", "schedules", "schedule", "triggers", "trigger", "starts", "health", "access", "problem", "login", "signedin", "payload"} {
		parsed[name] = template.Must(template.Must(frame.Clone()).ParseFS(files, "pages/"+name+".html"))
	}
	return parsed
})

// Render returns a page as HTML.
func Render(p Page) ([]byte, error) {
	name := strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", p.Body), "ui."))
	body, known := bodies()[name]
	if !known {
		return nil, fmt.Errorf("ui: %T is no body of a page", p.Body)
	}
	p.Now = time.Now().UTC().Format(time.DateTime)
	var out bytes.Buffer
	if err := body.ExecuteTemplate(&out, "frame", p); err != nil {
		return nil, fmt.Errorf("ui: page %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// functions are what templates may call.
var functions = template.FuncMap{
	"count": text.Grouped, "typed": typed, "lines": func(raw string) []string { return strings.Split(strings.TrimSpace(raw), "\n") }, "shown": Shown, "mark": mark, "words": Words, "when": when, "seconds": seconds, "share": share, "bytes": size,
	"slotMark": slotMark, "boolOf": func(value *bool) bool { return *value }, "int64Of": func(value *int64) int64 { return *value }, "wide": func(value int) int64 { return int64(value) }, "zoned": zoned, "pipelinePath": PipelinePath, "diffPath": diffPath, "schedulePath": SchedulePath, "triggerPath": TriggerPath, "trouble": trouble, "arrivalMark": arrivalMark,
	"runPath": RunPath, "rowPath": RowPath, "edgePath": EdgePath, "nodePath": NodePath, "sinkPath": SinkPath, "stylesheet": func() string { return stylesheet.Path }, "script": func() string { return script.Path }, "digestScript": func() string { return digest.Path }, "markingScript": func() string { return marking.Path },
	"agree": text.Agree,
	"short": short, "plural": text.Count, "deref": func(value *string) string { return *value }, "indent": func(depth int) string { return strings.Repeat("   ", depth) },
	"fateOf": func(run string, f audit.Fate) any {
		return struct {
			audit.Fate
			Run string
		}{f, run}
	},
	"comparePath": ComparePath, "pastPath": PastPath, "since": since, "instant": instant, "slideScript": func() string { return slide.Path },
	"pairOf": func(c Compare, p compare.Pair) any {
		return struct {
			compare.Pair
			Was, Is string // runs
			MayRead bool
		}{p, c.Was.ID, c.Is.ID, c.MayRead}
	},
	"expressionOf": func(expression string, values []audit.Value) any {
		return struct {
			Expression, Diagram string
			Values              []audit.Value
		}{expression, diagram(expression, values), values}
	},
	"barsOf": func(about string, bars []Bar) any {
		return struct {
			About string
			Bars  []Bar
		}{about, bars}
	},
	"spreadOf": func(s *landscape.Spread) any {
		first, last, count := s.Densest()
		return struct {
			Bars               string
			First, Last, Count int64
		}{text.Bars(s.Counts, count), first, last, count}
	},
	"recordOf": recordOf, "payloadPath": PayloadPath, "excerpt": func(raw string) template.HTML { return shownUpTo(mostExcerpt, raw) }, "between": between, "piece": func(raw string) template.HTML { return shownUpTo(mostPiece, raw) },
	"add":     func(a, b int) int { return a + b },
	"percent": func(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) },
}

// RunPath is the path of the page of a run, or of a page below it.
func RunPath(run string, below ...string) string {
	return "/runs/" + url.PathEscape(run) + strings.Join(append([]string{""}, below...), "/")
}

// RowPath is the path of the page of one row.
func RowPath(run, token string) string {
	return RunPath(run, "explain") + "?token=" + url.QueryEscape(token)
}

// ComparePath is the path of the page that compares a run with an earlier one.
func ComparePath(run, with string) string {
	return RunPath(run, "compare") + "?with=" + url.QueryEscape(with)
}

// EdgePath is the path of the list of rows that took an edge.
func EdgePath(run, edge string) string {
	return RunPath(run, "rows") + "?edge=" + url.QueryEscape(edge)
}

// NodePath is the path of the list of rows that came to a node.
func NodePath(run, node string) string {
	return RunPath(run, "rows") + "?node=" + url.QueryEscape(node)
}

// SinkPath is the path of the list of rows that the target of a sink confirmed and holds.
func SinkPath(run, sink string) string {
	return RunPath(run, "rows") + "?sink=" + url.QueryEscape(sink)
}

// PipelinePath is the path of the page of what word names in an environment: NAME, or NAME@VERSION.
func PipelinePath(environment, word string) string {
	name, version, _ := strings.Cut(word, "@")
	query := url.Values{}
	if version != "" {
		query.Set("version", version)
	}
	if environment != "" && environment != landscape.DefaultEnvironment {
		query.Set("environment", environment)
	}
	path := "/pipelines/" + url.PathEscape(name)
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

// diffPath is the path of the page with the difference of two versions.
func diffPath(environment, name string, from, to int64) string {
	query := url.Values{"from": {strconv.FormatInt(from, 10)}, "to": {strconv.FormatInt(to, 10)}}
	if environment != landscape.DefaultEnvironment {
		query.Set("environment", environment)
	}
	return "/pipelines/" + url.PathEscape(name) + "/diff?" + query.Encode()
}

// SchedulePath is the path of the page of a schedule, or of a page below it. id is ENVIRONMENT/PIPELINE/NAME.
func SchedulePath(id string, below ...string) string { return pathOf("schedules", id, below) }

// slotMark is the sign of a slot, as that of the run that it has.
func slotMark(s client.ScheduledSlot) string {
	switch s.State {
	case client.SlotState(landscape.SlotDone):
		return mark(s.Status)
	case client.SlotState(landscape.SlotRunning):
		return "●"
	case client.SlotState(landscape.SlotFailed):
		return "✗"
	case client.SlotState(landscape.SlotSkipped):
		return "–"
	case client.SlotState(landscape.SlotMissed):
		return "○"
	case client.SlotState(landscape.SlotDue):
		return "…"
	}
	return "·"
}

// zoned is a moment as clocks of a zone show it.
func zoned(at client.Time, zone string) string {
	location, err := time.LoadLocation(zone)
	if !at.Known() || err != nil {
		return when(at)
	}
	return at.Time().In(location).Format("2006-01-02 15:04:05 -07:00")
}

// mark is the sign of a state, which says in a shape what its word says.
func mark(status any) string {
	switch fmt.Sprint(status) {
	case string(pipeline.Running):
		return "●"
	case string(pipeline.Completed), string(landscape.EffectFinalized), string(client.Healthy):
		return "✓"
	case string(pipeline.CompletedWithFailures):
		return "◑"
	case string(pipeline.Blocked):
		return "■"
	case string(pipeline.Failed), string(client.Unhealthy):
		return "✗"
	case string(pipeline.Empty):
		return "○"
	}
	return "▲"
}

// Words writes a name of the record for people.
func Words(name any) string { return text.Spaced(fmt.Sprint(name)) }

func when(at client.Time) string {
	if !at.Known() {
		return "–"
	}
	return at.Time().UTC().Format(time.DateTime)
}

func seconds(s float64) string {
	switch took := time.Duration(s * float64(time.Second)); {
	case s == 0:
		return "–"
	case took < time.Minute:
		return fmt.Sprintf("%.1f s", s)
	default:
		return took.Round(time.Second).String()
	}
}

func share(part, whole int64) string {
	if whole == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

func size(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d B", n)
	case n < unit*unit:
		return fmt.Sprintf("%.1f KiB", float64(n)/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MiB", float64(n)/unit/unit)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/unit/unit/unit)
}

// short is the end of an id or the beginning of a digest: what people compare.
func short(id string) string {
	if len(id) == 36 { // a UUID: its beginning is a time
		return id[:8] + "…" + id[32:]
	}
	return cmp.Or(id[:min(12, len(id))], "–")
}
