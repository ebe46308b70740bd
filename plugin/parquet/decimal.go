package parquet

import (
	"encoding/binary"
	"math/big"
	"strconv"
	"strings"

	"waymark/internal/text"
	"waymark/plugin"
)

// decimalDigits is how many digits a decimal column has, which fit into decimalBytes.
const (
	decimalDigits = 38
	decimalBytes  = 16
)

// appendFixed appends a decimal as the integer that it is with the point moved by the column's scale to the right: big-endian,
// in two's complement.
func appendFixed(dst []byte, column *target, value string) ([]byte, *plugin.Rejection) {
	digits, exact := scaled(value, column.scale)
	if !exact {
		return dst, reject(codeInexact, column.Name, "%.64q has more than %s after the point; round it before",
			value, text.Count(int64(column.scale), "digit"))
	}
	if len(strings.TrimLeft(digits, "-0")) > decimalDigits {
		return dst, reject(codeNumberWidth, column.Name, "%.64q has more than %d digits, %d of them after the point",
			value, decimalDigits, column.scale)
	}
	dst = append(dst, 1)
	if len(digits) <= 18 {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err == nil {
			dst = binary.BigEndian.AppendUint64(dst, uint64(n>>63)) // the sign fills the upper half
			return binary.BigEndian.AppendUint64(dst, uint64(n)), nil
		}
	}
	n, _ := new(big.Int).SetString(digits, 10)
	if n.Sign() < 0 {
		n.Add(n, new(big.Int).Lsh(big.NewInt(1), 8*decimalBytes))
	}
	return append(dst, n.FillBytes(make([]byte, decimalBytes))...), nil
}

// scaled returns the digits of a decimal without its point, with so many after where the point was. It is not exact if the
// decimal has more.
func scaled(text string, scale int) (digits string, exact bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	if len(fraction) > scale {
		if strings.Trim(fraction[scale:], "0") != "" {
			return "", false
		}
		fraction = fraction[:scale]
	}
	return whole + fraction + strings.Repeat("0", scale-len(fraction)), true
}
