package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"

	"waymark/activities"
	"waymark/client"
	"waymark/internal/temporal/attributes"
	"waymark/internal/temporal/cluster"
	"waymark/internal/text"
	"waymark/landscape"
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
		if check := differencesCheck(workers, d.landscapeID(ctx)); check.Detail != "" {
			return check
		}
		found := fmt.Sprintf("%s on queue %s: %s", text.Count(int64(len(workers)), "worker"), queue, strings.Join(identities(workers), ", "))
		return versionsCheck(found, workers, func(deployment string) (string, error) {
			return cluster.Current(ctx, c.Temporal, c.Namespace, deployment)
		})
	})
}

// landscapeID returns the id of the landscape; "" if it cannot be asked, which another check says.
func (d doctor) landscapeID(ctx context.Context) (id string) {
	err := d.withLandscape(ctx, func(stores *storage.Storage) (err error) {
		id, err = stores.Log.ID(ctx)
		return err
	})
	if err != nil {
		return ""
	}
	return id
}

// differencesCheck says in what workers differ that must have the same, or nothing if they do not. id is that of the landscape; "" if it is unknown.
func differencesCheck(workers []cluster.Worker, id string) client.Check {
	for _, fact := range []struct{ name, what, cure string }{
		{cluster.FactLandscape, "they have several landscapes", "give all workers of the queue the same --landscape; this record has the id " + id},
		{cluster.FactValues, "they have several values of the variables of --allow-env, of the fingerprint key or of --environment", "give all workers of the queue the same"},
	} {
		with := map[string][]string{}
		for _, w := range workers {
			if w.Facts != nil {
				with[w.Facts[fact.name]] = append(with[w.Facts[fact.name]], w.Identity)
			}
		}
		what := fact.what
		if _, ours := with[id]; len(with) == 1 && fact.name == cluster.FactLandscape && id != "" && !ours {
			what = "none of them has this record"
		} else if len(with) < 2 {
			continue
		}
		var each []string
		for _, value := range slices.Sorted(maps.Keys(with)) {
			each = append(each, fmt.Sprintf("%s has %s", strings.Join(with[value], ", "), cmp.Or(value, "none")))
		}
		check := client.Warning("", "%s on the queue; %s: %s", text.Count(int64(len(workers)), "worker"), what, strings.Join(each, "; "))
		check.Advice = fact.cure
		return check
	}
	return client.Check{}
}

// versionsCheck says of which versions the workers are that were found, and which of them gets new runs.
func versionsCheck(found string, workers []cluster.Worker, current func(deployment string) (string, error)) client.Check {
	all := builds(workers)
	for _, deployment := range deployments(workers) {
		version, err := current(deployment)
		switch {
		case err != nil:
			return client.Warning(client.ReadServerLogs, "%s; which version of %s is current is unknown: %v", found, deployment, err)
		case version == "":
			check := client.Warning("", "%s; no version of %s is current: no run begins", found, deployment)
			check.Advice = "temporal worker deployment set-current-version --deployment-name " + deployment + " --build-id BUILD"
			return check
		case !slices.Contains(all, version):
			check := client.Warning("", "%s; the current version is %s, of which there is no worker: no run begins", found, version)
			check.Advice = "start a worker of it, or make another version the current one: temporal worker deployment set-current-version " +
				"--deployment-name " + deployment + " --build-id BUILD"
			return check
		}
		found += "; new runs go to " + version
	}
	if len(all) > 1 {
		return client.Warning(client.OneVersion, "%s; they are of several versions", found)
	}
	return client.Good("%s", found)
}

