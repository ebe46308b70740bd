package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// plainLoop does the benchmark's job as one would by hand: one goroutine, the standard library, typed cells, two files,
// one fsync each, and no record of what happened.
func plainLoop(source, folder string) (rows int, err error) {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return 0, err
	}
	in, err := os.Open(source)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	review, err := create(folder, "review.jsonl")
	if err != nil {
		return 0, err
	}
	all, err := create(folder, "all.jsonl")
	if err != nil {
		return 0, errors.Join(err, review.close())
	}
	rows, err = convert(in, review, all)
	return rows, errors.Join(err, review.close(), all.close())
}

func convert(in io.Reader, review, all output) (rows int, err error) {
	reader := csv.NewReader(bufio.NewReaderSize(in, 1<<20))
	reader.ReuseRecord = true
	header, err := reader.Read()
	if err != nil {
		return 0, err
	}
	names := append([]string(nil), header...)
	var line []byte
	for {
		cells, err := reader.Read()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		var severe bool
		if line, severe, err = encode(line[:0], names, cells); err != nil {
			return rows, fmt.Errorf("row %d: %w", rows+1, err)
		}
		to := all
		if severe {
			to = review
		}
		if _, err := to.Write(line); err != nil {
			return rows, err
		}
		rows++
	}
}

// encode types the cells, adds the band, and appends the row as a line of JSON.
func encode(dst []byte, names, cells []string) (line []byte, severe bool, err error) {
	band, paid := "minor", false
	for i, cell := range cells {
		dst = append(dst, `,"`...)
		dst = append(dst, names[i]...)
		dst = append(dst, `":`...)
		switch names[i] {
		case "id", "amount", "quantity":
			number, err := strconv.ParseInt(cell, 10, 64)
			if err != nil {
				return dst, false, err
			}
			if names[i] == "amount" && number > 2500 {
				band = "major"
			}
			dst = strconv.AppendInt(dst, number, 10)
		case "price":
			number, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				return dst, false, err
			}
			dst = strconv.AppendFloat(dst, number, 'g', -1, 64)
		case "ordered":
			day, err := time.Parse(time.DateOnly, cell)
			if err != nil {
				return dst, false, err
			}
			dst = append(day.AppendFormat(append(dst, '"'), time.DateOnly), '"')
		case "paid":
			if paid, err = strconv.ParseBool(cell); err != nil {
				return dst, false, err
			}
			dst = strconv.AppendBool(dst, paid)
		default:
			dst = strconv.AppendQuote(dst, cell)
		}
	}
	dst = append(dst, `,"band":"`...)
	dst = append(dst, band...)
	dst = append(dst, "\"}\n"...)
	dst[0] = '{'
	return dst, band == "major" && !paid, nil
}

// output is a buffered file.
type output struct {
	*bufio.Writer
	file *os.File
}

func create(folder, name string) (output, error) {
	file, err := os.Create(filepath.Join(folder, name))
	if err != nil {
		return output{}, err
	}
	return output{bufio.NewWriterSize(file, 1<<20), file}, nil
}

func (o output) close() error {
	return errors.Join(o.Flush(), o.file.Sync(), o.file.Close())
}
