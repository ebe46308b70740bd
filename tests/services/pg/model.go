package pg

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
)

// initialize makes the data folder of a server: a copy of what initdb made once on this machine, which takes a second
// of CPU time. The copies have one password.
func (s *Server) initialize() error {
	model, err := s.model()
	if err != nil {
		return err
	}
	password, err := os.ReadFile(filepath.Join(model, passwordName))
	if err != nil {
		return err
	}
	s.password = string(password)
	return s.copyData(filepath.Join(model, dataName), s.data())
}

// The names of what is in a model.
const (
	dataName     = "data"
	passwordName = "password" // of the superuser
)

// model returns the folder with the copy for all servers of this release of Postgres, in the user's cache. It is made
// if it is missing, and never changed.
func (s *Server) model() (folder string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	initdb, err := os.Stat(filepath.Join(s.programs, "initdb"))
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s-%d", s.programs, initdb.ModTime().Unix())
	folder = filepath.Join(cache, "waymark-services", url.PathEscape(name))
	if isThere(folder) {
		return folder, nil
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(folder+".lock", os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	if isThere(folder) { // another process made it since then
		return folder, nil
	}
	return folder, s.makeModel(folder)
}

func isThere(folder string) bool {
	_, err := os.Stat(folder)
	return err == nil
}

// makeModel runs initdb in the server's folder, and keeps a copy of its work. A process that is killed half-way leaves
// a folder of another name, which the next one replaces.
func (s *Server) makeModel(folder string) error {
	password, secret := rand.Text(), filepath.Join(s.folder, passwordName)
	if err := errors.Join(os.WriteFile(secret, []byte(password), 0o600), s.handOver(secret)); err != nil {
		return err
	}
	out, err := s.command("initdb", "--pgdata="+s.data(), "--username=postgres", "--pwfile="+secret,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	half := folder + ".half"
	if err := errors.Join(os.RemoveAll(half), os.Mkdir(half, 0o700)); err != nil {
		return err
	}
	kept := &Server{} // this process's user
	err = errors.Join(
		os.WriteFile(filepath.Join(half, passwordName), []byte(password), 0o600),
		kept.copyData(s.data(), filepath.Join(half, dataName)),
		os.RemoveAll(s.data()),
	)
	if err != nil {
		return err
	}
	return os.Rename(half, folder)
}

// copyData copies a data folder for the user as whom the server runs.
func (s *Server) copyData(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if entry.IsDir() {
			return errors.Join(os.Mkdir(target, 0o700), s.handOver(target))
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return errors.Join(os.WriteFile(target, content, 0o600), s.handOver(target))
	})
}

// handOver gives a file or folder to the user as whom the server runs.
func (s *Server) handOver(path string) error {
	if s.as == nil {
		return nil
	}
	return os.Chown(path, int(s.as.Uid), int(s.as.Gid))
}
