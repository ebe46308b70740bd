// Package strictjson writes and reads JSON of which there is one form: members as declared, no white space, no more escapes than JSON asks for, a
// line end. What is signed or hashed is written in it, so that every reader sees the same.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Encode returns v in the one form, with its line end.
func Encode(v any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return text.Bytes(), err
}

// ErrForm says that JSON is not in the one form.
var ErrForm = errors.New("it is not in the strict form: other white space, order, names or escapes")

// Decode reads what Encode wrote, and refuses everything else: with ErrForm if it is what v would be in another form.
func Decode[T any](text []byte) (v T, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&v); err != nil {
		return v, err
	}
	again, err := Encode(v)
	if err == nil && !bytes.Equal(again, text) {
		err = ErrForm
	}
	return v, err
}
