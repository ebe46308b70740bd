package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"waymark/audit"
	"waymark/audit/evidence/bundle"
	"waymark/client"
	"waymark/client/local"
	"waymark/client/remote"
	"waymark/internal/defect"
	"waymark/landscape"
	"waymark/serve/ui"
)

// mostVerifications is how many verifications a server keeps, with those that wait. Of more, the oldest results are
// forgotten; while all wait, no other one begins, and who asks may do so again after as many seconds.
const (
	mostVerifications = 100
	verificationWait  = 30
)

// verifications are those of a Server, which does one at a time, and keeps its result until it ends.
type verifications struct {
	mu    sync.Mutex
	of    map[string]*remote.Verification // by run
	order []string                        // runs, the oldest verification first
	turn  chan struct{}                   // is had by the one that is done
}

// get returns what is known of the verification of a run; nil if there is none.
func (v *verifications) get(run string) *remote.Verification {
	v.mu.Lock()
	defer v.mu.Unlock()
	known := v.of[run]
	if known == nil {
		return nil
	}
	now := *known
	return &now
}

// begin notes a verification, unless the last one of the run is not done yet. It is full if as many wait as are kept.
func (v *verifications) begin(run, by string) (begun, full bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	last, known := v.of[run]
	if known && !last.Ended() {
		return false, false
	}
	if v.of == nil {
		v.of, v.turn = map[string]*remote.Verification{}, make(chan struct{}, 1)
	}
	if !known && len(v.order) >= mostVerifications {
		oldest := slices.IndexFunc(v.order, func(run string) bool { return v.of[run].Ended() })
		if oldest < 0 {
			return false, true
		}
		delete(v.of, v.order[oldest])
		v.order = slices.Delete(v.order, oldest, oldest+1)
	}
	if !known {
		v.order = append(v.order, run)
	}
	v.of[run] = &remote.Verification{
		Run: run, State: remote.Waiting, Actor: by, Asked: client.Time(landscape.MicrosOf(time.Now())),
	}
	return true, false
}

// change changes what is known of the verification of a run.
func (v *verifications) change(run string, change func(*remote.Verification)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known := v.of[run]; known != nil {
		change(known)
	}
}

// verify does a verification in its turn.
func (s *Server) verify(run string) {
	v := &s.verifications
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go defect.Guard("verification", func() {
		select {
		case <-s.drained:
			stop()
		case <-ctx.Done():
		}
	})()
	select {
	case v.turn <- struct{}{}:
		defer func() { <-v.turn }()
	case <-ctx.Done():
		return
	}
	v.change(run, func(now *remote.Verification) { now.State = remote.Verifying })
	var report *audit.Report
	err := defect.Catch("verification", func() (err error) {
		report, err = s.Home.Verify(ctx, run, audit.VerifyOptions{Progress: func(done, total int64) {
			v.change(run, func(now *remote.Verification) { now.Done, now.Total = done, total })
		}})
		return err
	})
	v.change(run, func(now *remote.Verification) {
		now.Finished = client.Time(landscape.MicrosOf(time.Now()))
		if now.Report = report; err == nil {
			now.State = remote.Verified
			return
		}
		now.State, now.Failure = remote.NotVerified, "the verification could not be done"
		if known, ok := errors.AsType[*client.Error](err); ok {
			now.Failure = landscape.WithoutValues(known.Message)
		} else {
			s.Logger.Error("a verification failed", "run", run, "error", err)
		}
	})
}

// verifyRun begins to verify the run, or returns how far that is.
func verifyRun(_ context.Context, c *call, run landscape.Run) (*remote.Verification, error) {
	if err := c.disclose(run.ID, "verification", ""); err != nil {
		return nil, err
	}
	begun, full := c.server.verifications.begin(run.ID, c.token.Name)
	if full {
		return nil, tooFast(verificationWait,
			fmt.Sprintf("%d verifications wait already: ask again later", mostVerifications))
	}
	if begun {
		go defect.Guard("verification", func() { c.server.verify(run.ID) })()
	}
	return c.server.verifications.get(run.ID), nil
}

// verificationOf returns the last verification of the run.
func verificationOf(_ context.Context, c *call, run landscape.Run) (*remote.Verification, error) {
	known := c.server.verifications.get(run.ID)
	if known == nil {
		return nil, problem(http.StatusNotFound, notVerified, fmt.Sprintf("nobody has had run %s verified since this server began", run.ID))
	}
	return known, nil
}

