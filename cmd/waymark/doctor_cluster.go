package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"

	"waymark/client"
	"waymark/internal/temporal/cluster"
	"waymark/payload"
	"waymark/worker/storage"
	"waymark/workflows"
)

// checkCluster connects to the cluster.
func (a *app) checkCluster(ctx context.Context) check {
	started := time.Now()
	p, err := a.dialCluster(ctx)
	if fault, is := errors.AsType[*cluster.Fault](err); is {
		return fail(fault.Cure, "temporal at %s: %s", fault.Place, fault.Why)
	}
	if err != nil {
		return fail("say where it is with --temporal HOST:PORT or TEMPORAL_ADDRESS", "%v", err)
	}
	p.Temporal.Close()
	return ok("%s answers, in %.2f s", p.Place, time.Since(started).Seconds())
}

// askCluster connects to the cluster for a further check.
func (a *app) askCluster(ctx context.Context, ask func(*client.Connection) check) check {
	p, err := a.dialCluster(ctx)
	if err != nil {
		return warn("cure that first", "the cluster cannot be asked")
	}
	defer p.Temporal.Close()
	return ask(p)
}

// checkWorkers asks who takes work from the queue, and whether all of them are of this program's version.
func (a *app) checkWorkers(ctx context.Context) check {
	return a.askCluster(ctx, func(p *client.Connection) check {
		taking := map[enums.TaskQueueType][]cluster.Worker{}
		for kind, what := range map[enums.TaskQueueType]string{
			enums.TASK_QUEUE_TYPE_WORKFLOW: "workflows", enums.TASK_QUEUE_TYPE_ACTIVITY: "activities",
		} {
			workers, err := cluster.Workers(ctx, p.Temporal, a.queue, kind)
			if err != nil {
				return fail("look at the logs of the cluster", "queue %s: %v", a.queue, err)
			}
			if len(workers) == 0 {
				return fail("start one with waymark worker, or name another queue with --queue", "nobody takes %s from queue %s of namespace %s", what, a.queue, p.Namespace)
			}
			taking[kind] = workers
		}
		workers := taking[enums.TASK_QUEUE_TYPE_ACTIVITY]
		text := fmt.Sprintf("%s on queue %s: %s", many(int64(len(workers)), "worker"), a.queue, strings.Join(identities(workers), ", "))
		if len(builds(workers)) > 1 {
			return warn("if that is not a change of version under way, stop those of the wrong one", "%s; they are of several versions", text)
		}
		return ok("%s", text)
	})
}

// identities names workers with their versions, and says when each was heard.
func identities(workers []cluster.Worker) []string {
	var names []string
	for _, w := range workers {
		heard := fmt.Sprintf("heard %.0f s ago", max(time.Since(w.Seen).Seconds(), 0))
		if w.Build != "" {
			heard = w.Build + ", " + heard
		}
		names = append(names, fmt.Sprintf("%s (%s)", w.Identity, heard))
	}
	return names
}

// builds returns the versions of workers, each once.
func builds(workers []cluster.Worker) []string {
	var all []string
	for _, w := range workers {
		all = append(all, w.Build)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// checkFiles asks who sees the files of this machine.
func (a *app) checkFiles(ctx context.Context) check {
	return a.askCluster(ctx, func(p *client.Connection) check {
		files := a.filesName()
		workers, err := cluster.Workers(ctx, p.Temporal, workflows.FilesQueue(a.queue, files), enums.TASK_QUEUE_TYPE_ACTIVITY)
		switch {
		case err != nil:
			return fail("look at the logs of the cluster", "%v", err)
		case len(workers) == 0:
			return warn("for documents that read or write such files, start a worker here; if one sees the same files by another name, say --files NAME",
				"no worker sees the files of %q", files)
		}
		return ok("%s the files of %q", see(len(workers)), files)
	})
}

func see(workers int) string {
	if workers == 1 {
		return "1 worker sees"
	}
	return many(int64(workers), "worker") + " see"
}

// checkLandscape asks the record for its runs, whether the payloads are there or not.
func (a *app) checkLandscape(ctx context.Context) check {
	record, err := a.openRecord(ctx)
	if err != nil {
		return fail(unlessTold(err, "say with --landscape where the workers have it"), "%v", err)
	}
	runs, err := record.log.Runs(ctx)
	if err = closing(err, record.close); err != nil {
		return fail(unlessTold(err, "say with --landscape where the workers have it"), "%v", err)
	}
	return ok("%s at %s", many(int64(len(runs)), "run"), record.place)
}

// checkPayloads asks the payload store for something that is not there. Nothing is written.
func (a *app) checkPayloads(ctx context.Context) check {
	if a.checkLandscape(ctx).Grade == gradeFail {
		return warn("cure that first", "without a record nobody knows what is there")
	}
	record, err := a.openRecord(ctx)
	if err != nil {
		return fail(unlessTold(err, "say with --landscape where the workers have it"), "%v", err)
	}
	if err = a.openPayloads(ctx, record); err == nil {
		_, err = record.payloads.Get(ctx, payload.Of([]byte("waymark doctor asks for what nobody stored")))
	}
	if errors.Is(err, payload.ErrNotFound) {
		err = nil
	}
	if err = closing(err, record.close); err != nil {
		return fail(unlessTold(err, "say where the payloads are with --payloads, and check what may read them"), "%v", err)
	}
	return ok("%s", publicPlace(a.payloadsURL()))
}

// unlessTold returns the cure, unless what a service said has one of its own.
func unlessTold(err error, cure string) string {
	if _, told := errors.AsType[*storage.ServiceError](err); told {
		return ""
	}
	return cure
}

// publicPlace returns a URL without user, password and options.
func publicPlace(text string) string {
	scheme, rest, _ := strings.Cut(text, ":")
	parsed, err := url.Parse(text)
	switch {
	case !strings.HasPrefix(rest, "//"):
		return rest // a path
	case err != nil:
		return scheme + "://…" // the error repeats the URL
	}
	return (&url.URL{Scheme: scheme, Host: parsed.Host, Path: parsed.Path}).String()
}
