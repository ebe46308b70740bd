package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// number is the value of a flag that is a whole number within limits.
type number[T int | int64] struct {
	to          *T
	least, most T
}

// Set refuses what is no such number.
func (n number[T]) Set(word string) error {
	read, err := strconv.ParseInt(word, 10, strconv.IntSize)
	if err != nil || T(read) < n.least || T(read) > n.most {
		return n.limits()
	}
	*n.to = T(read)
	return nil
}

func (n number[T]) String() string {
	if n.to == nil {
		return "" // of the zero value, which the flag's default is compared with
	}
	return fmt.Sprint(*n.to)
}

// Type is the word of the help for a flag whose usage has none.
func (number[T]) Type() string { return "int" }

// limitError says which numbers a flag takes.
type limitError string

func (e limitError) Error() string { return string(e) }

func (n number[T]) limits() error {
	if n.most == math.MaxInt {
		return limitError(fmt.Sprintf("a whole number from %d", n.least))
	}
	return limitError(fmt.Sprintf("a whole number from %d to %d", n.least, n.most))
}

// numberFlag defines a flag that is a whole number, at least least.
func numberFlag[T int | int64](flags *pflag.FlagSet, to *T, name, short string, least, otherwise T, usage string) {
	rangeFlag(flags, to, name, short, [2]T{least, math.MaxInt}, otherwise, usage)
}

// rangeFlag defines a flag that is a whole number within limits.
func rangeFlag[T int | int64](flags *pflag.FlagSet, to *T, name, short string, limits [2]T, otherwise T, usage string) {
	*to = otherwise
	flags.VarP(number[T]{to, limits[0], limits[1]}, name, short, usage)
}

// refuseNegative lets refuse say that an argument of the command may not be negative: a negative number looks like flags.
func refuseNegative(cmd *cobra.Command, refuse func(word string) error) {
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
			if word := "-" + unknown.GetSpecifiedShortnames(); numeric(word) {
				return refuse(word)
			}
		}
		return flagError(err)
	})
}

// numeric reports whether the word is a number, whole or not.
func numeric(word string) bool {
	_, err := strconv.ParseFloat(word, 64)
	return err == nil
}
