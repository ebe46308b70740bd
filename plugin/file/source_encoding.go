package file

import (
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// A decoding turns bytes of an encoding into UTF-8. It appends to dst what src says and returns dst and how much of src
// it used; final says that nothing follows src. What is no text in the encoding becomes invalid UTF-8, so that it costs
// the row that it stands in and nothing else.
type decoding func(dst, src []byte, final bool) ([]byte, int)

// decodings are the encodings of Files.Encoding besides utf-8.
var decodings = map[string]decoding{
	"latin-1":      decodeLatin1,
	"windows-1252": decodeWindows1252,
	"utf-16le":     utf16Decoding(binary.LittleEndian),
	"utf-16be":     utf16Decoding(binary.BigEndian),
}

// notText stands for a byte that the encoding does not define. It never occurs in UTF-8.
const notText = 0xFF

func decodeLatin1(dst, src []byte, _ bool) ([]byte, int) {
	for _, b := range src {
		dst = utf8.AppendRune(dst, rune(b))
	}
	return dst, len(src)
}

// windows1252 are the characters of the bytes 0x80 to 0x9F; 0 where there is none. Source: Unicode's CP1252.TXT.
var windows1252 = [32]rune{
	'€', 0, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0, 'Ž', 0,
	0, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0, 'ž', 'Ÿ',
}

func decodeWindows1252(dst, src []byte, _ bool) ([]byte, int) {
	for _, b := range src {
		switch {
		case b < 0x80 || b > 0x9F:
			dst = utf8.AppendRune(dst, rune(b))
		case windows1252[b-0x80] == 0:
			dst = append(dst, notText)
		default:
			dst = utf8.AppendRune(dst, windows1252[b-0x80])
		}
	}
	return dst, len(src)
}

func utf16Decoding(order binary.ByteOrder) decoding {
	return func(dst, src []byte, final bool) ([]byte, int) {
		used := 0
		for len(src)-used >= 2 {
			unit := rune(order.Uint16(src[used:]))
			if !utf16.IsSurrogate(unit) {
				dst, used = utf8.AppendRune(dst, unit), used+2
				continue
			}
			if len(src)-used < 4 && !final {
				return dst, used
			}
			full := rune(utf8.RuneError)
			if len(src)-used >= 4 {
				full = utf16.DecodeRune(unit, rune(order.Uint16(src[used+2:])))
			}
			if full == utf8.RuneError {
				dst, used = append(dst, notText), used+2
			} else {
				dst, used = utf8.AppendRune(dst, full), used+4
			}
		}
		if final && used < len(src) {
			return append(dst, notText), len(src)
		}
		return dst, used
	}
}

// decoder reads UTF-8 from a stream in another encoding.
type decoder struct {
	src    io.Reader
	decode decoding
	in     []byte // read and not decoded: at most half a character
	out    []byte // decoded and not handed on
	buffer []byte
	err    error
}

// newDecoder returns src as UTF-8, in pieces of size bytes of src, or of one character if that is more.
func newDecoder(src io.Reader, decode decoding, size int) *decoder {
	return &decoder{src: src, decode: decode, in: make([]byte, 0, max(size, utf8.UTFMax))}
}

// Read hands on what could be decoded before it reports the error of the stream.
func (d *decoder) Read(p []byte) (int, error) {
	for len(d.out) == 0 && d.err == nil {
		var n int
		n, d.err = d.src.Read(d.in[len(d.in):cap(d.in)])
		d.in = d.in[:len(d.in)+n]
		var used int
		d.buffer, used = d.decode(d.buffer[:0], d.in, d.err == io.EOF)
		d.out = d.buffer
		d.in = d.in[:copy(d.in, d.in[used:])]
	}
	if len(d.out) == 0 {
		return 0, d.err
	}
	n := copy(p, d.out)
	d.out = d.out[n:]
	return n, nil
}
