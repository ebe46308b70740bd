package witness

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/note"

	"waymark/audit/evidence/keys"
)

// fileOf returns the file with the last head of a log: an origin is not a name of a file.
func (w *Witness) fileOf(origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return filepath.Join(w.folder, hex.EncodeToString(sum[:])+".checkpoint")
}

// last returns the last head that was cosigned; that of an empty log if none was. The error says that the file is damaged: nothing may be cosigned then.
// Besides the signature of the log it has the cosignature: a key of either may be replaced.
func (l *known) last(own note.Verifier) (head, error) {
	text, err := os.ReadFile(l.file)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return head{}, fmt.Errorf("witness: %w", err)
	}
	h, _, err := l.open(string(text), append([]note.Verifier{own}, l.keys...)...)
	if err != nil {
		return head{}, fmt.Errorf("witness: %s is not the last head of %s that was cosigned: restore it: %w", l.file, l.origin, err)
	}
	return h, nil
}

// save makes a head durable as the last one. It does so for every answer: the write before it may have failed after the new name was there.
func (l *known) save(text string) error {
	if err := keys.Replace(l.file, text); err != nil {
		return fmt.Errorf("witness: %w", err)
	}
	return nil
}
