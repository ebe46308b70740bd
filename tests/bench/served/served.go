// Package served starts `waymark serve` for measurements, and tells what it costs.
package served

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"waymark/tests/services"
)

// Server is a process of `waymark serve`.
type Server struct {
	Folder  string // where it works, with its state in .waymark
	URL     string // of its API
	Token   string // of a service that may start every pipeline
	Process int    // its id

	stop func()
}

var listens = regexp.MustCompile(`for=--api address=(\S+)`)

// Start starts a server in a folder, whose pipelines it serves, and waits until it works. Flags come after those that
// a measurement needs. Stop ends it.
func Start(ctx context.Context, binary, folder string, flags ...string) (*Server, error) {
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, binary, append([]string{
		"serve", ".", "--port", "0", "--pages", "off", "--http", "off", "--api", "127.0.0.1:0", "--api-rate", "0",
		"--log-level", "info",
	}, flags...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, log, log
	if err := cmd.Start(); err != nil {
		_ = log.Close()
		return nil, err
	}
	s := &Server{Folder: folder, Process: cmd.Process.Pid, stop: func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		_ = log.Close()
	}}
	for range 600 {
		text, err := os.ReadFile(log.Name())
		if found := listens.FindSubmatch(text); err == nil && found != nil && bytes.Contains(text, []byte("msg=working")) {
			s.URL = "http://" + string(found[1])
			return s, s.grant(ctx, binary)
		}
		time.Sleep(100 * time.Millisecond)
	}
	text, _ := os.ReadFile(log.Name())
	s.Stop()
	return nil, fmt.Errorf("the server does not listen: %s", text)
}

// grant makes an access token. A new state folder has none.
func (s *Server) grant(ctx context.Context, binary string) error {
	grant := exec.CommandContext(ctx, binary, "access", "grant", "bench", "--role", "service", "--why", "a measurement")
	grant.Dir = s.Folder
	token, err := grant.Output()
	if err != nil {
		s.Stop()
		return fmt.Errorf("access grant: %w", err)
	}
	s.Token = strings.TrimSpace(string(token))
	return nil
}

// Stop ends the server, and waits for its end.
func (s *Server) Stop() { s.stop() }

// Run starts a run with a key of the caller's, and waits for its end. It returns the run's id. A run that is not
// complete is an error.
func (s *Server) Run(ctx context.Context, pipeline, key string, params map[string]string) (id string, took time.Duration, err error) {
	began := time.Now()
	run, err := s.start(ctx, pipeline, key, "wait=60", params)
	if err == nil && run.Status != "completed" {
		err = fmt.Errorf("run %s is %s: %s%s", run.Run, run.Status, run.Reason, run.Detail)
	}
	return run.Run, time.Since(began), err
}

// Begin starts a run with a key of the caller's, and returns its id.
func (s *Server) Begin(ctx context.Context, pipeline, key string, params map[string]string) (id string, err error) {
	run, err := s.start(ctx, pipeline, key, "respond-async", params)
	if err == nil && run.Run == "" {
		err = fmt.Errorf("no run began: %s", run.Detail)
	}
	return run.Run, err
}

// Status is how a run is.
func (s *Server) Status(ctx context.Context, id string) (status string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/runs/"+id, nil)
	if err != nil {
		return "", err
	}
	run, err := s.ask(request)
	return run.Status, err
}

// run is what the server answers about a run.
type run struct{ Run, Status, Reason, Detail string }

func (s *Server) start(ctx context.Context, pipeline, key, prefer string, params map[string]string) (answer run, err error) {
	body, err := json.Marshal(map[string]any{"pipeline": pipeline, "params": params})
	if err != nil {
		return run{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/runs", bytes.NewReader(body))
	if err != nil {
		return run{}, err
	}
	for header, value := range map[string]string{
		"Content-Type": "application/json", "Idempotency-Key": key, "Prefer": prefer,
	} {
		request.Header.Set(header, value)
	}
	return s.ask(request)
}

func (s *Server) ask(request *http.Request) (about run, err error) {
	request.Header.Set("Authorization", "Bearer "+s.Token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return run{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	return about, json.NewDecoder(answer.Body).Decode(&about)
}

// CPU is how many seconds the process has kept processors busy.
func (s *Server) CPU() float64 { return services.CPU(s.Process).Seconds() }

var resident = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// Memory is how many bytes of memory the process has.
func (s *Server) Memory() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Process))
	if err != nil {
		return 0
	}
	found := resident.FindSubmatch(text)
	if found == nil {
		return 0
	}
	kilobytes, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		return 0
	}
	return kilobytes << 10
}
