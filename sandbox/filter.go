package sandbox

import (
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// The numbers of the profile's system calls, "NAME AMD64 ARM64" a line, "-"
// where an architecture has no such call. A test holds them against
// golang.org/x/sys.
//
//go:embed syscalls.txt
var syscallNumbers string

// profileRule is one rule of a seccomp profile, as Docker writes it.
type profileRule struct {
	Names    []string `json:"names"`
	Action   string   `json:"action"`
	ErrnoRet uint32   `json:"errnoRet"`
	Args     []struct {
		Index    uint32 `json:"index"`
		Value    uint64 `json:"value"`
		ValueTwo uint64 `json:"valueTwo"`
		Op       string `json:"op"`
	} `json:"args"`
}

// What the kernel's filters are made of: see seccomp(2) and linux/filter.h.
const (
	bpfLoad    = 0x20 // A = the word at k of the call's data
	bpfAnd     = 0x54 // A &= k
	bpfEqual   = 0x15
	bpfAtLeast = 0x35
	bpfJump    = 0x05
	bpfReturn  = 0x06

	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16 // six of 8 bytes, the low word first

	filterAllow = 0x7fff0000
	filterErrno = 0x00050000
	eperm       = 1

	x32Bit = 0x40000000 // numbers of amd64's other convention
)

// filterArchitecture is one that the filter is for.
type filterArchitecture struct {
	audit  uint32 // AUDIT_ARCH_…
	column int    // in syscallNumbers
	x32    bool
}

func filterArchitectures() []filterArchitecture {
	return []filterArchitecture{{0xc000003e, 1, true}, {0xc00000b7, 2, false}}
}

// filter is a program for the kernel's seccomp, as it is put together.
type filter struct{ code []byte }

func (f *filter) add(op uint16, ifTrue, ifFalse uint8, k uint32) {
	f.code = binary.LittleEndian.AppendUint16(f.code, op)
	f.code = append(f.code, ifTrue, ifFalse)
	f.code = binary.LittleEndian.AppendUint32(f.code, k)
}

// compileFilter turns our seccomp profile into the kernel's form, for amd64 and
// arm64 in one, so that the guest can lay it on itself where an engine takes no
// profile with a container. What the profile does not name is refused.
func compileFilter() ([]byte, error) {
	var profile struct {
		DefaultAction string        `json:"defaultAction"`
		Syscalls      []profileRule `json:"syscalls"`
	}
	if err := json.Unmarshal([]byte(seccompProfile), &profile); err != nil {
		return nil, fmt.Errorf("read seccomp profile: %w", err)
	}
	if profile.DefaultAction != "SCMP_ACT_ERRNO" {
		return nil, fmt.Errorf("compile seccomp profile: default %s", profile.DefaultAction)
	}
	var f filter
	for _, arch := range filterArchitectures() {
		var block filter
		block.add(bpfLoad, 0, 0, dataNumber)
		if arch.x32 {
			block.add(bpfAtLeast, 0, 1, x32Bit)
			block.add(bpfReturn, 0, 0, filterErrno|eperm)
		}
		numbers, err := numbersOf(arch.column)
		if err != nil {
			return nil, err
		}
		for _, rule := range profile.Syscalls {
			if err := block.rule(rule, numbers); err != nil {
				return nil, err
			}
		}
		block.add(bpfReturn, 0, 0, filterErrno|eperm)
		f.add(bpfLoad, 0, 0, dataArch)
		f.add(bpfEqual, 1, 0, arch.audit)
		f.add(bpfJump, 0, 0, uint32(len(block.code)/8))
		f.code = append(f.code, block.code...)
	}
	f.add(bpfReturn, 0, 0, filterErrno|eperm) // another architecture's calls
	return f.code, nil
}

// rule adds one rule for every call that it names. The number stands in A
// before and after it.
func (f *filter) rule(rule profileRule, numbers map[string]uint32) error {
	verdict := uint32(filterAllow)
	switch {
	case rule.Action == "SCMP_ACT_ERRNO":
		verdict = filterErrno | rule.ErrnoRet
	case rule.Action != "SCMP_ACT_ALLOW":
		return fmt.Errorf("compile seccomp profile: action %s", rule.Action)
	}
	for _, name := range rule.Names {
		number, found := numbers[name]
		if !found {
			continue // another architecture's
		}
		var body filter
		switch len(rule.Args) {
		case 0:
			body.add(bpfReturn, 0, 0, verdict)
		case 1:
			arg := rule.Args[0]
			mask, value := ^uint64(0), arg.Value
			if arg.Op == "SCMP_CMP_MASKED_EQ" {
				mask, value = arg.Value, arg.ValueTwo
			} else if arg.Op != "SCMP_CMP_EQ" {
				return fmt.Errorf("compile seccomp profile: comparison %s", arg.Op)
			}
			at := dataArgs + 8*arg.Index
			body.add(bpfLoad, 0, 0, at+4)
			body.add(bpfAnd, 0, 0, uint32(mask>>32))
			body.add(bpfEqual, 0, 4, uint32(value>>32))
			body.add(bpfLoad, 0, 0, at)
			body.add(bpfAnd, 0, 0, uint32(mask))
			body.add(bpfEqual, 0, 1, uint32(value))
			body.add(bpfReturn, 0, 0, verdict)
			body.add(bpfLoad, 0, 0, dataNumber)
		default:
			return fmt.Errorf("compile seccomp profile: %d arguments in one rule", len(rule.Args))
		}
		f.add(bpfEqual, 0, uint8(len(body.code)/8), number)
		f.code = append(f.code, body.code...)
	}
	return nil
}

// numbersOf reads one column of syscallNumbers.
func numbersOf(column int) (map[string]uint32, error) {
	numbers := map[string]uint32{}
	for line := range strings.Lines(syscallNumbers) {
		words := strings.Fields(line)
		if len(words) != 3 {
			return nil, fmt.Errorf("read system calls: line %q", line)
		}
		if words[column] == "-" {
			continue
		}
		number, err := strconv.ParseUint(words[column], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read system calls: %w", err)
		}
		numbers[words[0]] = uint32(number)
	}
	return numbers, nil
}
