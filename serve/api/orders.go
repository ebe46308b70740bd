package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"waymark/client"
	"waymark/client/local"
	"waymark/client/remote"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

// mostTried is of how many runs a request may have the records sent through a version.
const mostTried = 10

// mostOfName is how long the name of a document may be, in bytes.
const mostOfName = 200

// deployDocument makes a version of the document of the body, and makes it current.
func deployDocument(c *call) (any, error) {
	asked, err := ordering(c, func(r *remote.DeployRequest) string { return r.Why })
	switch {
	case err != nil:
		return nil, err
	case asked.Document == "":
		return nil, faulty("/document", "write the text of the document")
	case asked.Try < 0 || asked.Try > mostTried:
		return nil, faulty("/try", fmt.Sprintf("write a number of runs from 0 to %d", mostTried))
	case strings.ContainsAny(asked.File, "/\\") || slices.Contains([]string{".", ".."}, asked.File):
		return nil, faulty("/file", "write a name without folders")
	case len(asked.File) > mostOfName ||
		strings.ContainsFunc(asked.File, func(r rune) bool { return !unicode.IsPrint(r) }):
		return nil, faulty("/file", fmt.Sprintf("write a name of at most %d bytes that can be printed", mostOfName))
	}
	request := client.DeployRequest{
		By: c.by(asked.Why), File: cmp.Or(asked.File, "pipeline.yaml"), Source: []byte(asked.Document), Files: map[string][]byte{}, Params: asked.Params, To: asked.Environment,
		Try: asked.Try, Anyway: asked.Anyway, DryRun: asked.DryRun,
	}
	for path, content := range asked.Files {
		request.Files[path] = []byte(content)
	}
	document, _ := pipeline.Load(request.File, request.Source, pipeline.Environment{}) // nil if it has no form: then Deploy says what is wrong
	if document == nil {
		request.DryRun = true
	} else if err := c.mayDeploy(document.Pipeline.Name); err != nil {
		return nil, err
	}
	request.May = c.mayDeploy
	if asked.Try > 0 && !c.token.Has(allowed[read]...) {
		return nil, needs(c.route.scope, read)
	}
	request.Trying = func(run string) error { return c.disclose(run, "what_if", "deploy") }
	deployed, err := c.server.Home.Deploy(c.Context(), request)
	if err != nil {
		return nil, withoutRows(document, err)
	}
	for i := range deployed.Preflight.Looks {
		look := &deployed.Preflight.Looks[i]
		look.Message = landscape.WithoutTexts(look.Message, fieldsOf(document))
	}
	for i := range deployed.Trials {
		deployed.Trials[i].Stops = landscape.WithoutValues(deployed.Trials[i].Stops)
	}
	deployed.Stranded = c.withoutStrangers(deployed.Stranded)
	return deployed, nil
}

// withoutRows takes out of why a version is not deployed what its sources hold: the document says which line of a file
// has the names of columns, so that these may be any row.
func withoutRows(document *pipeline.Document, err error) error {
	refused, is := errors.AsType[*client.Error](err)
	if !is || refused.Code != client.NotReady {
		return err
	}
	told := *refused
	told.Message = landscape.WithoutTexts(refused.Message, fieldsOf(document))
	return &told
}

// fieldsOf reports of a text whether it is a field or a column that a document declares.
func fieldsOf(document *pipeline.Document) func(text string) bool {
	names := map[string]bool{}
	if document != nil {
		for _, source := range document.Pipeline.Sources {
			for _, field := range source.Value.Schema.Fields {
				names[field.Name], names[field.Value.From] = true, true
			}
		}
	}
	return func(text string) bool { return names[text] }
}

