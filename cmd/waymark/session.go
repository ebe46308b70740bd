package main

import (
	"context"
	"errors"
	"sync"

	"waymark/client"
	"waymark/client/local"
	"waymark/payload"
	"waymark/worker"
)

// withSession opens what executes runs, does something with it, and closes it; then it prints what a run wrote to standard output.
func (a *app) withSession(ctx context.Context, purpose client.Purpose, do func(*client.Session) error) (err error) {
	s, err := a.session(ctx, purpose)
	if err != nil {
		return err
	}
	defer func() {
		err = closing(err, s.Close)
		if failed := a.printOutput(); failed != nil {
			err = failed // what else there is to say was said
		}
	}()
	return do(s)
}

// session does what client.Host says: it opens the record, and starts the embedded Temporal server, or connects to the cluster. To start a
// run, it makes what is missing in the state folder; if a cluster executes runs, that folder is its workers' affair. Only one process at
// a time can do so for a state folder.
func (a *app) session(ctx context.Context, purpose client.Purpose) (*client.Session, error) {
	if purpose == client.ToStart {
		return a.sessionToStart(ctx)
	}
	record, err := a.openRecord(ctx)
	if err != nil {
		return nil, err
	}
	if purpose == client.ToResume {
		err = a.openPayloads(ctx, record)
	}
	if err == nil {
		err = a.mayWork(ctx, record.opened)
	}
	var planner worker.Planner
	if err == nil {
		planner, err = a.planner(local.Folder.Key)
	}
	if err == nil && !a.onCluster() {
		err = a.folder().Make() // it is not there if the record lies elsewhere
	}
	if err != nil {
		return nil, closing(err, record.close)
	}
	return a.connected(ctx, record, planner)
}

func (a *app) sessionToStart(ctx context.Context) (*client.Session, error) {
	key := local.Folder.Key
	if !a.onCluster() {
		key = local.Folder.LastingKey
		if err := a.folder().Make(); err != nil {
			return nil, err
		}
	}
	planner, err := a.planner(key)
	if err != nil {
		return nil, err
	}
	record, err := a.createRecord(ctx)
	if err != nil {
		return nil, err
	}
	return a.connected(ctx, record, planner)
}

// connected returns a session with a connection to the embedded Temporal server, or to the cluster. It closes the record, also if there
// is no connection.
func (a *app) connected(ctx context.Context, record *record, planner worker.Planner) (*client.Session, error) {
	s := &client.Session{
		Log: record.log, Planner: planner, Code: thisBuild().Code(), Place: record.place, Files: a.files, Private: a.ownRecord(),
		Actor: actor(), Warn: func(message string) { a.note("%s", message) }, Databases: a.databases(), Active: new(sync.Map),
		Payloads: func(ctx context.Context) (*payload.Store, error) {
			err := a.openPayloads(ctx, record)
			return record.payloads, err
		},
	}
	release, err := a.connect(ctx, s)
	s.Release = func() error { return errors.Join(release(), record.close()) }
	if err != nil {
		return nil, closing(err, s.Close)
	}
	return s, nil
}

// connect connects the session, and returns what releases the connection, also after an error.
func (a *app) connect(ctx context.Context, s *client.Session) (release func() error, err error) {
	release = func() error { return nil }
	if a.onCluster() {
		s.Queue = a.queue
		if s.Connection, err = a.dialCluster(ctx); err == nil {
			release = func() error { s.Temporal.Close(); return nil }
		}
		return release, err
	}
	lift := limitMemory(runBytes, 200)
	s.State = a.folder().File("")
	connection, stop, err := a.folder().Serve(ctx, identity(), a.logger())
	if err != nil {
		lift()
		return release, err
	}
	s.Connection = connection
	return func() error {
		defer lift()
		return stop()
	}, nil
}

// databases returns the files that runs of this state folder write besides their payloads and outputs; none on a cluster.
func (a *app) databases() []string {
	if a.onCluster() {
		return nil
	}
	return local.Databases(a.folder(), a.landscapeURL())
}
