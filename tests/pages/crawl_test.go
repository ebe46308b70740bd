package pages_test

import (
	"database/sql"
	"encoding/json"
	"flag"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"waymark/pipeline"
	"waymark/tests/programs"
	"waymark/tests/sample"
)

var everyRow = flag.Bool("every-row", false, "let TestCrawl follow the links to all rows, and not to one of "+strconv.Itoa(someRows)+"; make nightly does")

// someRows says to which rows TestCrawl follows links: their pages are all alike.
const someRows = 50

// TestCrawl follows every link of a site with runs of all kinds. There is no error, and behind a number are as many rows as it says. One of the runs is
// paused at first, then it writes while its pages are followed, then it is complete.
func TestCrawl(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := buildSite(t)
	s.web.Hold(movingRows / 2)
	s.Waymark(t, "run", "moving.yaml", "--run-id", "moving", "--detach")
	require.Eventually(t, func() bool { return s.passed(t) >= movingRows/2-movingChunk }, patience, 20*time.Millisecond)
	s.Waymark(t, "pause", "moving", "--why", "a test")
	whole := s.crawler(t)
	whole.follow(t, "/")
	require.Greater(t, whole.counted, 150)
	require.Greater(t, whole.queried, 20)
	require.Greater(t, len(whole.said), 15)
	require.True(t, whole.seen["/triggers/default/arriving/drop"])
	for id, status := range s.kinds {
		require.True(t, whole.seen["/runs/"+id], id)
		_, text := whole.get(t, "/runs/"+id)
		require.Contains(t, text, "status "+string(status), id)
	}

	s.Waymark(t, "resume", "moving", "--why", "a test")
	sent := movingRows / 2
	writing := s.crawler(t)
	writing.within = "/runs/moving"
	writing.before = func() {
		sent = min(sent+1, movingRows-1)
		s.web.Hold(sent)
	}
	before := s.passed(t)
	writing.follow(t, "/runs/moving")
	require.Greater(t, s.passed(t), before)
	require.Greater(t, writing.counted, 10)
	_, text := writing.get(t, "/runs/moving")
	require.Contains(t, text, "● running", "it wrote all the time")

	s.web.Release()
	require.Eventually(t, func() bool { return s.statusOf(t, "moving") == pipeline.CompletedWithFailures }, patience, 20*time.Millisecond)
	ended := s.crawler(t)
	ended.within = "/runs/moving"
	ended.follow(t, "/runs/moving")
	require.Greater(t, ended.counted, 30)
}

// passed is how many rows of the run moving went through its steps; 0 if it has not begun.
func (s *site) passed(t *testing.T) int {
	t.Helper()
	out, _ := s.Try(t.Context(), "status", "moving", "--json")
	var moving struct {
		Passed int `json:"rows_passed"`
	}
	_ = json.Unmarshal([]byte(out), &moving) // it has not begun
	return moving.Passed
}

// A crawler follows links, as somebody who may see everything.
type crawler struct {
	*person
	db      *sql.DB
	within  string // it follows links to paths that begin so
	before  func() // is called before each page: what the pages are about goes on; nil if it does not
	seen    map[string]bool
	walked  map[string]walk // lists that do not change, by path
	site    *site
	said    map[string]int // how many commands of a form were executed
	rows    int            // links to rows
	counted int            // numbers whose rows were counted
	queried int            // queries that were asked of the record
}

func (s *site) crawler(t *testing.T) *crawler {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.Folder, ".waymark/landscape.db")+"?mode=ro")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return &crawler{
		person: s.signIn(t, s.Grant(t, "ann", "auditor,operator,deployer,admin")),
		db:     db,
		site:   s,
		said:   map[string]int{},
		seen:   map[string]bool{},
		walked: map[string]walk{},
	}
}

// follow follows the links of a page, and those of the pages behind them.
func (c *crawler) follow(t *testing.T, from string) {
	t.Helper()
	todo := []string{from}
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		if c.seen[path] || !strings.HasPrefix(path, c.within) {
			continue
		}
		c.seen[path] = true
		page := c.page(t, path)
		c.ask(t, page)
		for _, link := range counting(page) {
			if link.to != "" && c.wants(link.to) {
				todo = append(todo, link.to)
			}
			switch {
			case link.counts && strings.Contains(link.to, "/rows?"):
				c.count(t, path, link)
			case link.counts && strings.HasSuffix(link.to, "/errors"):
				c.countRefused(t, path, link)
			}
		}
	}
}

// wants reports whether a link is followed: each, but for those to rows, and to moments of runs.
func (c *crawler) wants(to string) bool {
	if *everyRow || c.seen[to] || !strings.Contains(to, "/explain?token=") && !strings.Contains(to, "/past?at=") {
		return true
	}
	c.rows++
	return c.rows%someRows == 1
}

// page loads a page.
func (c *crawler) page(t *testing.T, path string) *html.Node {
	t.Helper()
	if c.before != nil {
		c.before()
	}
	answer, text := c.get(t, path)
	require.Equal(t, http.StatusOK, answer.StatusCode, "%s: %s", path, text)
	if strings.HasPrefix(answer.Header.Get("Content-Disposition"), "attachment") {
		return &html.Node{}
	}
	return parsed(t, path, text)
}

// ask asks the record what a page says one may ask it.
func (c *crawler) ask(t *testing.T, page *html.Node) {
	t.Helper()
	for node := range page.Descendants() {
		if query := textOf(node); node.Data == "code" && strings.HasPrefix(query, "select ") {
			var rows int
			require.NoError(t, c.db.QueryRowContext(t.Context(), "select count(*) from ("+query+")").Scan(&rows), query)
			c.queried++
		}
		if command := textOf(node); node.Data == "code" && strings.HasPrefix(command, "waymark ") && node.Parent.Data == "dd" && c.before == nil {
			c.execute(t, command)
		}
	}
}

