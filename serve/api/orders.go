package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"waymark/activities"
	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

// OrderRequest says why an order is given, for the record.
type OrderRequest struct {
	Why string `json:"why"` // not empty
}

// ResumeRequest says how a run is to be resumed.
type ResumeRequest struct {
	Why      string `json:"why"`                // not empty
	Recorded bool   `json:"recorded,omitempty"` // with the recorded document, even if its file changed
}

// RetryRequest says with what the rows in quarantine are to be retried.
type RetryRequest struct {
	Why     string            `json:"why"`               // not empty
	Version int64             `json:"version,omitempty"` // of the run's pipeline; 0 for the document that refused them
	Params  activities.Params `json:"params,omitempty"`  // in the place of those that the run had
	Run     string            `json:"run,omitempty"`     // id of the new run; empty for one that is made up
}

// CancelRequest says how a run is to be cancelled.
type CancelRequest struct {
	Why   string `json:"why"`             // not empty
	Final bool   `json:"final,omitempty"` // for ever: it cannot be resumed, and what it staged is removed
}

// ResolveRequest says what became of a blocked effect.
type ResolveRequest struct {
	Why     string `json:"why"`     // not empty
	Effect  string `json:"effect"`  // its id
	Applied bool   `json:"applied"` // the target has what was to be written
}

// RedeployRequest says what is to become of a deployed pipeline.
type RedeployRequest struct {
	Why         string `json:"why"`                   // not empty
	Environment string `json:"environment,omitempty"` // in which that happens; empty for the default one
	From        string `json:"from,omitempty"`        // of a promotion: the environment in which the version is current; empty for the default one
	Version     int64  `json:"version,omitempty"`     // of a promotion or a rollback: which one; 0 for the current one, or the one before that
}

// DeployRequest says what is to be deployed.
type DeployRequest struct {
	Why         string            `json:"why"`                   // message of the version; not empty
	Document    string            `json:"document"`              // the text of the document; not empty
	Files       map[string]string `json:"files,omitempty"`       // texts that it is compiled with, such as lookup tables, by path as the document names them
	File        string            `json:"file,omitempty"`        // name of the document in messages; empty for pipeline.yaml
	Environment string            `json:"environment,omitempty"` // in which it becomes current; empty for the default one
	Params      activities.Params `json:"params,omitempty"`      // to check it with, of parameters that have no default
	Try         int               `json:"try,omitempty"`         // send the source records of so many complete runs through it, and say what is other
	Anyway      string            `json:"anyway,omitempty"`      // why it is deployed although a second run would stop, or none can succeed now
	DryRun      bool              `json:"dry_run,omitempty"`     // change nothing, and say what would happen
}

// mostTried is of how many runs a request may have the records sent through a version.
const mostTried = 10

// deployDocument makes a version of the document of the body, and makes it current.
func deployDocument(c *call) (any, error) {
	asked, err := ordering(c, func(r *DeployRequest) string { return r.Why })
	switch {
	case err != nil:
		return nil, err
	case asked.Document == "":
		return nil, faulty("/document", "write the text of the document")
	case asked.Try < 0 || asked.Try > mostTried:
		return nil, faulty("/try", fmt.Sprintf("write a number of runs from 0 to %d", mostTried))
	case strings.ContainsAny(asked.File, "/\\"):
		return nil, faulty("/file", "write a name without folders")
	}
	request := client.DeployRequest{
		By: c.by(asked.Why), File: cmp.Or(asked.File, "pipeline.yaml"), Source: []byte(asked.Document), Files: map[string][]byte{}, Params: asked.Params, To: asked.Environment,
		Try: asked.Try, Anyway: asked.Anyway, DryRun: asked.DryRun,
	}
	for path, content := range asked.Files {
		request.Files[path] = []byte(content)
	}
	document, _ := pipeline.Load(request.File, request.Source, pipeline.Environment{}) // nil if it has no form: then Deploy says what is wrong
	switch {
	case document == nil:
		request.DryRun = true
	case !c.token.Sees(document.Pipeline.Name):
		return nil, problem(http.StatusForbidden, forbidden, fmt.Sprintf("this access token is not for a pipeline of the name %.64q", document.Pipeline.Name))
	}
	deployed, err := c.server.Home.Deploy(c.Context(), request)
	if err != nil {
		return nil, err
	}
	for i := range deployed.Trials {
		deployed.Trials[i].Stops = landscape.WithoutValues(deployed.Trials[i].Stops)
	}
	return deployed, nil
}

// Ordered says what an order did.
type Ordered struct {
	Run     string `json:"run,omitempty"`
	Order   string `json:"order"`
	Changed bool   `json:"changed"` // else it was so already
}

// why refuses an order without a reason.
func why(text string) error {
	if text == "" {
		return faulty("/why", "say why, for the record")
	}
	return nil
}

