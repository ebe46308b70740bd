package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"

	"waymark/client"
	"waymark/internal/temporal/attributes"
	"waymark/internal/temporal/cluster"
	"waymark/internal/text"
	"waymark/payload"
	"waymark/worker/storage"
	"waymark/workflows"
)

// cluster connects to the cluster.
func (d doctor) cluster(ctx context.Context) client.Check {
	started := time.Now()
	c, err := d.Cluster.Dial(ctx, d.identity())
	if fault, ok := errors.AsType[*cluster.Fault](err); ok {
		check := client.Failure("", "temporal at %s: %s", fault.Place, fault.Why)
		check.Advice = fault.Cure
		return check
	}
	if err != nil {
		return client.Failure(client.NameCluster, "%v", err)
	}
	c.Temporal.Close()
	return client.Good("%s answers, in %.2f s", c.Place, time.Since(started).Seconds())
}

// ask connects to the cluster for a further check.
func (d doctor) ask(ctx context.Context, ask func(*client.Connection) client.Check) client.Check {
	c, err := d.Cluster.Dial(ctx, d.identity())
	if err != nil {
		return client.Warning(client.CureOther, "the cluster cannot be asked")
	}
	defer c.Temporal.Close()
	return ask(c)
}

// workers asks who takes work from the queue, and whether all of them are of one version of the program.
func (d doctor) workers(ctx context.Context) client.Check {
	return d.ask(ctx, func(c *client.Connection) client.Check {
		queue := d.Cluster.TaskQueue()
		taking := map[enums.TaskQueueType][]cluster.Worker{}
		for kind, what := range map[enums.TaskQueueType]string{
			enums.TASK_QUEUE_TYPE_WORKFLOW: "workflows", enums.TASK_QUEUE_TYPE_ACTIVITY: "activities",
		} {
			workers, err := cluster.Workers(ctx, c.Temporal, queue, kind)
			if err != nil {
				return client.Failure(client.ReadServerLogs, "queue %s: %v", queue, err)
			}
			if len(workers) == 0 {
				return client.Failure(client.StartWorker, "nobody takes %s from queue %s of namespace %s", what, queue, c.Namespace)
			}
			taking[kind] = workers
		}
		workers := taking[enums.TASK_QUEUE_TYPE_ACTIVITY]
		found := fmt.Sprintf("%s on queue %s: %s", text.Count(int64(len(workers)), "worker"), queue, strings.Join(identities(workers), ", "))
		if len(builds(workers)) > 1 {
			return client.Warning(client.OneVersion, "%s; they are of several versions", found)
		}
		return client.Good("%s", found)
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

// longWait is for how long work may wait for a worker until that deserves a look: one that is there and has a place takes it at once.
const longWait = time.Minute

// queues asks how much work waits for a worker on the common queue, and on that of who sees the files of this machine.
func (d doctor) queues(ctx context.Context) client.Check {
	return d.ask(ctx, func(c *client.Connection) client.Check {
		common := d.Cluster.TaskQueue()
		files := workflows.FilesQueue(common, d.Cluster.FilesName())
		var told []string
		var oldest time.Duration
		for _, kind := range []struct {
			what, queue string
			of          enums.TaskQueueType
		}{{"workflows", common, enums.TASK_QUEUE_TYPE_WORKFLOW}, {"activities", common, enums.TASK_QUEUE_TYPE_ACTIVITY}, {"activities", files, enums.TASK_QUEUE_TYPE_ACTIVITY}} {
			waits, err := cluster.BacklogOf(ctx, c.Temporal, c.Namespace, kind.queue, kind.of)
			if err != nil {
				return client.Warning(client.ReadServerLogs, "queue %s: %v", kind.queue, err)
			}
			told = append(told, backlogText(kind.what, kind.queue, waits))
			oldest = max(oldest, waits.Age)
		}
		if oldest >= longWait {
			return client.Warning(client.StartWorker, "%s", strings.Join(told, ", "))
		}
		return client.Good("%s", strings.Join(told, ", "))
	})
}

// backlogText says how much work waits on a queue.
func backlogText(what, queue string, waits cluster.Backlog) string {
	if waits.Tasks == 0 {
		return fmt.Sprintf("no %s wait on %s", what, queue)
	}
	return fmt.Sprintf("%d %s wait on %s, the oldest for %.0f s", waits.Tasks, what, queue, waits.Age.Seconds())
}

// codec says by which keys this process encrypts and reads what Temporal stores.
func (d doctor) codec(context.Context) client.Check {
	first, others, err := d.Cluster.CodecIDs()
	switch {
	case err != nil:
		return client.Failure("", "%v", err)
	case first == "":
		return client.Good("none: what Temporal stores is not encrypted")
	case others == nil:
		return client.Good("key %s encrypts what Temporal stores", first)
	}
	return client.Good("key %s encrypts what Temporal stores; %s decrypt as well", first, strings.Join(others, ", "))
}

// files asks who sees the files of this machine.
func (d doctor) files(ctx context.Context) client.Check {
	return d.ask(ctx, func(c *client.Connection) client.Check {
		files := d.Cluster.FilesName()
		workers, err := cluster.Workers(ctx, c.Temporal, workflows.FilesQueue(d.Cluster.TaskQueue(), files), enums.TASK_QUEUE_TYPE_ACTIVITY)
		switch {
		case err != nil:
			return client.Failure(client.ReadServerLogs, "%v", err)
		case len(workers) == 0:
			return client.Warning(client.StartWorkerThere, "no worker sees the files of %q", files)
		case len(workers) == 1:
			return client.Good("1 worker sees the files of %q", files)
		}
		return client.Good("%s see the files of %q", text.Count(int64(len(workers)), "worker"), files)
	})
}

// registered is how long servers may take until all of them know a search attribute that was registered.
const registered = 15 * time.Second

// attributes asks by which search attributes runs can be found. Without them runs work as well.
func (d doctor) attributes(ctx context.Context) client.Check {
	return d.ask(ctx, func(c *client.Connection) client.Check {
		operator := c.Temporal.OperatorService()
		var failed error
		if d.repair {
			failed = attributes.Register(ctx, operator, c.Namespace)
		}
		usable, faults, err := attributes.Look(ctx, operator, c.Namespace)
		for end := time.Now().Add(registered); d.repair && failed == nil && err == nil && absent(faults) && time.Now().Before(end); {
			time.Sleep(attributesPause)
			usable, faults, err = attributes.Look(ctx, operator, c.Namespace)
		}
		if err = errors.Join(failed, err); err != nil && faults == nil {
			return client.Warning(client.ReadServerLogs, "those of namespace %s are unknown: %v", c.Namespace, err)
		}
		if faults == nil {
			return client.Good("%s of namespace %s for runs", text.Count(int64(len(usable)), "search attribute"), c.Namespace)
		}
		var wrong []string
		for _, f := range faults {
			wrong = append(wrong, f.Error())
		}
		check := client.Warning("", "runs cannot be found by all of them: %s", strings.Join(wrong, ", "))
		if err != nil {
			check.Detail += "; " + strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		check.Advice = strings.Join(attributes.Commands(c.Namespace, faults), " && ")
		if absent(faults) && !d.repair {
			check.Advice += "; or waymark doctor --fix, for those that are absent"
		}
		return check
	})
}

// attributesPause is the time between two looks at search attributes that were registered.
const attributesPause = 200 * time.Millisecond

func absent(faults []attributes.Fault) bool {
	return slices.ContainsFunc(faults, attributes.Fault.Absent)
}

// landscape asks the landscape for its runs, whether the payloads are there or not.
func (d doctor) landscape(ctx context.Context) client.Check {
	var runs int
	var place string
	err := d.withLandscape(ctx, func(stores *storage.Storage) (err error) {
		place = stores.Place
		runs, err = stores.Log.CountRuns(ctx)
		return err
	})
	if err != nil {
		return client.Failure(unlessTold(err, client.NameLandscape), "%v", err)
	}
	return client.Good("%s at %s", text.Count(int64(runs), "run"), place)
}

// payloads asks the payload store for something that is not there. Nothing is written.
func (d doctor) payloads(ctx context.Context) client.Check {
	if d.landscape(ctx).State == client.Unhealthy {
		return client.Warning(client.CureOther, "without a record nobody knows what is there")
	}
	err := d.withPayloads(ctx, func(stores *storage.Storage) error {
		_, err := stores.Payloads.Get(ctx, payload.Of([]byte("waymark doctor asks for what nobody stored")))
		if errors.Is(err, payload.ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return client.Failure(unlessTold(err, client.CheckPayloads), "%v", err)
	}
	return client.Good("%s", storage.PublicPlace(d.Payloads))
}

// unlessTold returns the cure, unless what a service said has one of its own.
func unlessTold(err error, cure client.Cure) client.Cure {
	if _, told := errors.AsType[*storage.ServiceError](err); told {
		return ""
	}
	return cure
}
