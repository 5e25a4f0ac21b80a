package netguard

import (
	"fmt"
	"net/netip"
)

// AddressError says that an address lies where no stranger's link may lead.
type AddressError struct {
	Addr netip.Addr
	Kind string // "loopback", "private network", …
}

// Error implements error.
func (e *AddressError) Error() string {
	return fmt.Sprintf("refuse address %s: %s", e.Addr, e.Kind)
}

// CheckAddr returns an *AddressError unless addr is a public unicast address.
// Addresses that carry an IPv4 address inside (IPv4-mapped, NAT64, 6to4) are
// judged by that one.
func CheckAddr(addr netip.Addr) error {
	judged := addr.WithZone("").Unmap()
	if inner, ok := embedded(judged); ok {
		judged = inner
	}
	for _, block := range blocks() {
		if block.prefix.Contains(judged) {
			return &AddressError{Addr: addr, Kind: block.kind}
		}
	}
	if !judged.IsValid() || (judged.Is6() && !globalUnicast().Contains(judged)) {
		return &AddressError{Addr: addr, Kind: "not a public address"}
	}
	return nil
}

// embedded returns the IPv4 address that a translating prefix carries.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() {
		return netip.Addr{}, false
	}
	b := addr.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case netip.MustParsePrefix("2002::/16").Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}

// globalUnicast is the only part of IPv6 that is routed on the Internet.
func globalUnicast() netip.Prefix { return netip.MustParsePrefix("2000::/3") }

type block struct {
	prefix netip.Prefix
	kind   string
}

// blocks lists the special-purpose registries of IANA (RFC 6890 and its
// updates), and the one public address that clouds answer metadata on.
func blocks() []block {
	named := []struct{ prefix, kind string }{
		{"0.0.0.0/8", "unspecified"},
		{"10.0.0.0/8", "private network"},
		{"100.64.0.0/10", "carrier's private network"},
		{"127.0.0.0/8", "loopback"},
		{"168.63.129.16/32", "cloud metadata"},
		{"169.254.0.0/16", "link-local"},
		{"172.16.0.0/12", "private network"},
		{"192.0.0.0/24", "reserved"},
		{"192.0.2.0/24", "documentation"},
		{"192.88.99.0/24", "reserved"},
		{"192.168.0.0/16", "private network"},
		{"198.18.0.0/15", "benchmarking network"},
		{"198.51.100.0/24", "documentation"},
		{"203.0.113.0/24", "documentation"},
		{"224.0.0.0/4", "multicast"},
		{"240.0.0.0/4", "reserved"},
		{"::/128", "unspecified"},
		{"::1/128", "loopback"},
		{"64:ff9b:1::/48", "private network"},
		{"100::/64", "discard"},
		{"2001::/23", "reserved"},
		{"2001:db8::/32", "documentation"},
		{"3fff::/20", "documentation"},
		{"fc00::/7", "private network"},
		{"fe80::/10", "link-local"},
		{"fec0::/10", "private network"},
		{"ff00::/8", "multicast"},
	}
	out := make([]block, 0, len(named))
	for _, n := range named {
		out = append(out, block{prefix: netip.MustParsePrefix(n.prefix), kind: n.kind})
	}
	return out
}