// ordering reads an order about a run.
func ordering[T any](c *call, reason func(*T) string) (asked T, err error) {
	if err := c.decode(&asked); err != nil {
		return asked, err
	}
	return asked, why(reason(&asked))
}

func pause(ctx context.Context, c *call, run landscape.Run) (Ordered, error) {
	asked, err := ordering(c, func(r *OrderRequest) string { return r.Why })
	if err != nil {
		return Ordered{}, err
	}
	changed, err := c.server.Home.Pause(ctx, run, c.by(asked.Why))
	return Ordered{Run: run.ID, Order: workflows.PauseUpdate, Changed: changed}, err
}

func resume(ctx context.Context, c *call, run landscape.Run) (Ordered, error) {
	asked, err := ordering(c, func(r *ResumeRequest) string { return r.Why })
	if err != nil {
		return Ordered{}, err
	}
	resumed, err := c.server.Home.Resume(ctx, run, client.ResumeRequest{By: c.by(asked.Why), Recorded: asked.Recorded, Detach: true})
	switch {
	case err != nil:
		return Ordered{}, err
	case resumed.Continued != "":
		return Ordered{Run: run.ID, Order: workflows.ContinueUpdate, Changed: true}, nil
	case resumed.Execution == nil:
		return Ordered{Run: run.ID, Order: "resume"}, nil
	}
	return Ordered{Run: run.ID, Order: "resume", Changed: true}, resumed.Execution.Close()
}

func retry(ctx context.Context, c *call, run landscape.Run) (*client.Retry, error) {
	asked, err := ordering(c, func(r *RetryRequest) string { return r.Why })
	if err != nil {
		return nil, err
	}
	again, err := c.server.Home.Retry(ctx, client.RetryRequest{By: c.by(asked.Why), Of: run.ID, Run: asked.Run, Version: asked.Version, Params: asked.Params})
	if err != nil || again.Execution == nil {
		return again, err
	}
	return again, again.Execution.Close()
}

// cancel cancels a run, also one that is not recorded, because it waits or nobody has come for it.
func cancel(c *call) (any, error) {
	asked, err := ordering(c, func(r *CancelRequest) string { return r.Why })
	if err != nil {
		return nil, err
	}
	done := Ordered{Run: c.PathValue("run"), Order: workflows.CancelUpdate}
	run, err := c.record()
	if err == nil {
		done.Changed, err = c.server.Home.Cancel(c.Context(), run, c.by(asked.Why), asked.Final)
		return done, err
	}
	known, ok := errors.AsType[*client.Error](err)
	if !ok || known.Code != client.RunNotFound {
		return nil, err
	}
	if _, missing := c.started(done.Run); missing != nil {
		return nil, missing
	}
	waiting, failed := c.server.Home.Waits(c.Context(), done.Run)
	switch {
	case failed != nil:
		return nil, failed
	case waiting != nil:
		done.Changed = true
		return done, c.server.Home.CancelQueued(c.Context(), waiting, c.by(asked.Why))
	}
	if done.Changed, failed = c.server.Home.CancelWaiting(c.Context(), done.Run, c.by(asked.Why)); failed != nil {
		return nil, failed
	}
	if !done.Changed {
		return nil, err
	}
	return done, nil
}

func resolve(ctx context.Context, c *call, run landscape.Run) (Ordered, error) {
	asked, err := ordering(c, func(r *ResolveRequest) string { return r.Why })
	if err != nil {
		return Ordered{}, err
	}
	if asked.Effect == "" {
		return Ordered{}, faulty("/effect", "name the effect")
	}
	done, err := c.server.Home.Resolve(ctx, run, asked.Effect, asked.Applied, c.by(asked.Why))
	return Ordered{Run: run.ID, Order: "resolve", Changed: done.Changed}, err
}

func revoke(c *call) (any, error) {
	asked, err := ordering(c, func(r *OrderRequest) string { return r.Why })
	if err != nil {
		return nil, err
	}
	changed, err := c.server.Home.RevokeAccess(c.Context(), c.PathValue("token"), c.by(asked.Why))
	return Ordered{Order: "revoke", Changed: changed}, err
}

// redeploy is what a route does with a deployed pipeline.
func redeploy(do func(*local.Home, context.Context, client.RedeployRequest) (*client.Redeployed, error)) func(*call) (any, error) {
	return func(c *call) (any, error) {
		asked, err := ordering(c, func(r *RedeployRequest) string { return r.Why })
		if err != nil {
			return nil, err
		}
		name := c.PathValue("name")
		if !c.token.Sees(name) {
			return nil, noPipeline(name)
		}
		request := client.RedeployRequest{By: c.by(asked.Why), Pipeline: name, Environment: asked.Environment, From: asked.From, Version: asked.Version}
		if strings.HasSuffix(c.route.path, "/promote") && asked.Version > 0 {
			request.Pipeline, request.Version = fmt.Sprintf("%s@%d", name, asked.Version), 0
		}
		return do(c.server.Home, c.Context(), request)
	}
}
