package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"waymark/plugin"
	"waymark/plugin/file"
)

// webStore is a web server that holds one file.
type webStore struct {
	remote  *Remote
	web     *http.Client
	origin  string // scheme, host and port
	headers http.Header
}

func (*webStore) OnHost() bool { return false }

func (*webStore) Fixed(plugin.FileInfo) bool { return false }

// List asks for the file, and reads nothing of it: servers and signed addresses often reject HEAD.
func (w *webStore) List(ctx context.Context, address string) ([]plugin.FileInfo, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reply, err := w.request(ctx, address, "", "")
	if err != nil {
		return nil, err
	}
	body := reply.Body
	defer body.Close()
	return []plugin.FileInfo{describe(address, reply)}, nil
}

// describe says what a reply that brings the whole file tells about it.
func describe(address string, reply *http.Response) plugin.FileInfo {
	info := plugin.FileInfo{Path: address, Bytes: max(reply.ContentLength, 0)}
	if etag := reply.Header.Get("ETag"); etag != "" {
		info.Version = byETag + etag
	} else if modified, err := http.ParseTime(reply.Header.Get("Last-Modified")); err == nil {
		info.ModifiedMicros = modified.UnixMicro()
	}
	return info
}

// validatorOf returns by what a request can ask for a part of the same file; "" if the server named nothing that is sure to change
// with the bytes.
func validatorOf(info plugin.FileInfo) string {
	etag := strings.TrimPrefix(info.Version, byETag)
	switch {
	case strings.HasPrefix(etag, "W/"):
		return ""
	case etag == "" && info.ModifiedMicros != 0:
		return time.UnixMicro(info.ModifiedMicros).UTC().Format(http.TimeFormat)
	}
	return etag
}

// Open asks for nothing: every request for the file's bytes compares what it gets with info.
func (w *webStore) Open(_ context.Context, info plugin.FileInfo) (file.File, error) {
	validator := validatorOf(info)
	get := func(ctx context.Context, from, to int64) (io.ReadCloser, error) {
		return w.get(ctx, info, validator, from, to)
	}
	return &object{info: info, pinned: validator != "" && info.Bytes > 0, wait: w.remote.wait, get: get}, nil
}

// gone turns the fault of a file that is not there any more into SOURCE_CHANGED.
func gone(path string, err error) error {
	if fault, ok := errors.AsType[*plugin.SourceError](err); ok && fault.Code == codeNotFound {
		return file.Changed(path)
	}
	return err
}

// get returns the bytes from one offset up to another, or to the end if that is negative.
func (w *webStore) get(ctx context.Context, info plugin.FileInfo, validator string, from, to int64) (io.ReadCloser, error) {
	piece := ""
	if to >= 0 {
		piece = fmt.Sprintf("bytes=%d-%d", from, to-1)
	} else if from > 0 {
		piece = fmt.Sprintf("bytes=%d-", from)
	}
	if from > 0 && from == info.Bytes {
		return http.NoBody, nil
	}
	reply, err := w.request(ctx, info.Path, piece, validator)
	if err != nil {
		return nil, gone(info.Path, err)
	}
	body, err := w.body(reply, info, from, to)
	if err != nil {
		_ = reply.Body.Close() // it was read from only
	}
	return body, err
}

// body returns the bytes that were asked for, also from a server that sends the whole file where a part would do.
func (w *webStore) body(reply *http.Response, info plugin.FileInfo, from, to int64) (io.ReadCloser, error) {
	if reply.StatusCode == http.StatusPartialContent {
		start, total, ok := parseContentRange(reply.Header.Get("Content-Range"))
		if !ok || start != from || total != info.Bytes || differs(reply, info) {
			return nil, file.Changed(info.Path)
		}
		return reply.Body, nil
	}
	if describe(info.Path, reply) != info {
		return nil, file.Changed(info.Path)
	}
	if from > 0 {
		if _, err := io.CopyN(io.Discard, reply.Body, from); err != nil {
			return nil, err
		}
	}
	if to >= 0 {
		return pieceOf{io.LimitReader(reply.Body, to-from), reply.Body}, nil
	}
	return reply.Body, nil
}

// differs reports whether a reply that brings a part names another version than the one that was asked for.
func differs(reply *http.Response, info plugin.FileInfo) bool {
	etag := reply.Header.Get("ETag")
	return etag != "" && byETag+etag != info.Version
}

type pieceOf struct {
	io.Reader
	io.Closer
}

// request asks for the file at the address, or for a piece of it as long as the validator says that it is the same. The reply is one
// that brings bytes; anything else is an error in words.
func (w *webStore) request(ctx context.Context, address, piece, validator string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, &plugin.SourceError{Code: codeRequestRefused, File: address, Message: innermost(err)}
	}
	request.Header = w.headers.Clone()
	request.Header.Set("Accept-Encoding", "identity") // offsets count the bytes of the file itself
	if piece != "" {
		request.Header.Set("Range", piece)
		request.Header.Set("If-Range", validator)
	}
	reply, err := w.web.Do(request)
	if err != nil {
		if r := refusalOf(err, w.origin); r != nil {
			return nil, &plugin.SourceError{Code: r.code, File: address, Message: r.message}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if strings.Contains(err.Error(), "response headers exceeded") { // net/http has no value for it
			return nil, &plugin.SourceError{Code: codeRequestRefused, File: address,
				Message: fmt.Sprintf("%s answers with a head of more than %d bytes", w.origin, maxHeaderBytes)}
		}
		return nil, unreached(err, w.origin)
	}
	if fault := w.judge(address, reply, piece != ""); fault != nil {
		_ = reply.Body.Close() // nobody reads it
		return nil, fault
	}
	return reply, nil
}

// judge rejects a reply that does not bring the file.
func (w *webStore) judge(address string, reply *http.Response, partly bool) error {
	said := fmt.Sprintf("%s answers %s", w.origin, status(reply))
	refuse := func(code, message string) error {
		return &plugin.SourceError{Code: code, File: address, Message: message}
	}
	switch {
	case reply.StatusCode == http.StatusOK && reply.ContentLength < 0 && reply.ProtoMajor < 2 && len(reply.TransferEncoding) == 0:
		return refuse(codeRequestRefused, w.origin+" does not say where the file ends (neither Content-Length nor chunks), so that nobody can tell whether it is whole")
	case reply.StatusCode == http.StatusOK, reply.StatusCode == http.StatusPartialContent && partly:
		return nil
	case reply.StatusCode == http.StatusPreconditionFailed, reply.StatusCode == http.StatusRequestedRangeNotSatisfiable && partly:
		return file.Changed(address)
	case 300 <= reply.StatusCode && reply.StatusCode < 400:
		return refuse(codeRedirected, fmt.Sprintf("%s and sends to %q: redirects are not followed; write that address if you trust it", said, place(reply)))
	case 200 <= reply.StatusCode && reply.StatusCode < 300:
		return refuse(codeRequestRefused, said+", which brings no file")
	}
	if r := refusalOfStatus(reply.StatusCode, said, "check what http.headers say, and who may read it"); r != nil {
		return refuse(r.code, r.message)
	}
	return fmt.Errorf("%s; a later try may work", said)
}

// status is the reply's status in our own words: the server's could hold anything.
func status(reply *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", reply.StatusCode, http.StatusText(reply.StatusCode)))
}

// place returns where a redirect leads, without what could be secret.
func place(reply *http.Response) string {
	at, err := url.Parse(reply.Header.Get("Location"))
	if err != nil {
		return "another place"
	}
	at.User, at.RawQuery, at.Fragment = nil, "", ""
	text := at.String()
	return text[:min(len(text), 200)]
}