// mayDeploy is the problem with a token that is not for pipelines of this name, whether there is one or not.
func (c *call) mayDeploy(name string) error {
	if c.token.Sees(name) {
		return nil
	}
	why := fmt.Sprintf("this access token is not for a pipeline of the name %.64q", name)
	return problem(http.StatusForbidden, forbidden, why)
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

func pause(ctx context.Context, c *call, run landscape.Run) (remote.Ordered, error) {
	asked, err := ordering(c, func(r *remote.OrderRequest) string { return r.Why })
	if err != nil {
		return remote.Ordered{}, err
	}
	changed, err := c.server.Home.Pause(ctx, run, c.by(asked.Why))
	return remote.Ordered{Run: run.ID, Order: workflows.PauseUpdate, Changed: changed}, err
}

func resume(ctx context.Context, c *call, run landscape.Run) (remote.Ordered, error) {
	asked, err := ordering(c, func(r *remote.ResumeRequest) string { return r.Why })
	if err != nil {
		return remote.Ordered{}, err
	}
	resumed, err := c.server.Home.Resume(ctx, run, client.ResumeRequest{By: c.by(asked.Why), Recorded: asked.Recorded, Detach: true})
	switch {
	case err != nil:
		return remote.Ordered{}, err
	case resumed.Continued != "":
		return remote.Ordered{Run: run.ID, Order: workflows.ContinueUpdate, Changed: true}, nil
	case resumed.Execution == nil:
		return remote.Ordered{Run: run.ID, Order: "resume"}, nil
	}
	return remote.Ordered{Run: run.ID, Order: "resume", Changed: true}, resumed.Execution.Close()
}

func retry(ctx context.Context, c *call, run landscape.Run) (*client.Retry, error) {
	asked, err := ordering(c, func(r *remote.RetryRequest) string { return r.Why })
	if err == nil {
		err = free(asked.Run)
	}
	if err != nil {
		return nil, err
	}
	again, err := c.server.Home.Retry(ctx, client.RetryRequest{By: c.by(asked.Why), Of: run.ID, Run: asked.Run, Version: asked.Version, Params: asked.Params})
	if err != nil {
		return nil, c.discreet(asked.Run, err)
	}
	if again.Execution == nil {
		return again, nil
	}
	return again, again.Execution.Close()
}

// cancel cancels a run, also one that is not recorded, because it waits or nobody has come for it.
func cancel(c *call) (any, error) {
	asked, err := ordering(c, func(r *remote.CancelRequest) string { return r.Why })
	if err != nil {
		return nil, err
	}
	done := remote.Ordered{Run: c.PathValue("run"), Order: workflows.CancelUpdate}
	run, err := c.record()
	if err == nil {
		cancelled, err := c.server.Home.Cancel(c.Context(), run, c.by(asked.Why), asked.Final)
		done.Changed, done.Deleted = cancelled.Changed, cancelled.Deleted
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

func resolve(ctx context.Context, c *call, run landscape.Run) (remote.Ordered, error) {
	asked, err := ordering(c, func(r *remote.ResolveRequest) string { return r.Why })
	if err != nil {
		return remote.Ordered{}, err
	}
	if asked.Effect == "" {
		return remote.Ordered{}, faulty("/effect", "name the effect")
	}
	done, err := c.server.Home.Resolve(ctx, run, asked.Effect, asked.Applied, c.by(asked.Why))
	return remote.Ordered{Run: run.ID, Order: "resolve", Changed: done.Changed}, err
}

// redeploy is what a route does with a deployed pipeline.
func redeploy(do func(*local.Home, context.Context, client.RedeployRequest) (*client.Redeployed, error)) func(*call) (any, error) {
	return func(c *call) (any, error) {
		asked, err := ordering(c, func(r *remote.RedeployRequest) string { return r.Why })
		if err != nil {
			return nil, err
		}
		name := c.PathValue("name")
		if !c.token.Sees(name) {
			return nil, noPipeline(name)
		}
		if asked.Version < 0 {
			return nil, faulty("/version", "write the number of a version")
		}
		request := client.RedeployRequest{
			By: c.by(asked.Why), Pipeline: name, Environment: asked.Environment,
			From: asked.From, Version: asked.Version,
			May: c.mayDeploy,
		}
		if strings.HasSuffix(c.route.path, "/promote") && asked.Version > 0 {
			request.Pipeline, request.Version = fmt.Sprintf("%s@%d", name, asked.Version), 0
		}
		redeployed, err := do(c.server.Home, c.Context(), request)
		if err != nil {
			return nil, err
		}
		redeployed.Stranded = c.withoutStrangers(redeployed.Stranded)
		return redeployed, nil
	}
}

// withoutStrangers leaves out the names of triggers whose pipelines the caller does not see: that some begin no runs
// any more, it learns.
func (c *call) withoutStrangers(stranded []string) []string {
	for i, trigger := range stranded {
		id, why, _ := strings.Cut(trigger, ": ")
		if parts := strings.Split(id, "/"); len(parts) == 3 && !c.token.Sees(parts[1]) {
			stranded[i] = "of another pipeline: " + why
		}
	}
	return stranded
}
