package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"waymark/client"
	"waymark/landscape"
)

// output sends the file that a sink of a run published, whole or in ranges, after its bytes were compared with the digest that is recorded.
func output(ctx context.Context, c *call, run landscape.Run) (any, error) {
	status, err := c.server.Home.Status(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	name := c.PathValue("sink")
	i := slices.IndexFunc(status.Sinks, func(s client.Sink) bool { return s.Sink == name && s.SHA256 != "" })
	if i < 0 {
		return nil, &client.Error{Kind: client.NotFound, Code: client.OutputNotFound, Message: fmt.Sprintf("run %s published no output of a sink %.64q", run.ID, name), Run: run.ID}
	}
	published := status.Sinks[i]
	file, err := openOutput(published.Path)
	if err != nil {
		return nil, &client.Error{Kind: client.Conflict, Code: client.OutputDiffers, Message: fmt.Sprintf("the output of sink %s cannot be read here as one file: %v", name, err), Run: run.ID, Err: err}
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return nil, err
	}
	if hex.EncodeToString(hash.Sum(nil)) != published.SHA256 {
		return nil, &client.Error{Kind: client.Conflict, Code: client.OutputDiffers, Message: fmt.Sprintf("the file of sink %s does not hold what the run published", name), Run: run.ID}
	}
	if err := c.disclose(run.ID, "output", name); err != nil {
		return nil, err
	}
	c.attach("application/octet-stream", filepath.Base(published.Path), "no-cache")
	c.sendFile(file, hash.Sum(nil))
	return nil, nil
}

// attach says that what is sent is a file to keep, and nothing that a browser shows. cache says whether who asked may keep it for the same request.
func (c *call) attach(mediaType, name, cache string) {
	header := c.w.Header()
	header.Set("Content-Type", mediaType)
	header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("Cache-Control", "private, "+cache)
	c.sent, c.status = true, http.StatusOK
}

// sendFile sends a file with this SHA-256, whole or in ranges.
func (c *call) sendFile(file io.ReadSeeker, sum []byte) {
	header := c.w.Header()
	header.Set("ETag", `"`+hex.EncodeToString(sum)+`"`)
	header.Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum)+":")
	http.ServeContent(counted{c.w, c}, c.Request, "", time.Time{}, file)
}

// openOutput opens a file for reading; a folder, a table or an object in a bucket is none.
func openOutput(path string) (*os.File, error) {
	if !filepath.IsAbs(path) {
		return nil, errors.New("it is not a file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, errors.Unwrap(err) // without the path
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errors.New("it is not a file"), file.Close())
	}
	return file, nil
}

// counted is a writer that ends when the caller's token does not count any more.
type counted struct {
	http.ResponseWriter
	call *call
}

func (w counted) Write(part []byte) (int, error) {
	if err := w.call.counts(); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(part)
}
