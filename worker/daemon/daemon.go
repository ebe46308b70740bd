// Package daemon is a worker process of a cluster: it reaches Temporal, the landscape and the payload store, works, says how it is
// doing, and ends without leaving anything half done.
package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/internal/defect"
	"waymark/internal/settings"
	"waymark/internal/temporal/belonging"
	"waymark/internal/temporal/cluster"
	"waymark/internal/temporal/codec"
	"waymark/landscape"
	"waymark/payload"
	"waymark/worker"
	"waymark/worker/runlog"
	"waymark/worker/spans"
	"waymark/worker/storage"
	"waymark/worker/telemetry"
	"waymark/workflows/recovery"
	"waymark/workflows/slots"
)

// The services that a worker needs, as they are called in logs and by /readyz.
const (
	temporalService  = "temporal"
	landscapeService = "landscape"
	payloadsService  = "payloads"
	workService      = "work"
)

// givingBack is how long activities may take to end when they are told to, and to tell Temporal so.
const givingBack = 10 * time.Second

// Program is what a process is made of, besides its configuration.
type Program struct {
	Code   string          // version, recorded with every run
	Env    settings.Lookup // environment variables
	Stderr io.Writer       // gets the log
	// SQLite opens a landscape in a file; nil in programs without SQLite.
	SQLite func(ctx context.Context, path string, create bool) (landscape.Driver, error)
	// Listening is called when the endpoints listen; nil if nobody wants to know.
	Listening func()
	// Received counts what other services post to the process; nil if nothing can be posted to it.
	Received *Received
}

// Received is telemetry.Received.
type Received = telemetry.Received

// process is a worker process.
type process struct {
	Config
	Program
	logger         *slog.Logger
	codec          *codec.Codec
	fingerprintKey []byte
	credentials    worker.Credentials
	telemetry      *telemetry.Telemetry
	told           runlog.Keeper // what is logged about runs
	ready          *readiness
	failed         chan error // what the process cannot continue with
}

// Run works until ctx ends, and then lets what is in hand come to its end, for as long as the configuration says. An error says why
// the process cannot begin, or go on. One that a person can cure by other words on the command line is a *UsageError.
func Run(ctx context.Context, c Config, p Program) error {
	d := &process{Config: c, Program: p, ready: newReadiness(temporalService, landscapeService, payloadsService, workService), failed: make(chan error, 8)}
	if err := d.prepare(ctx); err != nil {
		return err
	}
	defer d.stopTelemetry()
	defer defect.LogTo(d.logger)()
	stop, err := d.listen(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if d.Listening != nil {
		d.Listening()
	}
	err = d.serve(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // told to end before there was anything to do
	}
	return err
}

// UsageError is about the words with which a process was started.
type UsageError struct{ error }

// Unwrap returns what is wrong.
func (e *UsageError) Unwrap() error { return e.error }

// Check refuses what a person can cure by other words on the command line, as Run does, for programs that start something else before Run.
func Check(c Config, p Program) error { return (&process{Config: c, Program: p}).settle() }

// Logger returns where a process writes its log. The error is a *UsageError.
func Logger(c Config, p Program) (*slog.Logger, error) {
	logger, err := (&process{Config: c, Program: p}).newLogger()
	if err != nil {
		return nil, &UsageError{err}
	}
	return logger, nil
}

// prepare does all that needs no service.
func (d *process) prepare(ctx context.Context) (err error) {
	if err := d.settle(); err != nil {
		return err
	}
	d.logger = slog.New(d.told.Handler(d.logger.Handler()))
	if d.telemetry, err = telemetry.Start(ctx, telemetry.Options{Code: d.Code, Env: d.Env, Logger: d.logger, Spans: spans.Folder(d.Spans), Received: d.Received, Ready: d.ready.checks}); err != nil {
		return &UsageError{err}
	}
	return nil
}

// settle reads and checks the configuration, and starts nothing.
func (d *process) settle() (err error) {
	if err := d.Check(); err != nil {
		return err
	}
	if d.logger, err = d.newLogger(); err != nil {
		return &UsageError{err}
	}
	if err := d.storage().Check(); err != nil { // one line for each URL, which begins with the name of its flag
		return &UsageError{errors.New("--" + strings.ReplaceAll(err.Error(), "\n", "\n--"))}
	}
	keys, _ := d.Env(CodecKeysVariable)
	if d.codec, err = codec.Load(d.CodecKeysFile, keys, d.CodecRequire); err != nil {
		return &UsageError{err}
	}
	if d.codec == nil && d.CodecHTTP != off {
		return &UsageError{errors.New("--codec-http without codec keys decrypts nothing: give some with --codec-keys-file or " + CodecKeysVariable)}
	}
	key, _ := d.Env(FingerprintKeyVariable)
	if d.fingerprintKey, err = worker.FingerprintKey(d.FingerprintKeyFile, key); err != nil {
		return &UsageError{err}
	}
	if d.fingerprintKey == nil {
		d.fingerprintKey = d.OwnKey
	}
	if d.credentials, err = worker.DocumentCredentials(d.DocumentProfile, d.Env); err != nil {
		return &UsageError{err}
	}
	return nil
}

func (d *process) storage() storage.Options {
	return storage.Options{
		Landscape: d.Landscape, Payloads: d.Payloads, Create: true, CacheBytes: int64(d.CacheMiB) << 20, Logger: d.logger, SQLite: d.SQLite,
	}
}

func (d *process) newLogger() (*slog.Logger, error) {
	level, err := d.level()
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: runlog.Spelled}
	if d.LogFormat == formatJSON {
		return slog.New(slog.NewJSONHandler(d.Stderr, options)), err
	}
	return slog.New(slog.NewTextHandler(d.Stderr, options)), err
}