// deployments returns the deployments of workers with versions, each once.
func deployments(workers []cluster.Worker) []string {
	var all []string
	for _, w := range workers {
		if w.Deployment != "" {
			all = append(all, w.Deployment)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// How many open workflows the doctor looks at for those that are stuck, and how many it names.
const (
	mostOpen  = 50
	mostStuck = 5
)

// stuck looks for runs whose next task no worker can do, such as for want of a codec key, or nothing if there are none.
func (d doctor) stuck(ctx context.Context) client.Check {
	return d.ask(ctx, func(c *client.Connection) client.Check {
		ids, err := d.stuckOn(ctx, c)
		switch {
		case err != nil:
			return client.Warning(client.ReadServerLogs, "which runs are stuck is unknown: %v", err)
		case ids == nil:
			return client.Check{}
		}
		told := strings.Join(ids[:min(len(ids), mostStuck)], ", ")
		if more := len(ids) - mostStuck; more > 0 {
			told += fmt.Sprintf(" and %d more", more)
		}
		check := client.Warning("", "no worker can do the next task of %s", told)
		check.Advice = "the logs of the workers say why; such as codec keys with which a run was begun, or a landscape in which it is recorded, that they do not have"
		return check
	})
}

// stuckOn returns the ids of the workflows whose next task no worker can do.
func (o *Options) stuckOn(ctx context.Context, c *client.Connection) ([]string, error) {
	query := fmt.Sprintf("WorkflowType = '%s' and ExecutionStatus = 'Running' and TaskQueue = '%s'",
		workflows.RunPipelineName, strings.ReplaceAll(o.Cluster.TaskQueue(), "'", `\'`))
	return cluster.Stuck(ctx, c.Temporal, query, mostOpen)
}

// Stuck returns the ids of the workflows of runs, also of those that have not begun, whose next task no worker can do, as far as the cluster says;
// nil without one.
func (h *Home) Stuck(ctx context.Context) []string {
	if h.options.Cluster == nil {
		return nil
	}
	ctx, done := context.WithTimeout(ctx, client.AnswerTimeout)
	defer done()
	c, err := h.options.Cluster.Dial(ctx, h.options.identity())
	if err != nil {
		return nil // the list says of each run that it is unknown whether a process executes it
	}
	defer c.Temporal.Close()
	ids, err := h.options.stuckOn(ctx, c)
	if err != nil {
		return nil
	}
	return ids
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

// queues asks how much work waits for a worker on the common queue, on that of who sees the files of this machine, and
// on those of the shares of runs that are split.
func (d doctor) queues(ctx context.Context) client.Check {
	return d.ask(ctx, func(c *client.Connection) client.Check {
		common := d.Cluster.TaskQueue()
		files := workflows.FilesQueue(common, d.Cluster.FilesName())
		var told []string
		var oldest time.Duration
		for _, kind := range []struct {
			what, queue string
			of          enums.TaskQueueType
		}{
			{"workflows", common, enums.TASK_QUEUE_TYPE_WORKFLOW},
			{"activities", common, enums.TASK_QUEUE_TYPE_ACTIVITY},
			{"activities", files, enums.TASK_QUEUE_TYPE_ACTIVITY},
			{"shares", activities.SharesQueue(common), enums.TASK_QUEUE_TYPE_ACTIVITY},
			{"shares", activities.SharesQueue(files), enums.TASK_QUEUE_TYPE_ACTIVITY},
		} {
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
		case len(workers) == 0 && !d.needsFiles(ctx):
			return client.Good("no worker sees the files of %q, and no deployed pipeline reads or writes any", files)
		case len(workers) == 0:
			return client.Warning(client.StartWorkerThere, "no worker sees the files of %q", files)
		}
		n := int64(len(workers))
		return client.Good("%s %s the files of %q", text.Count(n, "worker"), text.Agree(n, "sees", "see"), files)
	})
}

// needsFiles reports whether a deployed pipeline has sources or sinks that are files of a machine, or whether that is not known,
// or nothing is deployed: then runs are those of files.
func (d doctor) needsFiles(ctx context.Context) bool {
	needs, deployed := false, 0
	err := d.withPayloads(ctx, func(stores *storage.Storage) error {
		current, err := stores.Log.AllCurrentVersions(ctx)
		for _, deployment := range current {
			if err != nil || needs {
				break
			}
			if deployment.Retired() {
				continue
			}
			deployed++
			var version landscape.PipelineVersion
			if version, err = stores.Log.Version(ctx, deployment.Pipeline, deployment.Version); err == nil {
				needs, err = client.OnHost(ctx, stores.Payloads, version)
			}
		}
		return err
	})
	return needs || err != nil || deployed == 0
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
	if _, unfit := errors.AsType[*landscape.UnfitError](err); unfit {
		return ""
	}
	return cure
}
