package keys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// next returns the path of the key that is to take the place of another.
func next(folder string, kind Kind) string { return file(folder, kind+".next") }

// Next returns the key that is to take the place of the folder's key of a kind, and makes it of this name, beside that one, if it is not there yet. With a
// signer, from is as Adopt says, and publicFile too. Only its Replace puts it in its place.
func Next(folder string, kind Kind, name, from, publicFile string) (Key, error) {
	path := next(folder, kind)
	made, err := usable(load(path, kind))
	switch {
	case err == nil && (made.From != from || made.Name() != name):
		return Key{}, fmt.Errorf("%s was made to take the place of the key, and is of another name or signer: remove it", path)
	case !errors.Is(err, ErrNone):
		return made, err
	}
	text, err := madeOf(name, path, kind, from, publicFile)
	if err != nil {
		return Key{}, err
	}
	return place(path, kind, text)
}

// madeOf makes what the file of a key has.
func madeOf(name, path string, kind Kind, from, publicFile string) (string, error) {
	if from == "" {
		return generated(kind, name)
	}
	return adopted(path, kind, name, from, publicFile)
}

// LoadAs reads the folder's key of a kind whose public key is this one: also if it is to take the place of another, and a kill came before it did. The error
// wraps ErrNone if neither is; otherwise it is as Load's.
func LoadAs(folder string, kind Kind, vkey string) (Key, error) {
	key, err := Load(folder, kind)
	if err != nil || key.VKey == vkey {
		return key, err
	}
	key, err = usable(load(next(folder, kind), kind))
	if err == nil && key.VKey != vkey {
		key, err = Key{}, fmt.Errorf("%s is another key than %.120s: %w", file(folder, kind), vkey, ErrNone)
	}
	return key, err
}

// Kept returns the file to which Replace moves a key with this hash: LoadKept reads it, and who restores a record from before may need it.
func Kept(folder string, kind Kind, hash uint32) string {
	return file(folder, kind+Kind(fmt.Sprintf(".%08x", hash)))
}

// LoadKept reads a key of a kind that another one in the folder replaced. The error is as Load's; it also wraps ErrNone if the file has another key.
func LoadKept(folder string, kind Kind, vkey string) (Key, error) {
	public, err := note.NewVerifier(vkey)
	if err != nil {
		return Key{}, fmt.Errorf("%.120s: %w", vkey, err)
	}
	path := Kept(folder, kind, public.KeyHash())
	key, err := usable(load(path, kind))
	if err == nil && key.VKey != vkey {
		return Key{}, fmt.Errorf("%s is another key than %.120s: %w", path, vkey, ErrNone)
	}
	return key, err
}

// IsNext reports whether a key still has to take its place.
func (k Key) IsNext() bool { return strings.HasSuffix(k.Place, ".next.key") }

// Replace puts a key of Next in its place, durably, and returns it and the file to which it moved the one that was there. Killed anywhere, it may be repeated.
func (k Key) Replace(folder string) (placed Key, old string, err error) {
	was, err := Load(folder, k.Kind)
	if err != nil {
		return Key{}, "", err
	}
	old = Kept(folder, k.Kind, was.KeyHash())
	if err := os.Link(was.Place, old); err != nil && !errors.Is(err, fs.ErrExist) {
		return Key{}, "", fmt.Errorf("keys: %w", err)
	}
	err = SyncFolder(folder)
	if err == nil {
		err = os.Rename(k.Place, was.Place)
	}
	if err == nil {
		err = SyncFolder(folder)
	}
	if err != nil {
		return Key{}, "", fmt.Errorf("keys: %w", err)
	}
	placed, err = Load(folder, k.Kind)
	return placed, old, err
}
