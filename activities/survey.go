package activities

import (
	"context"
	"errors"
	"reflect"

	"go.temporal.io/sdk/activity"

	"waymark/internal/processors"
	"waymark/landscape"
	"waymark/plugin"
)

// survey finds where the next chunks of a source begin, as the source itself splits them, and records nothing: Pass
// reads and records each share. It stops before a chunk that no other reader can begin at.
func (a *Activities) survey(ctx context.Context, r *run, in ReadInput) (ReadResult, error) {
	ctx, turn := r.share.Beside(ctx)
	defer turn.End()
	defer a.shares.reading()()
	var chunks []ReadChunk
	reading, share, bytes := r.readings[in.Source], Share{}, 0
	out := ReadResult{Cursor: in.Cursor, Survey: true, Worker: a.affinity.OwnQueue}
	for at, sizes := in, in.Shares; len(sizes) > 0; at.Chunk++ {
		chunk, after, err := r.next(ctx, at, reading)
		if err != nil && len(chunks) == 0 {
			return ReadResult{}, unread(r, in, err)
		}
		if err != nil || chunk == nil {
			out.Ended = err == nil
			break
		}
		if out.Seeks = reading.seeks(); !out.Seeks {
			break
		}
		chunks = append(chunks, ReadChunk{chunk.Len(), int64(len(chunk.Data))})
		share.Chunks, share.End, bytes = share.Chunks+1, after, bytes+len(chunk.Data)
		if share.Chunks >= sizes[0] || bytes >= mostStretch {
			out.Shares, sizes, share, bytes = append(out.Shares, share), sizes[1:], Share{}, 0
		}
		out.Cursor, at.Cursor = after, after
		r.spare.Put(chunk)
		if processors.Breathe(ctx) != nil {
			break
		}
	}
	if share.Chunks > 0 {
		out.Shares = append(out.Shares, share)
	}
	if out.Done = len(chunks) == 0; !out.Done {
		out.Rows, out.Bytes, out.More = chunks[0].Rows, chunks[0].Bytes, chunks[1:]
	}
	return out, nil
}

// readShare reads and records the chunks of a share, all or none, unless they are recorded. They must end where the
// survey said, after the same bytes of the file.
func (a *Activities) readShare(ctx context.Context, r *run, chunks []PassInput) error {
	first := chunks[0]
	if first.Unread == nil {
		return nil
	}
	if done, err := a.readAlready(ctx, r, chunks); err != nil || done {
		return err
	}
	end, err := r.share.Call(ctx)
	if err != nil {
		return err
	}
	defer end()
	ctx, turn := r.share.Beside(ctx)
	defer turn.End()
	own := &reading{}
	in := ReadInput{Source: first.Source, Chunk: first.Chunk, Cursor: first.Unread.At, Most: len(chunks)}
	stretch, _, broken, err := a.readStretch(ctx, r, in, own)
	ends := func() bool {
		return len(stretch) == len(chunks) && reflect.DeepEqual(stretch[len(stretch)-1].after, first.Unread.End)
	}
	switch {
	case err == nil && broken != nil:
		in.Chunk += int64(len(stretch))
		err = unread(r, in, broken)
	case err == nil && !ends():
		err = unread(r, in, moved(stretch))
	}
	if err = errors.Join(err, own.close()); err != nil {
		return err
	}
	if err := a.recordStretch(ctx, r, in, stretch); err != nil {
		return err
	}
	r.leave(in, stretch)
	return nil
}

// readAlready reports whether chunks of a share are recorded: an earlier attempt, or execution, read them.
func (a *Activities) readAlready(ctx context.Context, r *run, chunks []PassInput) (bool, error) {
	if a.epoch == 0 && activity.GetInfo(ctx).Attempt == 1 {
		return false, nil
	}
	first, last := chunks[0], chunks[len(chunks)-1]
	log := a.log.Stretch(r.id, first.Source, first.Chunk, last.Chunk)
	for _, chunk := range chunks {
		_, err := log.Chunk(ctx, r.id, landscape.ChunkKey{Source: chunk.Source, Chunk: chunk.Chunk})
		if errors.Is(err, landscape.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// moved is the fault of a source whose chunks do not end any more where a survey found that they do.
func moved(stretch []*piece) error {
	name := ""
	if len(stretch) > 0 {
		name = stretch[0].chunk.File
	}
	return &plugin.SourceError{Code: codeSourceChanged, File: name, Message: "it changed while the run read it: " +
		"put it back, or start over with waymark resume --fork, and leave the files alone while they are read"}
}
