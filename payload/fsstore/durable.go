package fsstore

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"waymark/internal/disk"
	"waymark/internal/failpoint"
)

// publishAttempts bounds how often publish starts again after somebody removed its shard folder (Delete of the last
// object in it) or its temp file (Sweep, after this process was stopped for longer than the grace period).
const publishAttempts = 10

// publish makes data durable under key, by these system calls in this order:
//
//  1. mkdir  objects/ab              unless it exists
//  2. open   objects/ab/tmp-…        O_CREAT|O_EXCL, then flock: Sweep leaves it alone
//  3. write  objects/ab/tmp-…
//  4. fsync  objects/ab/tmp-…        the bytes are durable before any reader can see the name
//  5. rename objects/ab/tmp-… → objects/ab/abcdef…    replaces whatever is there, except a folder
//  6. close  objects/ab/abcdef…      gives the lock back
//  7. fsync  objects/ab              the name is durable
//  8. fsync  objects                 the shard folder is durable, no matter which process made it
//
// Nothing is known after a failed fsync, and the kernel may report it only once: the temp file is removed, and a caller
// that calls again writes a new one.
func publish(d disk.Disk, key string, data []byte) error {
	var err error
	for range publishAttempts {
		if err = publishOnce(d, key, data); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fmt.Errorf("gave up after %d attempts: %w", publishAttempts, err)
}

func publishOnce(d disk.Disk, key string, data []byte) error {
	shard := shardPath(key)
	if err := d.Mkdir(shard, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	temp := shard + "/" + tempPrefix + rand.Text()
	f, err := create(d, temp)
	if err != nil {
		return err
	}
	if err := fill(d, f, temp, objectPath(key), data); err != nil {
		return errors.Join(err, ignoreNotExist(d.Remove(temp)))
	}
	if err := failpoint.Hit("payload.renamed"); err != nil {
		return err
	}
	return syncNames(d, key)
}

// fill writes f, makes it durable and gives it its final name. It closes f in any case.
func fill(d disk.Disk, f disk.File, temp, final string, data []byte) error {
	err := failpoint.Hit("payload.created")
	if err == nil {
		err = write(f, data)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = failpoint.Hit("payload.synced")
	}
	if err == nil {
		err = d.Rename(temp, final)
	}
	return errors.Join(err, f.Close())
}

func write(f disk.File, data []byte) error {
	n, err := f.Write(data[:failpoint.Short("payload.writing", len(data))])
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	return cmp.Or(err, failpoint.Hit("payload.written"))
}

// syncNames makes the name of the object under key durable, from the inside out.
func syncNames(d disk.Disk, key string) error {
	if err := d.SyncDir(shardPath(key)); err != nil {
		return err
	}
	if err := failpoint.Hit("payload.folder.synced"); err != nil {
		return err
	}
	return d.SyncDir(objectsDir)
}