// sendBundle sends the bundle of evidence about the run. It is made whole before, so that who gets it can know that it is.
func sendBundle(ctx context.Context, c *call, run landscape.Run) (any, error) {
	payloads := c.query.Get("payloads")
	if payloads == "" {
		payloads = string(bundle.NoPayloads)
	}
	file, err := os.CreateTemp("", "waymark-bundle-*.zip")
	if err != nil {
		return nil, err
	}
	defer func() { _ = errors.Join(file.Close(), os.Remove(file.Name())) }()
	hash := sha256.New()
	what := local.Exported{Payloads: bundle.Payloads(payloads), Artifacts: c.query.Get("artifacts") == "true", Redact: c.query["redact"]}
	_, err = c.server.Home.Export(ctx, run.ID, io.MultiWriter(file, hash), what)
	if errors.Is(err, bundle.ErrRedactedOutputs) {
		return nil, problem(http.StatusBadRequest, badQuery, err.Error())
	}
	if err != nil {
		return nil, err
	}
	if err := c.disclose(run.ID, "bundle", payloads); err != nil {
		return nil, err
	}
	c.attach("application/zip", run.Pipeline+"-"+run.ID+".zip", "no-store")
	c.sendFile(file, hash.Sum(nil))
	return nil, nil
}

// eventsOf sends what happened in the run.
func eventsOf(ctx context.Context, c *call, run landscape.Run) (any, error) {
	events, err := c.server.Home.Events(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false) // each line has the hash of the one before
	for _, event := range events {
		if err := encoder.Encode(event); err != nil {
			return nil, err
		}
	}
	if err := c.disclose(run.ID, "events", ""); err != nil {
		return nil, err
	}
	c.attach("application/x-ndjson", run.Pipeline+"-"+run.ID+".ndjson", "no-store")
	c.w.WriteHeader(http.StatusOK)
	_, err = c.w.Write(lines.Bytes())
	return nil, err
}

// sendProof sends the proof of one row. It has no values, but hashes of them without a salt: who tries all the rows
// that there can be finds a short one. So its recipient counts as one who was shown the row.
func sendProof(ctx context.Context, c *call, run landscape.Run) (any, error) {
	row, _ := strconv.ParseInt(c.query.Get("row"), 10, 64)
	if row == 0 {
		return nil, problem(http.StatusBadRequest, badQuery, "row is missing: the proof is of one row, counted from 1")
	}
	proof, err := c.server.Home.Prove(ctx, run.ID, c.query.Get("source"), row, nil)
	if err != nil {
		return nil, err
	}
	text, err := proof.Encode()
	if err != nil {
		return nil, err
	}
	subject := fmt.Sprintf("row %d", row)
	if source := c.query.Get("source"); source != "" {
		subject = fmt.Sprintf("%s:%d", source, row)
	}
	if err := c.disclose(run.ID, "proof", subject); err != nil {
		return nil, err
	}
	c.attach("application/json", fmt.Sprintf("%s-%s-%d.proof", run.Pipeline, run.ID, row), "no-store")
	c.w.WriteHeader(http.StatusOK)
	_, err = c.w.Write(text)
	return nil, err
}

// evidencePage shows what proves what of the run, and what others can take with them.
func evidencePage(ctx context.Context, c *call, run landscape.Run) (ui.Page, error) {
	report, err := c.report(run)
	if err != nil {
		return ui.Page{}, err
	}
	body := ui.Evidence{RunReport: report, Verification: c.server.verifications.get(run.ID), MayRead: c.token.Has(allowed[read]...)}
	return ui.Page{
		Title: "Evidence", Crumbs: crumbs(run, "evidence"), Command: "waymark verify " + run.ID, Path: "/v1/runs/" + run.ID + "/verification", Body: body,
		SQL:     "select * from run_seals where run_id = '" + run.ID + "'",
		Refresh: body.Verification != nil && !body.Verification.Ended(),
	}, nil
}

// evidencePath is the address of the page with the evidence of the run that a form is about.
func evidencePath(c *call) string { return ui.RunPath(c.PathValue("run"), "evidence") }
