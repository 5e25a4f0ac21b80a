package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// decide runs a filter as the kernel does, on one call.
func decide(t *testing.T, code []byte, arch, number uint32, args ...uint64) uint32 {
	t.Helper()
	data := make([]byte, 64)
	binary.LittleEndian.PutUint32(data[dataNumber:], number)
	binary.LittleEndian.PutUint32(data[dataArch:], arch)
	for i, arg := range args {
		binary.LittleEndian.PutUint64(data[dataArgs+8*i:], arg)
	}
	var a uint32
	for at := 0; ; at++ {
		step := code[8*at:]
		k := binary.LittleEndian.Uint32(step[4:])
		skip := func(holds bool) {
			if holds {
				at += int(step[2])
			} else {
				at += int(step[3])
			}
		}
		switch op := binary.LittleEndian.Uint16(step); op {
		case bpfLoad:
			a = binary.LittleEndian.Uint32(data[k:])
		case bpfAnd:
			a &= k
		case bpfEqual:
			skip(a == k)
		case bpfAtLeast:
			skip(a >= k)
		case bpfJump:
			at += int(k)
		case bpfReturn:
			return k
		default:
			t.Fatalf("instruction %d: %#x", at, op)
		}
	}
}

// TestFilterIsTheProfile compares the compiled filter with the profile for
// every number, and for arguments at the edges.
func TestFilterIsTheProfile(t *testing.T) {
	code, err := compileFilter()
	if err != nil {
		t.Fatal(err)
	}
	if len(code)%8 != 0 || len(code)/8 > 4096 {
		t.Fatalf("%d bytes: the kernel takes 4096 instructions of 8", len(code))
	}
	var profile struct {
		Syscalls []profileRule `json:"syscalls"`
	}
	if err := json.Unmarshal([]byte(seccompProfile), &profile); err != nil {
		t.Fatal(err)
	}
	for _, arch := range filterArchitectures() {
		numbers, err := numbersOf(arch.column)
		if err != nil {
			t.Fatal(err)
		}
		rules := map[uint32][]profileRule{}
		for _, rule := range profile.Syscalls {
			for _, name := range rule.Names {
				if number, found := numbers[name]; found {
					rules[number] = append(rules[number], rule)
				}
			}
		}
		want := func(number uint32, arg uint64) uint32 {
			for _, rule := range rules[number] {
				holds := true
				for _, one := range rule.Args {
					if one.Op == "SCMP_CMP_MASKED_EQ" {
						holds = holds && arg&one.Value == one.ValueTwo
					} else {
						holds = holds && arg == one.Value
					}
				}
				switch {
				case holds && rule.Action == "SCMP_ACT_ALLOW":
					return filterAllow
				case holds:
					return filterErrno | rule.ErrnoRet
				}
			}
			return filterErrno | eperm
		}
		for number := range uint32(1024) {
			for _, arg := range []uint64{0, 1, 2, 3, 10, 16, 17, 40, 1 << 28, 1 << 29, 0x7e020000, 0x01200011, 0xffffffff, 1 << 32, 1<<32 | 2, ^uint64(0)} {
				if got := decide(t, code, arch.audit, number, arg); got != want(number, arg) {
					t.Fatalf("architecture %#x, call %d(%#x): %#x, want %#x", arch.audit, number, arg, got, want(number, arg))
				}
			}
		}
		for name, refused := range map[string]bool{"read": false, "openat": false, "execve": false} {
			if got := decide(t, code, arch.audit, numbers[name]); (got != filterAllow) != refused {
				t.Errorf("%s: %#x", name, got)
			}
		}
	}
	if got := decide(t, code, 0xc000003e, x32Bit|1); got != filterErrno|eperm {
		t.Errorf("amd64's other convention: %#x", got)
	}
	if got := decide(t, code, 0x40000003, 3); got != filterErrno|eperm {
		t.Errorf("another architecture: %#x", got)
	}
}

// TestSyscallNumbers holds the numbers against those of golang.org/x/sys.
func TestSyscallNumbers(t *testing.T) {
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatal(err)
	}
	for column, arch := range map[int]string{1: "amd64", 2: "arm64"} {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "unix", "zsysnum_linux_"+arch+".go"))
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]string{}
		for _, match := range regexp.MustCompile(`SYS_(\w+)\s*=\s*(\d+)`).FindAllStringSubmatch(string(text), -1) {
			known[strings.ToLower(match[1])] = match[2]
		}
		numbers, err := numbersOf(column)
		if err != nil {
			t.Fatal(err)
		}
		for name, number := range numbers {
			if known[name] != fmt.Sprint(number) {
				t.Errorf("%s on %s: %d, and x/sys says %q", name, arch, number, known[name])
			}
		}
		var profile struct {
			Syscalls []profileRule `json:"syscalls"`
		}
		if err := json.Unmarshal([]byte(seccompProfile), &profile); err != nil {
			t.Fatal(err)
		}
		for _, rule := range profile.Syscalls {
			for _, name := range rule.Names {
				if _, listed := numbers[name]; known[name] != "" && !listed {
					t.Errorf("%s on %s has number %s and is not listed", name, arch, known[name])
				}
			}
		}
	}
}