// listen opens the endpoints, and returns what closes them.
func (d *process) listen(ctx context.Context) (stop func(), err error) {
	pages, err := listen(ctx, "--http", d.HTTP, public(d.ready, d.telemetry.Handler()), d.logger, d.failed)
	if err != nil {
		return nil, err
	}
	if d.codec == nil {
		return pages.close, nil
	}
	decoder, err := listen(ctx, "--codec-http", d.CodecHTTP, d.codec.Handler(d.CodecOrigin), d.logger, d.failed)
	if err != nil {
		pages.close()
		return nil, err
	}
	return func() {
		decoder.close()
		pages.close()
	}, nil
}

// serve reaches the services and works.
func (d *process) serve(ctx context.Context) (err error) {
	keys := &keeper{process: d}
	temporal, err := d.dial(ctx, keys)
	if err != nil {
		return err
	}
	defer temporal.Close()
	if err := keys.judge(ctx); err != nil {
		d.logger.Error("cannot go on", "error", err)
		return err
	}
	opened, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	id, err := opened.Log.ID(ctx)
	if err != nil {
		return err
	}
	ctx = belonging.With(ctx, id) // also what schedules and triggers begin
	watching, end := context.WithCancel(ctx)
	var watch sync.WaitGroup
	log, err := d.openLog(ctx, opened)
	if err != nil {
		end()
		return err
	}
	d.told.To(opened.Log)
	defer d.closeTold()
	begin := func(where string, loop func()) { watch.Go(defect.Again(watching, where, loop)) }
	begin("log", func() { d.watchLog(watching, opened.Log, log.Notary) })
	begin("seals", func() { d.watchSeals(watching, opened.Log.Reader) })
	begin("abandoned", func() {
		d.watchAbandoned(watching, recovery.Abandoned{Client: temporal, Namespace: keys.namespace, Log: opened.Log})
	})
	lead := &lead{log: opened.Log, alone: d.Alone}
	begin("lead", func() { lead.keep(watching, d.logger) })
	begin("outbox", func() { d.watchOutbox(watching, opened.Log, lead) })
	begin("retention", func() { d.watchRetention(watching, opened) })
	if log.Unsealed == "" {
		begin("outputs", func() { d.watchOutputs(watching, opened) })
	}
	keeper := d.keeperOf(temporal, opened)
	begin("schedules", func() { d.watchSchedules(watching, keeper, lead) })
	begin("triggers", func() { d.watchTriggers(watching, temporal, opened, lead) })
	defer watch.Wait()
	defer end()
	return d.work(ctx, temporal, opened, keeper, id)
}