// someSaid is how many commands of a form are executed.
const someSaid = 3

// execute executes the command that says the same as a page, as it stands there.
func (c *crawler) execute(t *testing.T, command string) {
	t.Helper()
	words := strings.Fields(command)
	form := words[1]
	for _, word := range words[2:] {
		if strings.HasPrefix(word, "--") {
			form += " " + word
		}
	}
	if c.said[form]++; c.said[form] > someSaid {
		return
	}
	binary, err := programs.Waymark()
	require.NoError(t, err)
	shell := exec.CommandContext(t.Context(), "sh", "-c", "waymark() { "+binary+` "$@"; }; `+command)
	shell.Dir = c.site.Folder
	out, err := shell.CombinedOutput()
	if err != nil { // 3 and 4 say that rows were refused, or something was changed
		require.Contains(t, []int{3, 4}, shell.ProcessState.ExitCode(), "%s: %s", command, out)
	}
}

// count requires that as many rows are behind a link as it says. Of what goes on there may be more behind it than it said, and no more than it says afterwards.
func (c *crawler) count(t *testing.T, path string, link counted) {
	t.Helper()
	c.counted++
	behind, known := c.walked[link.to]
	if !known {
		behind = c.walk(t, link.to+"&limit=40")
	}
	if c.before == nil {
		c.walked[link.to] = behind
		require.Equal(t, walk{link.number, link.number}, behind, "%s on %s", link.to, path)
		return
	}
	after, said := titleNumber(c.page(t, link.to))
	require.True(t, said, link.to)
	require.LessOrEqual(t, link.number, behind.rows, "%s on %s", link.to, path)
	require.LessOrEqual(t, behind.title, behind.rows, link.to)
	require.LessOrEqual(t, behind.rows, after, "%s on %s", link.to, path)
}

// countRefused requires that the group of refusals to which a link leads, or all of them, are as many as it says.
func (c *crawler) countRefused(t *testing.T, path string, link counted) {
	t.Helper()
	c.counted++
	behind, said := numberIn(c.page(t, link.to), func(node *html.Node) bool {
		return link.fragment == "" && node.Data == "h1" || link.fragment != "" && attribute(node, "id") == link.fragment
	})
	require.True(t, said, "%s#%s on %s", link.to, link.fragment, path)
	require.LessOrEqual(t, link.number, behind, "%s on %s", link.to, path)
	if c.before == nil {
		require.Equal(t, link.number, behind, "%s on %s", link.to, path)
	}
}

// A walk is how many rows there are on all pages of a list, and how many its title promised at first.
type walk struct{ title, rows int }

// walk counts the rows of a list, page by page, and requires that none comes twice.
func (c *crawler) walk(t *testing.T, path string) (w walk) {
	t.Helper()
	rows, row := map[string]bool{}, strings.Join(strings.Split(path, "/")[:3], "/")+"/explain?token=" // lists of two runs lead to the rows of both
	for path != "" {
		page := c.page(t, path)
		if w.title == 0 && len(rows) == 0 {
			number, said := titleNumber(page)
			require.True(t, said, path)
			w.title = number
		}
		path = ""
		for link := range links(page) {
			switch to := link["href"]; {
			case link["rel"] == "next":
				path = to
			case strings.HasPrefix(to, row):
				require.False(t, rows[to], "%s is there twice", to)
				rows[to] = true
			}
		}
	}
	w.rows = len(rows)
	return w
}

// counted is a link, and the number that it says.
type counted struct {
	to, fragment string
	number       int
	counts       bool // it says a number
}

// A number is the last word of a link, or the first.
var (
	lastNumber  = regexp.MustCompile(`(?:^|\s)([\d,]+)$`)
	firstNumber = regexp.MustCompile(`^([\d,]+)(?:\s|$)`)
)

// counting returns the links of a page with their numbers. Of a box in a drawing that is what stands in its second line.
func counting(page *html.Node) (all []counted) {
	for node := range page.Descendants() {
		if node.Type != html.ElementNode || node.Data != "a" {
			continue
		}
		to, fragment, _ := strings.Cut(attribute(node, "href"), "#")
		link := counted{to: to, fragment: fragment}
		words := strings.TrimSpace(textOf(node))
		for child := range node.Descendants() {
			if attribute(child, "class") == "rows" {
				words = strings.TrimSpace(textOf(child))
			}
		}
		for _, pattern := range []*regexp.Regexp{firstNumber, lastNumber} {
			if found := pattern.FindStringSubmatch(words); found != nil {
				link.number, _ = strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
				link.counts = true
			}
		}
		all = append(all, link)
	}
	return all
}

func attribute(node *html.Node, name string) string {
	for _, a := range node.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// titleNumber is the number with which the title of a page begins.
func titleNumber(page *html.Node) (number int, said bool) {
	return numberIn(page, func(node *html.Node) bool { return node.Data == "h1" })
}

// numberIn is the number with which the first part of a page begins that is wanted.
func numberIn(page *html.Node, wanted func(*html.Node) bool) (number int, said bool) {
	for node := range page.Descendants() {
		if !wanted(node) {
			continue
		}
		found := firstNumber.FindStringSubmatch(textOf(node))
		if found == nil {
			return 0, false
		}
		number, _ = strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
		return number, true
	}
	return 0, false
}
