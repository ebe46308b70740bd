package bundle

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"waymark/audit/evidence"
	"waymark/landscape"
)

// sealIsLogged compares the last seal of the run, as it is recorded, with the entry of the log about it.
func (v *verification) sealIsLogged() error {
	if v.sealed == nil {
		if v.manifest.lacks(sealGap, logGap) {
			return nil
		}
		return errors.New("the bundle contains no log entry about the seal of the run, and no gap says so")
	}
	last, err := lastSeal(v.kept[sealsName])
	switch {
	case err != nil:
		return fmt.Errorf("%s: its last line is not a seal: %w", sealsName, err)
	case !v.sealed.Says(last):
		return fmt.Errorf("%s: its last seal is not the one that entry %d is about", sealsName, v.sealed.Position)
	case v.sealed.Status != v.Status:
		return fmt.Errorf("entry %d says that the run was %s when it was sealed, and the statement says %s", v.sealed.Position, v.sealed.Status, v.Status)
	}
	return nil
}

// table takes the lines of a table.
func (v *verification) table(name string, lines io.Reader) {
	err := v.records.add(name, lines, func(line []byte) { v.derive(name, line) })
	if err != nil && v.badTable == nil {
		v.badTable = fmt.Errorf("%s%s%s: %w", recordFolder, name, recordSuffix, err)
	}
}

// recordsAreSealed computes the roots of the run and of its chunks from the records.
func (v *verification) recordsAreSealed() error {
	if v.badTable != nil {
		return v.badTable
	}
	if err := v.records.index(); err != nil {
		return err
	}
	_, err := landscape.NewReader(v.records).CheckSeals(context.Background(), v.Run)
	if errors.Is(err, landscape.ErrUnsealed) && v.manifest.lacks(sealGap) {
		err = nil
	}
	if err != nil {
		return err
	}
	if err := v.redactionsAreListed(); err != nil {
		return err
	}
	return v.attestationsAreLogged()
}

// attestationsAreLogged compares what was found of the outputs with the entries of the log about it, in both directions.
func (v *verification) attestationsAreLogged() error {
	all, err := landscape.Select[landscape.Attestation](context.Background(), v.records)
	if err != nil {
		return err
	}
	entries := slices.Clone(v.attested)
	for _, look := range evidence.ByNumber(all) {
		i := slices.IndexFunc(entries, func(e evidence.Entry) bool { return e.Attests(look) })
		switch {
		case i >= 0:
			entries = slices.Delete(entries, i, i+1)
		case !v.manifest.lacks(attestationGap):
			return fmt.Errorf("%sattestations%s: no entry of the log says what number %d says", recordFolder, recordSuffix, look[0].Seq)
		}
	}
	if len(entries) > 0 {
		return fmt.Errorf("%sattestations%s: entry %d of the log is about number %d, which is not recorded so", recordFolder, recordSuffix, entries[0].Position, entries[0].Look)
	}
	return nil
}

// lastSeal reads the last line of the seals of a run.
func lastSeal(lines []byte) (landscape.RunSeal, error) {
	lines = bytes.TrimSuffix(lines, []byte("\n"))
	var record struct {
		Run    string `json:"run_id"`
		Seq    int64  `json:"seq"`
		Epoch  int64  `json:"epoch"`
		Root   string `json:"root"`
		Leaves int64  `json:"leaves"`
		Late   int    `json:"late"`
		At     int64  `json:"at_us"`
	}
	err := json.Unmarshal(lines[bytes.LastIndexByte(lines, '\n')+1:], &record)
	if err != nil {
		return landscape.RunSeal{}, err
	}
	root, err := hex.DecodeString(record.Root)
	return landscape.RunSeal{
		Run: record.Run, Seq: record.Seq, Epoch: record.Epoch, Root: root, Leaves: record.Leaves, Late: record.Late == 1, At: landscape.Micros(record.At),
	}, err
}