// dial connects to Temporal, as soon as it is there. The keeper is told of what this process cannot read.
func (d *process) dial(ctx context.Context, keys *keeper) (client.Client, error) {
	o, err := cluster.Options(d.Temporal, nil)
	if err != nil {
		return nil, &UsageError{err}
	}
	o.Logger = sdklog.NewStructuredLogger(d.logger)
	o.Identity, o.ContextPropagators = d.identity(), []workflow.ContextPropagator{belonging.Propagator{}}
	guard := &codec.Guard{Codec: d.codec, Unreadable: keys.unreadable, Failed: d.runFailed}
	guard.ClientOptions(&o)
	d.telemetry.ClientOptions(&o)
	d.told.ClientOptions(&o)
	lasts := func(err error) bool {
		fault, ok := errors.AsType[*cluster.Fault](err)
		return ok && fault.Lasting
	}
	temporal, err := waitFor(ctx, temporalService, d.logger, d.ready, lasts, func(ctx context.Context) (client.Client, error) {
		return cluster.Dial(ctx, o)
	})
	if err != nil {
		return nil, err
	}
	keys.temporal, keys.namespace = temporal, o.Namespace
	d.logger.Info("connected", "to", temporalService, "at", cluster.Place(o))
	d.ready.set(temporalService, func(ctx context.Context) error { return cluster.Answers(ctx, temporal, o) }, nil)
	return temporal, nil
}

// open opens landscape and payload store, as soon as they are there.
func (d *process) open(ctx context.Context) (*storage.Storage, error) {
	o := d.storage()
	lasts := func(err error) bool {
		_, service := errors.AsType[*storage.ServiceError](err)
		return !service
	}
	opened, err := waitFor(ctx, landscapeService, d.logger, d.ready, lasts, func(ctx context.Context) (*storage.Storage, error) {
		return openToWrite(ctx, o)
	})
	if err != nil {
		return nil, misused(err)
	}
	d.logger.Info("opened", "landscape", opened.Place)
	if warning, err := opened.OwnerWarning(ctx); err != nil || warning != "" {
		d.logger.Warn(cmp.Or(warning, "whether the role owns the record is unknown"), "landscape", opened.Place, "error", err)
	}
	d.ready.set(landscapeService, func(ctx context.Context) error { return landscapeAnswers(ctx, opened) }, nil)
	_, err = waitFor(ctx, payloadsService, d.logger, d.ready, lasts, func(ctx context.Context) (*storage.Storage, error) {
		return opened, opened.OpenPayloads(ctx, o)
	})
	if err != nil {
		return nil, errors.Join(misused(err), opened.Close())
	}
	d.ready.set(payloadsService, func(ctx context.Context) error { return payloadsAnswer(ctx, opened) }, nil)
	return opened, nil
}

