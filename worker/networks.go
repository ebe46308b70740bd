package worker

import (
	"fmt"
	"net/netip"
	"strings"
)

// Networks are networks that documents may lead to, as a flag takes them: 10.0.0.0/8, or one address, several separated by commas.
// The flag may be repeated.
type Networks []netip.Prefix

// Set adds networks.
func (n *Networks) Set(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		prefix, err := netip.ParsePrefix(word)
		if address, alone := netip.ParseAddr(word); alone == nil && address.Zone() == "" {
			prefix, err = netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen()), nil
		}
		if err != nil {
			return fmt.Errorf("%q is neither a network such as 10.0.0.0/8 nor an address", word)
		}
		*n = append(*n, prefix.Masked())
	}
	return nil
}

// String returns the networks as Set takes them.
func (n *Networks) String() string {
	words := make([]string, len(*n))
	for i, prefix := range *n {
		words[i] = prefix.String()
	}
	return strings.Join(words, ",")
}

// Type names what the flag takes.
func (*Networks) Type() string { return "network" }