// openToWrite opens the landscape, and refuses a role that may not do what working for runs needs.
func openToWrite(ctx context.Context, o storage.Options) (*storage.Storage, error) {
	opened, err := storage.OpenLandscape(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := opened.MayWrite(ctx); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
}

// misused marks an error about the words with which the process was started, such as those that name a landscape that
// it cannot use.
func misused(err error) error {
	if wrong, ok := errors.AsType[*storage.URLError](err); ok {
		return &UsageError{fmt.Errorf("--%w", wrong)}
	}
	if _, unfit := errors.AsType[*landscape.UnfitError](err); unfit {
		return &UsageError{err}
	}
	return err
}

// landscapeAnswers asks the landscape for a little, and whether the process may write.
func landscapeAnswers(ctx context.Context, opened *storage.Storage) error {
	if _, err := opened.Log.OutboxHead(ctx); err != nil {
		return err
	}
	return opened.MayWrite(ctx)
}

// nothing is a payload that no run needs.
var nothing = payload.Of([]byte("is the store there?"))

// payloadsAnswer asks the payload store for what is not there.
func payloadsAnswer(ctx context.Context, opened *storage.Storage) error {
	_, err := opened.Payloads.Has(ctx, nothing)
	return err
}

// work works until ctx ends, or until the process cannot go on. id is that of the landscape.
func (d *process) work(ctx context.Context, temporal client.Client, opened *storage.Storage, keeper *slots.Keeper, id string) error {
	inHand, giveBack := context.WithCancelCause(context.Background())
	defer giveBack(nil)
	member := worker.Member{
		Queue: d.Queue, Files: d.Files, Pipelines: d.Pipelines, Environment: d.Environment, Keeper: keeper, Options: d.workerOptions(),
	}
	member.Options.BackgroundActivityContext = inHand
	member.Options.WorkerStopTimeout = d.Drain + givingBack
	member.Options.OnFatalError = func(err error) { d.failed <- fmt.Errorf("temporal: %w", err) }
	member.Options.Interceptors = []interceptor.WorkerInterceptor{d.telemetry.Interceptor(recorded(opened.Log.Reader))}
	affinity, err := member.Affinity()
	if err != nil {
		return &UsageError{err}
	}
	affinity.Landscape = id
	others := &others{process: d}
	if d.Alone {
		affinity.Split = math.MaxInt64 // nobody shares its runs, and shares of a long one would keep all places
	}
	if !d.Alone { // or else there is no other worker
		member.Options.Identity = d.identity() + d.facts(id)
		member.Options.Interceptors = append(member.Options.Interceptors, &belonging.Guard{ID: id, Other: others.told})
	}
	sdkworker.SetBinaryChecksum(d.Code) // or else the SDK reads the whole binary to name it
	if d.StickyCache > 0 {
		sdkworker.SetStickyWorkflowCacheSize(d.StickyCache)
	}
	group := member.Group(temporal, affinity, activities.NewAt(affinity, opened.Log, opened.Payloads, d.plannerOf(opened), d.Code))
	if err := group.Start(); err != nil {
		return err
	}
	d.ready.set(workService, others.check, nil)
	d.logger.Info("working", "queue", d.Queue, "files", affinity.Files, "version", d.Code, "deployment", d.Deployment, "build", d.BuildID)
	select {
	case <-ctx.Done():
	case err = <-d.failed:
		d.logger.Error("cannot go on", "error", err)
	}
	d.drain(group, giveBack, err)
	return err
}

// plannerOf is planner for who reads what the storage has.
func (d *process) plannerOf(opened *storage.Storage) worker.Planner {
	planner := d.planner()
	planner.Delivered = opened.Delivered
	return planner
}

// planner compiles documents.
func (d *process) planner() worker.Planner {
	p := worker.Planner{
		AllowNetworks: d.AllowNetworks, SecretsDir: d.SecretsDir, FingerprintKey: d.fingerprintKey,
		Reserved: worker.Reserved(d.storage().Reserved()), Credentials: d.credentials,
	}
	d.Confine(&p)
	p.Periods = d.Retention
	return p
}

// errDrained ends the activities that take too long when the process is to end. Temporal gives them to others.
var errDrained = errors.New("the worker process ends")

// drain takes no more work, and lets what is in hand come to its end. What takes too long is given back. why is what the process ends
// for; nil if it was told to.
func (d *process) drain(group worker.Group, giveBack context.CancelCauseFunc, why error) {
	d.ready.set(workService, nil, cmp.Or(why, errDrained))
	d.logger.Info("draining", "at most", d.Drain.String())
	late := time.AfterFunc(d.Drain, defect.Guard("drain", func() {
		d.logger.Warn("giving back what is in hand")
		giveBack(errDrained)
	}))
	group.Stop()
	late.Stop()
	d.logger.Info("drained")
}

// recorded returns what tells of a run what telemetry has to know.
func recorded(log *landscape.Reader) func(context.Context, string) (telemetry.Run, error) {
	return func(ctx context.Context, run string) (telemetry.Run, error) {
		record, err := log.Run(ctx, run)
		return telemetry.Run{Pipeline: record.Pipeline, Started: record.Started.Time()}, err
	}
}

// closeTold records what was logged about runs and not yet.
func (d *process) closeTold() {
	ctx, done := context.WithTimeout(context.Background(), closeTimeout)
	defer done()
	if err := d.told.Close(ctx); err != nil {
		d.logger.Info("what was logged about runs is not recorded", "error", err)
	}
}

// stopTelemetry sends what was not sent yet.
func (d *process) stopTelemetry() {
	ctx, done := context.WithTimeout(context.Background(), closeTimeout)
	defer done()
	if err := d.telemetry.Stop(ctx); err != nil {
		d.logger.Warn("telemetry", "error", err)
	}
}
